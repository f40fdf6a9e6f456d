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
from gpufleet.catalogue.source_rows import SourceTable, source_of


def capability_of(text: str | None) -> tuple[int, int] | None:
    """A compute capability, `10.3`, as two numbers."""
    if text is None:
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def driver_table(rows: Iterable[RawRow], sources: SourceTable) -> DriverTable:
    """The rows by what they are about: a compute capability, a GPU, a release of the operator or a
    branch."""
    generations: dict[tuple[int, int], GenerationSupport] = {}
    gpus: dict[str, GpuSupport] = {}
    operators: dict[str, OperatorRelease] = {}
    branches: dict[str, DriverBranch] = {}
    for raw in rows:
        capability = capability_of(raw.get("compute_capability"))
        if capability is not None:
            generations[capability] = GenerationSupport(
                first_cuda=raw["first_cuda"],
                last_cuda=raw.get("last_cuda"),
                last_driver=raw.get("last_driver"),
                kernel_modules=raw["kernel_modules"],
                source=source_of(raw, sources),
            )
        elif "gpu" in raw:
            gpus[raw["gpu"]] = GpuSupport(
                first_driver=raw.get("first_driver"),
                first_operator=raw.get("first_operator"),
                first_device_plugin=raw.get("first_device_plugin"),
                kernel_modules=raw.get("kernel_modules"),
                source=source_of(raw, sources),
                notes=raw.get("notes", ""),
            )
        elif "branch" in raw:
            branches[raw["branch"]] = DriverBranch(
                raw["end_of_life"], raw["kind"], source_of(raw, sources)
            )
        else:
            operators[raw["operator"]] = OperatorRelease(raw["driver"], source_of(raw, sources))
    return DriverTable(frozen(generations), frozen(gpus), frozen(operators), frozen(branches))
