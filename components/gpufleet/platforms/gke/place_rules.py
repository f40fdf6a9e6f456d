"""Findings about what a GKE pool's nodes are and where they stand: machine, zones, placement.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`) and the pages of Google Kubernetes Engine read 2026-11-21.
"""

from collections.abc import Iterable

from gpufleet.catalogue import InstanceType
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_machines import validate_host, validate_zone_names
from gpufleet.platforms.gke.shape import GkeShape, nodes_of_domain, upgrade_strategy
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.gke import UpgradeStrategy

COMPACT_NODES = {"a2": 150, "a3": 96, "a4": 1500, "g2": 150, "g4": 1500}
"""Machine family -> most nodes of a node pool with compact placement. N1 has none
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
        yield error(
            "gke-one-machine-type",
            f"{pool.path}.instanceTypes",
            f"a GKE node pool has one machine type, and {len(names)} are listed",
            f"write instanceTypes: [{names[0]}], and a pool for each other",
            found=names,
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
        yield error(
            "gke-limits-of-unknown-zones",
            f"{pool.path}.zones",
            "`nodes` holds for each zone, and no zone is named: how many nodes the pool may have, "
            "and what it may cost, is not known",
            f"write zones: [{region}-a, ...], or `limits: total`",
        )
    if shape.one_zone is not None and len(shape.zones) > 1:
        yield error(
            "gke-one-zone",
            f"{pool.path}.zones",
            f"{shape.one_zone}, and {len(shape.zones)} zones are named",
            f"write zones: [{shape.zones[0]}]",
            found=list(shape.zones),
        )
    if shape.one_zone is not None and not shape.zones and not reserved:
        yield error(
            "gke-zone-missing",
            f"{pool.path}.zones",
            f"{shape.one_zone}, and none is named: the cluster's zones would all be used",
            f"write zones: [{region}-a], with the zone that has the capacity",
        )
    if reserved and shape.zones and not reserved <= set(shape.zones):
        yield error(
            "gke-reservation-in-other-zone",
            f"{pool.path}.zones",
            f"the reservation is in {', '.join(sorted(reserved))}, and the pool is in "
            f"{', '.join(shape.zones)}",
            f"write zones: [{min(reserved)}]",
            found=list(shape.zones),
        )


def _domain(pool: Pool) -> Iterable[Finding]:
    most = nodes_of_domain(pool)
    if most is not None and pool.nodes.maximum > most:
        yield error(
            "gke-nvlink-domain-size",
            f"{pool.path}.nodes.max",
            f"the nodes of a pool of {pool.machines[0].name} are one NVLink domain, which has "
            f"{most} machines, and {pool.nodes.maximum} are declared",
            f"write max: {most}, and a pool for each further domain",
            found=pool.nodes.maximum,
            limit=most,
        )


def _compact_nodes(pool: Pool, shape: GkeShape, row: InstanceType) -> Iterable[Finding]:
    if row.attachable:
        yield error(
            "gke-compact-not-offered",
            f"{pool.path}.gke.compactPlacement",
            f"{shape.machine_type} cannot be placed compactly",
            "remove compactPlacement",
            found=shape.machine_type,
        )
    most = COMPACT_NODES.get(row.family)
    if most is not None and pool.nodes.maximum > most:
        yield error(
            "gke-compact-nodes",
            f"{pool.path}.nodes.max",
            f"a node pool of {row.family} with compact placement has at most {most} nodes, and "
            f"{pool.nodes.maximum} are declared",
            f"write max: {most} and a further pool, or remove compactPlacement",
            found=pool.nodes.maximum,
            limit=most,
        )


def _placement(pool: Pool, shape: GkeShape, row: InstanceType) -> Iterable[Finding]:
    if not shape.options.compact_placement:
        return
    yield from _compact_nodes(pool, shape, row)
    place = f"{pool.path}.gke.compactPlacement"
    for step in shape.steps:
        if step.queued:
            yield error(
                "gke-compact-with-queued",
                place,
                "GKE refuses compact placement with queued provisioning",
                "remove one of the two",
            )
        if step.flex_start and not shape.machine_type.startswith(COMPACT_WITH_FLEX_START):
            yield error(
                "gke-compact-with-flex-start",
                place,
                f"with flex start only {', '.join(COMPACT_WITH_FLEX_START)} can be placed "
                f"compactly, and the machine is {shape.machine_type}",
                "remove compactPlacement",
                found=shape.machine_type,
            )
        if upgrade_strategy(shape.options, step) is UpgradeStrategy.BLUE_GREEN:
            yield error(
                "gke-compact-with-blue-green",
                f"{pool.path}.gke.upgrade.strategy",
                "GKE refuses blue-green upgrades with compact placement",
                "write `strategy: surge`",
            )
