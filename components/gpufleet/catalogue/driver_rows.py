"""Lines of drivers.jsonl -> the driver table."""

from collections.abc import Iterable

from gpufleet.catalogue.driver_support import (
    DriverBranch,
    DriverTable,
    GenerationSupport,
    GpuSupport,
    OperatorRelease,
)
from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.source_rows import SourceTable, sourced


def capability_of(text: str | None) -> tuple[int, int] | None:
    """A compute capability, `10.3`, as two numbers."""
    if text is None:
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def driver_table(rows: Iterable[RawRow], sources: SourceTable) -> DriverTable:
    """The rows by subject: a compute capability, a GPU, a release of the operator or a branch."""
    generations: dict[tuple[int, int], GenerationSupport] = {}
    gpus: dict[str, GpuSupport] = {}
    operators: dict[str, OperatorRelease] = {}
    branches: dict[str, DriverBranch] = {}
    for raw in rows:
        capability = capability_of(raw.get("compute_capability"))
        if capability is not None:
            generations[capability] = sourced(GenerationSupport, raw, sources)
        elif "gpu" in raw:
            gpus[raw["gpu"]] = sourced(GpuSupport, raw, sources)
        elif "branch" in raw:
            branches[raw["branch"]] = sourced(DriverBranch, raw, sources)
        else:
            operators[raw["operator"]] = sourced(OperatorRelease, raw, sources)
    return DriverTable(frozen(generations), frozen(gpus), frozen(operators), frozen(branches))
