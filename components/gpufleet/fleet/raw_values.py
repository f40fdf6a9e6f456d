"""Findings about raw Helm values that contradict typed settings."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)


def validate_contradictions(
    typed: Iterable[tuple[str, str, Any]], raw: Mapping[str, Any], addon: str
) -> Iterator[Finding]:
    """Raw values that differ from a typed setting (field path, key, value)."""
    for field, key, value in typed:
        found = value_at(raw, key)
        if found is None or found == value:
            continue
        yield _finding(
            "raw-value-beats-typed",
            f"{addon}.values.{key}",
            addon=addon,
            key=key,
            raw=_shown(found),
            field=field,
            typed=_shown(value),
        )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else type(value).__name__
