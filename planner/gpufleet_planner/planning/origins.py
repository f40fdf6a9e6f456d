"""What each part of a planned FleetSpec comes from: the workloads file, or a choice of the plan."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpufleet.findings import Finding
from gpufleet_planner.planning.filled_pool import PoolKey
from gpufleet_planner.planning.select import Selection
from gpufleet_planner.planning.workloads import PlanFile


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one part."""

    place: str
    """Path in the FleetSpec."""
    written: str | None = None
    """Path in the workloads file; None: the plan chose it."""
    pool: PoolKey | None = None
    """The choice that another one can replace."""
    fixed: bool = False
    """Whether the file alone decides it, so that no other choice changes it."""


def origins(selection: Selection, file: PlanFile) -> tuple[Origin, ...]:
    """Those of all parts of the spec that is written for a selection."""
    head = file.head
    own_zones = {entry.name: f"{path}.zones" for path, entry in file.workloads if entry.zones}
    found = [Origin(key, f"spec.{key}") for key in head.spec]
    found.append(Origin("provisioner", "provisioner", fixed=True))
    for number, pool in enumerate(selection.pools):
        place, row = f"pools[{number}]", pool.key.machine.row
        zones = own_zones.get(pool.members[0][0], "zones")
        found += [
            Origin(place, pool=pool.key),
            Origin(f"{place}.zones", zones, fixed=True),
            Origin(f"{place}.provisioner", "provisioner", fixed=True),
        ]
        if row is not None:
            shape = f".{head.platform.section}"
            found.append(Origin(f"{place}{shape}", f"hardware[{row}]{shape}", pool.key))
    return tuple(found)


def origin_of(finding: Finding, sources: Iterable[Origin]) -> Origin | None:
    """The origin of the smallest part that a finding is about; None where no origin is recorded."""
    holding = [
        one
        for one in sources
        if finding.path == one.place or finding.path.startswith((f"{one.place}.", f"{one.place}["))
    ]
    return max(holding, key=lambda one: len(one.place), default=None)


def in_file(finding: Finding, origin: Origin | None) -> Finding:
    """The finding with its place in the workloads file, where the file has one."""
    if origin is None or origin.written is None:
        return finding
    return replace(finding, path=origin.written + finding.path.removeprefix(origin.place))
