"""What a MachineSet for each zone asks of a pool, in zones of a cloud and failure domains of
vSphere."""

from collections.abc import Iterable

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_cloud import named_zones

_finding = findings_in(__file__)


def validate_zonal_pool(pool: Pool, example: str | None) -> Iterable[Finding]:
    """Zones and machine type; `example` is a zone of the region, None where none is needed."""
    zones = named_zones(pool.spec)
    if not zones and example is not None:
        yield _finding("openshift-zones-missing", pool.path, example=example)
    if len(set(pool.spec.zones)) < len(pool.spec.zones):
        yield _finding("openshift-zone-twice", pool.path, found=pool.spec.zones)
    if len(zones) > pool.nodes.maximum:
        yield _finding(
            "openshift-more-zones-than-nodes", pool.path, found=len(zones), limit=pool.nodes.maximum
        )
    if len(pool.machines) > 1:
        names = [machine.name for machine in pool.machines]
        yield _finding(
            "openshift-one-machine-type",
            pool.path,
            count=len(names),
            first=names[0],
            found=names,
            limit=1,
        )
    for index, entry in enumerate(pool.capacity):
        bought = entry.reserved
        if bought is not None and bought.zone is None and len(zones) > 1:
            yield _finding(
                "reservation-zone-missing",
                f"{pool.path}.capacity[{index}]",
                found=zones,
                zones=zones[0],
            )
