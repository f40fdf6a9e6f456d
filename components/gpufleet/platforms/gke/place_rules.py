"""Findings about a GKE pool's machine, zones and placement.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`) and the pages of Google Kubernetes Engine read 2026-11-21.
"""

from collections.abc import Iterable

from gpufleet.catalogue import InstanceType
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_machines import validate_host, validate_zone_names
from gpufleet.platforms.gke.shape import GkeShape, nodes_of_domain, upgrade_strategy
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.gke import UpgradeStrategy

_finding = findings_in(__file__)

COMPACT_NODES = {"a2": 150, "a3": 96, "a4": 1500, "g2": 150, "g4": 1500}
"""Machine family -> maximum nodes of a node pool with compact placement. N1 has none
(k8s.io/gke-autoscaling `machinetypes`, maxCompactPlacementNodes; read 2026-11-23)."""

COMPACT_WITH_FLEX_START = ("a3-ultragpu-", "a4-", "h4d-")
"""Machine types that may be placed compactly with flex start (cluster-toolkit 1047080)."""


def validate_place(
    pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec
) -> Iterable[Finding]:
    """Machine type, zones and compact placement of one pool."""
    yield from _machines(pool, row)
    yield from _zones(pool, shape, spec)
    yield from _placement(pool, shape, row)
    yield from _domain(pool)


def _machines(pool: Pool, row: InstanceType) -> Iterable[Finding]:
    if len(pool.machines) > 1:
        names = [machine.name for machine in pool.machines]
        yield _finding(
            "gke-one-machine-type", pool.path, count=len(names), first=names[0], found=names
        )
    yield from validate_host(pool, row)


def _zones(pool: Pool, shape: GkeShape, spec: FleetSpec) -> Iterable[Finding]:
    region = spec.cluster.region
    named = [(f"{pool.path}.zones[{i}]", zone) for i, zone in enumerate(shape.zones)]
    named += [
        (f"{pool.path}.capacity[{i}].reserved.zone", step.zone)
        for i, step in enumerate(shape.steps)
        if step.zone is not None
    ]
    yield from validate_zone_names(named, region)
    reserved = {step.zone for step in shape.steps if step.zone is not None}
    if shape.options.limits == "perZone" and not shape.zones and not reserved:
        yield _finding("gke-limits-of-unknown-zones", pool.path, region=region)
    if shape.one_zone is not None and len(shape.zones) > 1:
        yield _finding(
            "gke-one-zone",
            pool.path,
            one_zone=shape.one_zone,
            count=len(shape.zones),
            zones=shape.zones[0],
            found=shape.zones,
        )
    if shape.one_zone is not None and not shape.zones and not reserved:
        yield _finding("gke-zone-missing", pool.path, one_zone=shape.one_zone, region=region)
    if reserved and shape.zones and not reserved <= set(shape.zones):
        yield _finding(
            "gke-reservation-in-other-zone",
            pool.path,
            reserved=sorted(reserved),
            found=shape.zones,
            first_reserved=min(reserved),
        )


def _domain(pool: Pool) -> Iterable[Finding]:
    most = nodes_of_domain(pool)
    if most is not None and pool.nodes.maximum > most:
        yield _finding(
            "gke-nvlink-domain-size",
            pool.path,
            machine=pool.machines[0].name,
            limit=most,
            found=pool.nodes.maximum,
        )


def _compact_nodes(pool: Pool, shape: GkeShape, row: InstanceType) -> Iterable[Finding]:
    if row.attachable:
        yield _finding("gke-compact-not-offered", pool.path, found=shape.machine_type)
    most = COMPACT_NODES.get(row.family)
    if most is not None and pool.nodes.maximum > most:
        yield _finding(
            "gke-compact-nodes", pool.path, family=row.family, limit=most, found=pool.nodes.maximum
        )


def _placement(pool: Pool, shape: GkeShape, row: InstanceType) -> Iterable[Finding]:
    if not shape.options.compact_placement:
        return
    yield from _compact_nodes(pool, shape, row)
    place = f"{pool.path}.gke.compactPlacement"
    for step in shape.steps:
        if step.queued:
            yield _finding("gke-compact-with-queued", place)
        if step.flex_start and not shape.machine_type.startswith(COMPACT_WITH_FLEX_START):
            yield _finding(
                "gke-compact-with-flex-start",
                place,
                compact_with_flex_start=COMPACT_WITH_FLEX_START,
                found=shape.machine_type,
            )
        if upgrade_strategy(shape.options, step) is UpgradeStrategy.BLUE_GREEN:
            yield _finding("gke-compact-with-blue-green", pool.path)
