"""GKE as facts: node pools, clusters with inline pools, reservations."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpufleet.catalogue.google_zones import region_of_google_zone
from gpufleet.cluster.capacity import Reservation
from gpufleet.cluster.cluster import MetricsSource
from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, SharedGpus, Size
from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import is_list, is_mapping, items, known_texts
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import (
    all_known,
    block,
    flag,
    inside,
    number,
    region_of,
    texts,
    word,
)
from gpufleet_policies.readers.eks import is_committed, one_type, taints
from gpufleet_policies.readers.machines import accelerated, machines
from gpufleet_policies.readers.raw_objects import ReferencedObject
from gpufleet_policies.readers.reading import boolean, fact, whole

_REGION = re.compile(r"^[a-z]+-[a-z]+[0-9]+$")
_REGION_ZONES = 3
"""Zones a regional cluster's pools span when none are named (GKE: regional clusters)."""


def zones_of(document: dict[str, Any]) -> Fact[tuple[str, ...]]:
    """The zones it names, or the one its location is; absent: it names none."""
    named = texts(document, "nodeLocations")
    if not named.is_absent:
        return named
    location = word(document, "location")
    if location.is_known and region_of_google_zone(location.value) is not None:
        return known((location.value,), place="location")
    return absent("nodeLocations")


def zone_count(document: dict[str, Any], zones: Fact[tuple[str, ...]]) -> Fact[int]:
    """In how many zones its nodes are."""
    if zones.is_known:
        return known(len(zones.value), place=zones.place)
    location = word(document, "location")
    if zones.is_absent and location.is_known and _REGION.match(location.value):
        return known(_REGION_ZONES, place="location")
    return unknown("nodeLocations")


def size_of(document: dict[str, Any], zones: Fact[int]) -> Size:
    """Its smallest, largest and present size in nodes, over all zones."""
    scaling = inside(document, "autoscaling")
    if scaling is None:
        per_zone = number(document, "nodeCount")
        place = "nodeCount"
        if per_zone.is_absent:
            per_zone, place = number(document, "initialNodeCount"), "initialNodeCount"
        fixed = _times(per_zone.or_default(1), zones)
        return Size(fixed, fixed, fixed, place, place, fixed=True, zones=zones.found or 1)
    if inside(scaling, "totalMaxNodeCount") is not None:
        return Size(
            number(scaling, "totalMinNodeCount").or_default(0),
            number(scaling, "totalMaxNodeCount"),
            absent("nodeCount"),
            "autoscaling.totalMinNodeCount",
            "autoscaling.totalMaxNodeCount",
        )
    return Size(
        _times(number(scaling, "minNodeCount").or_default(0), zones),
        _times(number(scaling, "maxNodeCount"), zones),
        absent("nodeCount"),
        "autoscaling.minNodeCount",
        "autoscaling.maxNodeCount",
        zones=zones.found or 1,
    )


def _times(per_zone: Fact[int], zones: Fact[int]) -> Fact[int]:
    if per_zone.found == 0:
        return per_zone
    if not per_zone.is_known:
        return per_zone
    if not zones.is_known:
        return unknown(per_zone.place)
    return known(per_zone.value * zones.value, place=per_zone.place)


_SHARING = {"TIME_SHARING": "timeSlicing", "MPS": "mps"}
_DEFAULT_MACHINE = "e2-medium"
"""Machine type of a pool that names none (GKE API NodeConfig)."""


GKE_ACCELERATOR = "cloud.google.com/gke-accelerator"
"""Label that GKE gives to nodes with a GPU, by the name of the accelerator."""


