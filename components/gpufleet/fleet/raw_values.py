"""Raw Helm values beside typed settings: contradictions, and what does not belong there."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.chart_values import leaves, value_at

_SECRET = re.compile(r"(password|passwd|token|secret[-_]?key|api[-_]?key|private[-_]?key)$", re.I)
"""Names of values and variables that hold a secret, not the name of one."""


def judge_contradictions(
    typed: Iterable[tuple[str, str, Any]], raw: Mapping[str, Any], addon: str
) -> Iterator[Finding]:
    """Raw values that say something else than a typed setting (field path, key, value)."""
    for field, key, value in typed:
        found = value_at(raw, key)
        if found is None or found == value:
            continue
        yield warning(
            "raw-value-beats-typed",
            f"{addon}.values.{key}",
            f"{addon}.values.{key} is {_shown(found)} and {addon}.{field} is {_shown(value)}: raw "
            "values are merged last and win",
            f"remove one of the two; {addon}.{field} is checked, raw values are not",
            raw=_shown(found),
            typed=_shown(value),
        )


def judge_secrets(raw: Mapping[str, Any], path: str) -> Iterator[Finding]:
    """Values that are secrets: they would end in state and in the release's history."""
    for key, value in _named_values(raw):
        name = key.rsplit(".", 1)[-1]
        if not isinstance(value, str) or not value or not _SECRET.search(name):
            continue
        yield error(
            "secret-in-values",
            f"{path}.{key}",
            f"{path}.{key} looks like a secret; values are stored in state and in the release",
            "put it into a Secret and name that, as in imagePullSecret, driver.secretEnv or "
            "driver.licensing.secret",
        )


def _named_values(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Leaves by key; of lists of variables, each by its own name."""
    for key, value in leaves(raw):
        if not isinstance(value, list):
            yield key, value
            continue
        for item in cast("list[object]", value):
            if isinstance(item, Mapping):
                entry = cast("Mapping[str, Any]", item)
                if "name" in entry and "value" in entry:
                    yield f"{key}.{entry['name']}", entry["value"]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else type(value).__name__
