"""Names of series in a PromQL expression, without functions, labels, numbers and durations."""

import re

_OPERATORS = "and atan2 bool by group_left group_right ignoring offset on or unless without"
_AGGREGATIONS = "avg bottomk count group max min quantile stddev sum topk"
_FUNCTIONS = (
    "abs absent avg_over_time ceil changes clamp_max clamp_min count_over_time delta floor "
    "histogram_quantile increase label_replace last_over_time max_over_time min_over_time rate "
    "round scalar sort_desc sum_over_time time vector"
)
_WORDS = frozenset(f"{_OPERATORS} {_AGGREGATIONS} {_FUNCTIONS}".split())


def names_in(expression: str) -> set[str]:
    """Every word that can only be a series."""
    text = re.sub(r'"[^"]*"', "", expression)
    text = re.sub(r"\{[^}]*\}", "", text)
    text = re.sub(r"\[[^\]]*\]", "", text)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", "", text)
    words = re.findall(r"[A-Za-z_:][A-Za-z0-9_:]*", text)
    return {word for word in words if word not in _WORDS and not re.fullmatch(r"e[0-9]+", word)}