def node_pool(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`gcp:container/nodePool:NodePool`, `google_container_node_pool`."""
    config = inside(document, "nodeConfig")
    yield _pool(document, config, locator)


def _pool(document: dict[str, Any], config: Any, locator: Locator) -> NodePool:
    machine = word(config, "machineType").or_default(_DEFAULT_MACHINE)
    if config is UNKNOWN:
        machine = unknown("nodeConfig.machineType")
    types = one_type(machine)
    gpu, count, carries, types = _accelerators(config, types)
    labels, resource_labels = inside(config, "labels"), inside(config, "resourceLabels")
    own, tags = known_texts(labels), known_texts(resource_labels)
    merged = {**own, **tags}
    zones = zones_of(document)
    affinity = inside(config, "reservationAffinity")
    reserved, consumed = texts(affinity, "values"), inside(affinity, "consumeReservationType")
    unnamed = ("?",) if consumed == "SPECIFIC_RESERVATION" else ()
    kind = word(
        block(inside(config, "guestAccelerators") or inside(config, "guestAccelerator")), "type"
    )
    pool_labels = {**({GKE_ACCELERATOR: kind.value} if kind.is_known else {}), **own}
    return NodePool(
        locator=locator,
        image=word(config, "imageType"),
        kubernetes=word(document, "version"),
        annotations=merged,
        name=text_at(document, "name") or locator.name,
        maker=Maker.GKE,
        cluster=word(document, "cluster"),
        instance_types=types,
        instance_types_place="nodeConfig.machineType",
        gpu=gpu,
        gpus_per_node=count,
        is_gpu_pool=carries,
        size=size_of(document, zone_count(document, zones)),
        capacity=_capacity(document, config),
        capacity_place="nodeConfig",
        reservations=reserved.value if reserved.is_known else unnamed,
        commitment=is_committed(merged),
        taints=taints(inside(config, "taints") or inside(config, "taint"), "nodeConfig.taints"),
        taints_place="nodeConfig.taints",
        labels=pool_labels,
        labels_known=all_known(labels),
        tags=tags,
        tags_known=all_known(resource_labels),
        tags_place="nodeConfig.resourceLabels",
        zones=zones,
        region=region_of(document, "location"),
        shared=_shared(config),
        placement_group=word(document, "placementPolicy.policyName", "placementPolicy.type"),
        fabric=_fabric(document, config),
        repair=flag(document, "management.autoRepair").or_default(True),
        repair_place="management.autoRepair",
        longest_run_seconds=_seconds(word(config, "maxRunDuration")),
    )


def _accelerators(
    config: Any, types: Fact[tuple[str, ...]]
) -> tuple[Fact[str], Fact[int], Fact[bool], Fact[tuple[str, ...]]]:
    place = "nodeConfig.guestAccelerators"
    attached = inside(config, "guestAccelerators") or inside(config, "guestAccelerator")
    if attached is UNKNOWN or not isinstance(attached, list | None):
        return unknown(place), unknown(place), unknown(place), types
    if not attached:
        if not types.is_known:
            return unknown(place), unknown(place), unknown(place), types
        found = machines(types.value, types.place)
        return found.gpu, found.gpus_per_node, found.carries_gpus, types
    kind, amount = word(attached[0], "type"), number(attached[0], "count")
    if amount.found == 0:
        return absent(place), absent(place), known(False, place=place), types
    if not kind.is_known or not amount.is_known or not types.is_known:
        return unknown(place), amount, known(True, place=place), types
    gpu, row = accelerated(types.value[0], kind.value, amount.value)
    priced = types if row is None else known((row,), place=types.place)
    return gpu, amount, known(True, place=place), priced


def _capacity(document: dict[str, Any], config: Any) -> Fact[frozenset[str]]:
    place = "nodeConfig"
    switches = {
        "spot": inside(config, "spot"),
        "preemptible": inside(config, "preemptible"),
        "flexStart": inside(config, "flexStart"),
        "queued": inside(document, "queuedProvisioning.enabled"),
    }
    if config is UNKNOWN or UNKNOWN in switches.values():
        return unknown(place)
    on = {name for name, value in switches.items() if value is True}
    if "preemptible" in on:
        on = (on - {"preemptible"}) | {"spot"}
    kind = word(config, "reservationAffinity.consumeReservationType")
    if kind.is_unknown:
        return unknown("nodeConfig.reservationAffinity")
    if kind.found == "SPECIFIC_RESERVATION":
        on.add("reserved")
    return known(frozenset(on or {"onDemand"}), place=place)


def _shared(config: Any) -> SharedGpus:
    accelerator = block(inside(config, "guestAccelerators") or inside(config, "guestAccelerator"))
    sharing = inside(accelerator, "gpuSharingConfig")
    place = "nodeConfig.guestAccelerators[0]"
    strategy = word(sharing, "gpuSharingStrategy")
    if strategy.is_known:
        strategy = replace(strategy, found=_SHARING.get(strategy.value, strategy.value))
    return SharedGpus(
        strategy=strategy,
        replicas=number(sharing, "maxSharedClientsPerGpu"),
        partition=word(accelerator, "gpuPartitionSize"),
        place=place,
    )


def _fabric(document: dict[str, Any], config: Any) -> Fact[str]:
    strategy = word(config, "gpudirectStrategy")
    if not strategy.is_absent:
        return strategy
    more = inside(document, "networkConfig.additionalNodeNetworkConfigs")
    if more is UNKNOWN:
        return unknown("networkConfig.additionalNodeNetworkConfigs")
    return known("gpudirect", place="networkConfig") if more else absent("networkConfig")


def _seconds(written: Fact[str]) -> Fact[int]:
    if not written.is_known:
        return Fact(written.state, place=written.place)
    return fact(written.value.removesuffix("s"), whole, written.place)


def cluster(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`gcp:container/cluster:Cluster`: inline pools, the default pool, auto-provisioning."""
    surroundings = {
        key: inside(document, key) for key in ("location", "nodeLocations") if key in document
    }
    key = "nodePools" if inside(document, "nodePools") else "nodePool"
    inline = items(inside(document, key))
    for index, pool in enumerate(inline):
        if is_mapping(pool):
            name = text_at(pool, "name") or str(index)
            where = replace(locator, kind="NodePool", name=f"{locator.name}/{name}")
            own = {**surroundings, "cluster": locator.name, **pool}
            found = _pool(own, inside(own, "nodeConfig"), where)
            yield _below(found, f"{key}[{index}]")
    if inside(document, "enableAutopilot") is True:
        yield ReferencedObject(locator=locator, document={"kind": "AutopilotCluster"})
    elif inside(document, "removeDefaultNodePool") is not True and not inline:
        own = {"cluster": locator.name, **surroundings, **document, "name": "default-pool"}
        default = replace(locator, name=f"{locator.name}/default-pool")
        yield _pool(own, inside(document, "nodeConfig"), default)
    components = inside(document, "monitoringConfig.enableComponents")
    if is_list(components) and "DCGM" in components:
        yield MetricsSource(locator=locator, what="GKE managed DCGM metrics")


def _below(pool: NodePool, place: str) -> NodePool:
    """A pool whose fields are part of another object: its patches change that object."""
    size, shared = pool.size, pool.shared
    return replace(
        pool,
        instance_types_place=f"{place}.{pool.instance_types_place}",
        capacity_place=f"{place}.{pool.capacity_place}",
        taints_place=f"{place}.{pool.taints_place}",
        tags_place=f"{place}.{pool.tags_place}",
        repair_place=f"{place}.{pool.repair_place}",
        size=replace(
            size,
            minimum_place=f"{place}.{size.minimum_place}",
            maximum_place=f"{place}.{size.maximum_place}",
        ),
        shared=replace(shared, place=f"{place}.{shared.place}"),
    )


def reservation(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`gcp:compute/reservation:Reservation`, `google_compute_reservation`."""
    machine = word(document, "specificReservation.instanceProperties.machineType")
    types = one_type(machine)
    gpu, count, carries, types = _accelerators(
        inside(document, "specificReservation.instanceProperties"), types
    )
    if carries.is_known and not carries.value:
        return
    names = {locator.name}
    names.update(
        n for key in ("name", "id", "selfLink") if isinstance(n := inside(document, key), str)
    )
    required = fact(inside(document, "specificReservationRequired"), boolean, "required")
    yield Reservation(
        locator=locator,
        names=tuple(sorted(names)),
        instance_type=known(types.value[0]) if types.is_known else unknown("machineType"),
        count=number(document, "specificReservation.count"),
        gpu=gpu,
        gpus_per_node=count,
        targeted=required.or_default(False),
    )
