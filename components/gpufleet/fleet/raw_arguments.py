"""Findings about raw arguments, which are merged last.

They may set arguments that gpufleet does not set. They must not change arguments from which the
fleet's counts are computed, or that components wire.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from gpufleet.findings import Finding, error


def validate_raw_arguments(
    raw: Mapping[str, Any], place: str, wired: Iterable[str], decided: Mapping[str, str]
) -> Iterator[Finding]:
    """Arguments of one object that are refused.

    Args:
        raw: The arguments.
        place: Their path in the declaration.
        wired: Paths of arguments that follow from the connection, or that identity hangs on.
        decided: Path of an argument -> the setting of the pool that decides it.
    """
    for path in wired:
        if _is_written(raw, path):
            yield error(
                "raw-argument-wired",
                f"{place}.{path}",
                f"{path} follows from the connection and the declaration",
                "remove it here: the connection, or a setting of the pool, has it",
                found=path,
            )
    for path, setting in decided.items():
        if _is_written(raw, path):
            yield decided_elsewhere(f"{place}.{path}", path, setting)


def decided_elsewhere(place: str, argument: str, setting: str) -> Finding:
    """The finding about an argument that a setting of the pool decides."""
    return error(
        "raw-argument-decided",
        place,
        f"{argument} follows from `{setting}`, which spend, quotas and pods rely on",
        f"remove it, and write `{setting}`",
        found=argument,
    )


def _is_written(raw: Any, path: str) -> bool:
    head, _, rest = path.partition(".")
    if not isinstance(raw, Mapping) or head not in raw:
        return False
    return not rest or _is_written(cast("Mapping[str, Any]", raw)[head], rest)
