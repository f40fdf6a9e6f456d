"""Findings about raw arguments, which are merged last.

They may set arguments that gpufleet does not set. They must not change arguments from which the
fleet's counts are computed, or that components connect.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool

_finding = findings_in(__file__)


def validate_raw_arguments(
    pool: Pool, folder: Path, option: str, raw: Mapping[str, Any]
) -> Iterator[Finding]:
    """Refused arguments of one option.

    Args:
        pool: The pool.
        folder: Folder of the platform, whose `raw_arguments.jsonl` has a row for each argument that
            a setting decides, and, without `decided_by`, for each that components connect.
        option: Path of the raw arguments in the pool.
        raw: The arguments.
    """
    for row in _rows(folder).get(option, ()):
        argument, setting = row["argument"], row.get("decided_by")
        place = f"{pool.path}.{option}.{argument}"
        if not _is_written(raw, argument):
            continue
        if setting is not None:
            yield _finding("raw-argument-decided", place, found=argument, setting=setting)
            continue
        yield _finding("raw-argument-wired", place, found=argument)


@cache
def _rows(folder: Path) -> Mapping[str, Sequence[RawRow]]:
    found: dict[str, list[RawRow]] = {}
    for row in read_rows(folder, "raw_arguments"):
        found.setdefault(row["option"], []).append(row)
    return found


def _is_written(raw: Any, path: str) -> bool:
    head, _, rest = path.partition(".")
    if not isinstance(raw, Mapping) or head not in raw:
        return False
    return not rest or _is_written(cast("Mapping[str, Any]", raw)[head], rest)
