"""Findings about what a GKE pool's nodes are and where they stand: machine, zones, placement.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`) and the pages of Google Kubernetes Engine read 2026-11-21.
"""

import re
from collections.abc import Iterable

from gpufleet.catalogue.model import InstanceType
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.shape import GkeShape, host_machine, nodes_of_domain, upgrade_strategy
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.gke import UpgradeStrategy

COMPACT_WITH_FLEX_START = ("a3-ultragpu-", "a4-", "h4d-")
"""Machine types that may be placed compactly with flex start (cluster-toolkit 1047080)."""

N1_SIZES = (1, 2, 4, 8, 16, 32, 64, 96)
"""vCPUs of the predefined N1 machines (Google Compute Engine machine families)."""

_SMALLEST_OF_OTHERS = 2

_ZONE = re.compile(r"^[a-z]+-[a-z]+[0-9]+-[a-z]$")


def validate_place(
    pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec
) -> Iterable[Finding]:
    """Machine type, zones and compact placement of one pool."""
    yield from _machines(pool, row)
    yield from _zones(pool, shape, spec)
    yield from _placement(pool, shape)
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
    host = host_machine(pool)
    place = f"{pool.path}.instanceTypes"
    odd = [name for name in pool.spec.instance_types if name.startswith("n1-") and "*" not in name]
    unknown = next((name for name in odd if not _is_n1(name)), None)
    if row.attachable and unknown is not None:
        yield error(
            "gke-host-unknown",
            place,
            f"{unknown} is no predefined N1 machine",
            f"one of n1-standard-{', -'.join(map(str, N1_SIZES))}, or n1-highmem and n1-highcpu "
            f"from {_SMALLEST_OF_OTHERS}",
            found=unknown,
        )
    elif row.attachable and host is None:
        yield error(
            "gke-host-missing",
            place,
            f"{pool.gpu.key} is attached to an N1 machine, and none is named",
            f"write `gpu: {pool.gpu.key}, gpusPerNode: {pool.gpus_per_node}, "
            "instanceTypes: [n1-standard-8]`",
        )
    limit = row.host_limit
    if row.attachable and host is not None and limit is not None:
        vcpu = int(host.rsplit("-", 1)[-1])
        if vcpu > limit.vcpu:
            yield error(
                "gke-host-too-large",
                place,
                f"{pool.gpus_per_node} {pool.gpu.key} can be attached to at most {limit.vcpu} "
                f"vCPUs, and {host} has {vcpu}",
                f"write n1-standard-{_largest_n1(limit.vcpu)}, or more GPUs on each node",
                found=vcpu,
                limit=limit.vcpu,
            )


def _largest_n1(limit: int) -> int:
    return max(size for size in N1_SIZES if size <= limit)


def _is_n1(name: str) -> bool:
    series, _, size = name.rpartition("-")
    smallest = {
        "n1-standard": 1,
        "n1-highmem": _SMALLEST_OF_OTHERS,
        "n1-highcpu": _SMALLEST_OF_OTHERS,
    }.get(series)
    return smallest is not None and size in {str(n) for n in N1_SIZES if n >= smallest}


def _zones(pool: Pool, shape: GkeShape, spec: FleetSpec) -> Iterable[Finding]:
    region = spec.cluster.region
    named = [(f"{pool.path}.zones[{i}]", zone) for i, zone in enumerate(shape.zones)]
    named += [
        (f"{pool.path}.capacity[{i}].reserved.zone", step.zone)
        for i, step in enumerate(shape.steps)
        if step.zone is not None
    ]
    for place, zone in named:
        if not _ZONE.match(zone) or (region is not None and not zone.startswith(f"{region}-")):
            yield error(
                "zone-not-of-region",
                place,
                f"{zone!r} is no zone of {region}",
                f"write {region}-a" if region else "write us-central1-a",
                found=zone,
            )
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


def _placement(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    if not shape.options.compact_placement:
        return
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
