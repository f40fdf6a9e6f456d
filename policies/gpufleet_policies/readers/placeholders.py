"""Texts that a tool or a person replaces before anything is applied: no value is known yet."""

import re
from typing import Any

_TOOLS = re.compile(
    r"\$\{[A-Za-z_]|\$\([A-Za-z_]|\$[A-Z_]|<<|\{\{|^<[A-Za-z_][^<>]*>$|@@\w+@@|__[A-Z0-9]\w*__|^%[A-Z]\w*%$"
)
"""Variables of envsubst, Flux, Argo CD's plugins, Helm, sed scripts, and `<what goes here>`."""
_PEOPLE = re.compile(
    r"(?:^|[-_./: ])(?:place_?holder|replace(?:[-_]?(?:me|with))?|change[-_]?me|fill[-_]?me|your|"
    r"todo|fixme|tbd)(?:$|[-_./: ])",
    re.IGNORECASE,
)
"""Words of placeholders in use: `PLACEHOLDER_NODES`, `REPLACE_ME`, `your-project`."""
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""A name in capitals where a number or a word of a list is needed: `NUM_NODES`."""


def is_filled_in(value: Any) -> bool:
    """Whether a value is a text with a variable of a tool."""
    return isinstance(value, str) and _TOOLS.search(value) is not None


def stands_for_another(value: Any) -> bool:
    """Whether a value that is refused as it is written is one that will be replaced."""
    if not isinstance(value, str):
        return False
    return (
        is_filled_in(value)
        or _PEOPLE.search(value) is not None
        or _NAME.fullmatch(value) is not None
        or set(value) == {"*"}
    )
