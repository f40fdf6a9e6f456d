"""The table of infrastructures on which OpenShift's machine API creates machines."""

from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.aws.machines import OnAws
from gpufleet.platforms.openshift.gcp.machines import OnGcp
from gpufleet.platforms.openshift.machine_cloud import MachineCloud, named_zones
from gpufleet.platforms.openshift.vsphere_machines import OnVsphere
from gpufleet.spec.base import Ownership, Platform
from gpufleet.spec.platforms.openshift import OpenShiftMachineOptions

CLOUDS: dict[Platform, MachineCloud] = {
    Platform.OPENSHIFT: OnVsphere(),
    Platform.OPENSHIFT_AWS: OnAws(),
    Platform.OPENSHIFT_GCP: OnGcp(),
}


def options_of(pool: Pool) -> OpenShiftMachineOptions:
    """The pool's options for its machines.

    Raises:
        ValueError: it has none, so that nothing can be created from it.
    """
    options = CLOUDS[pool.platform.name].options(pool.spec)
    if options is None:
        raise ValueError(f"pool {pool.name} has no {pool.platform.name.value} section")
    return options


def makes_machines(pool: Pool) -> bool:
    """Whether the declaration describes the pool's machines, so that they can be created."""
    declared = getattr(pool.spec, pool.platform.name.section) is not None
    existing = pool.ownership is Ownership.EXISTING
    return declared or (not existing and CLOUDS[pool.platform.name].options(pool.spec) is not None)


def zones_of(pool: Pool) -> tuple[str | None, ...]:
    """Zones with a MachineSet of the pool each; one None if it has no zones."""
    zones = named_zones(pool.spec)
    return zones if zones or CLOUDS[pool.platform.name].zonal else (None,)


def sizes_of(pool: Pool, zone: str | None) -> tuple[int, int]:
    """Minimum and maximum number of machines in a zone: `nodes` is divided evenly, the remainder
    goes to the first zones."""
    zones = zones_of(pool)
    index = zones.index(zone)

    def part(total: int) -> int:
        return total // len(zones) + (index < total % len(zones))

    return part(pool.nodes.minimum), part(pool.nodes.maximum)
