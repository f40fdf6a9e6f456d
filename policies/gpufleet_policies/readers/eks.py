"""EKS and EC2 as facts: managed node groups, launch templates, groups, instances, reservations."""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.capacity import LaunchTemplate, Reservation
from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, PoolTaint, Size
from gpufleet.documents.shapes import is_list, known_texts
from gpufleet.findings.locator import Locator
from gpufleet.platforms.clouds.taint_effects import READ
from gpufleet_policies.readers.blocks import (
    all_known,
    flag,
    inside,
    number,
    region_of,
    texts,
    word,
)
from gpufleet_policies.readers.machines import NO_MACHINES, Machines, machines

_CAPACITY = {"ON_DEMAND": "onDemand", "SPOT": "spot", "CAPACITY_BLOCK": "capacityBlock"}
_MARKET = {"spot": "spot", "capacity-block": "capacityBlock"}
_COMMITTED_TAGS = ("gpufleet.dev/commitment", "commitment", "savings-plan", "reserved")
_DEFAULT_TYPES: tuple[str, ...] = ("t3.medium",)
"""Default machine type of an EKS node group (EKS API CreateNodegroup)."""


def taints(value: Any, place: str = "taints") -> Fact[tuple[PoolTaint, ...]]:
    """Taints in a cloud's or Kubernetes' spelling; absent where none are written."""
    if value is None or value == []:
        return absent(place)
    if not is_list(value):
        return unknown(place)
    found: list[PoolTaint] = []
    for one in value:
        key, effect = inside(one, "key"), inside(one, "effect")
        if not isinstance(key, str) or not isinstance(effect, str):
            return unknown(place)
        value = inside(one, "value")
        written = "" if value is None else value if isinstance(value, str) else None
        found.append(PoolTaint(key, READ.get(effect, effect), written))
    return known(tuple(found), place=place)


def is_committed(tags: dict[str, str]) -> bool:
    """Whether tags state that the capacity is already paid for."""
    return any(
        tags.get(key, "false").lower() not in ("false", "no", "none") for key in _COMMITTED_TAGS
    )


_DISK_GIB = 20
"""Root disk of Linux nodes without `diskSize` (EKS API, CreateNodegroup)."""


def one_type(kind: Fact[str]) -> Fact[tuple[str, ...]]:
    """A machine type as the only one of a list."""
    return Fact(kind.state, (kind.value,) if kind.is_known else None, place=kind.place)


def hardware(types: Fact[tuple[str, ...]]) -> Machines:
    """The hardware behind a list of types."""
    return machines(types.value, types.place) if types.is_known else NO_MACHINES


def node_group(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`aws:eks/nodeGroup:NodeGroup`, `aws_eks_node_group`."""
    types = texts(document, "instanceTypes")
    template = inside(document, "launchTemplate")
    if types.is_absent and template is None:
        types = known(_DEFAULT_TYPES, place="instanceTypes")
    found = hardware(types)
    carries = found.carries_gpus
    image = word(document, "amiType")
    if (
        not carries.is_known
        and image.is_known
        and ("NVIDIA" in image.value or image.value.endswith("_GPU"))
    ):
        carries = known(True, place="amiType")
    capacity = word(document, "capacityType").or_default("ON_DEMAND")
    labels, tags = inside(document, "labels"), inside(document, "tags")
    own_labels, own_tags = known_texts(labels), known_texts(tags)
    warm = inside(document, "warmPoolConfig")
    yield NodePool(
        locator=locator,
        annotations={**own_labels, **own_tags},
        name=first_known(word(document, "nodeGroupName"), locator.name),
        maker=Maker.EKS,
        cluster=word(document, "clusterName"),
        instance_types=types,
        instance_types_place="instanceTypes",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=carries,
        size=Size(
            minimum=number(document, "scalingConfig.minSize"),
            maximum=number(document, "scalingConfig.maxSize"),
            current=number(document, "scalingConfig.desiredSize"),
            minimum_place="scalingConfig.minSize",
            maximum_place="scalingConfig.maxSize",
        ),
        capacity=_capacity(capacity),
        capacity_place="capacityType",
        commitment=is_committed(own_tags),
        taints=taints(inside(document, "taints") or inside(document, "taint")),
        taints_place="taints",
        image=image,
        kubernetes=word(document, "version"),
        disk_gib=number(document, "diskSize").or_default(_DISK_GIB)
        if template is None
        else absent("launchTemplate"),
        labels=own_labels,
        labels_known=all_known(labels),
        tags=own_tags,
        tags_known=all_known(tags),
        tags_place="tags",
        zones=texts(document, "subnetIds"),
        region=region_of(document),
        launch_template=template_name(template),
        fabric=absent("launchTemplate") if template is None else unknown("launchTemplate"),
        placement_group=absent("launchTemplate") if template is None else unknown("launchTemplate"),
        repair=flag(document, "nodeRepairConfig.enabled").or_default(False),
        repair_place="nodeRepairConfig.enabled",
        warm_nodes=warm_nodes(warm, "warmPoolConfig", _prepared(warm, document)),
    )


def _capacity(written: Fact[str]) -> Fact[frozenset[str]]:
    if not written.is_known or written.value not in _CAPACITY:
        return unknown("capacityType")
    return known(frozenset({_CAPACITY[written.value]}), place="capacityType")


def first_known(written: Fact[str], otherwise: str) -> str:
    """A written name, else another."""
    return written.value if written.is_known else otherwise


def template_name(template: Any) -> str:
    """Name or id of a launch template; `?` if unknown, empty without one."""
    for key in ("name", "id", "launchTemplateName", "launchTemplateId"):
        found = inside(template, key)
        if isinstance(found, str):
            return found
    return "" if template is None else "?"


def warm_nodes(config: Any, head: str, beyond: int = 0) -> Fact[int]:
    """Running nodes that wait in a warm pool, at least `beyond`; stopped ones (the default) and
    hibernated ones pay disks only."""
    place = f"{head}.poolState"
    if config is None:
        return absent(head)
    state = word(config, "poolState").or_default("stopped")
    if not state.is_known:
        return unknown(place)
    if state.value.lower() != "running":
        return absent(place)
    minimum = number(config, "minSize").or_default(0)
    return known(max(minimum.value, beyond), place=place) if minimum.is_known else unknown(place)


def _prepared(config: Any, document: dict[str, Any]) -> int:
    """Nodes of a warm pool that are prepared beyond the desired number."""
    prepared = number(config, "maxGroupPreparedCapacity")
    desired = number(document, "scalingConfig.desiredSize")
    return prepared.value - desired.value if prepared.is_known and desired.is_known else 0


def launch_template(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`aws:ec2/launchTemplate:LaunchTemplate`, `aws_launch_template`."""
    kind = word(document, "instanceType")
    found = hardware(one_type(kind))
    names = {locator.name}
    names.update(
        n for key in ("name", "id", "namePrefix") if isinstance(n := inside(document, key), str)
    )
    yield LaunchTemplate(
        locator=locator,
        annotations=known_texts(inside(document, "tags")),
        names=tuple(sorted(names)),
        instance_type=kind,
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        carries_gpus=found.carries_gpus,
        capacity=market(document),
        reservations=reserved_by(document),
        has_efa=_efa(inside(document, "networkInterfaces")),
        placement_group=word(document, "placement.groupName"),
        image=word(document, "imageId"),
    )


def market(document: dict[str, Any]) -> Fact[frozenset[str]]:
    """Way of buying of `instanceMarketOptions`; absent: none is written."""
    place = "instanceMarketOptions.marketType"
    written = word(document, place)
    if written.is_absent:
        return absent(place)
    if not written.is_known or written.value not in _MARKET:
        return unknown(place)
    return known(frozenset({_MARKET[written.value]}), place=place)


def reserved_by(document: dict[str, Any]) -> tuple[str, ...]:
    """Reservations that the machines target; `?` where the id is not known."""
    target = inside(document, "capacityReservationSpecification.capacityReservationTarget")
    found = inside(target, "capacityReservationId") or inside(
        target, "capacityReservationResourceGroupArn"
    )
    if found is None:
        return ()
    return (found if isinstance(found, str) else "?",)


def _efa(interfaces: Any) -> Fact[bool]:
    place = "networkInterfaces"
    if interfaces is None or interfaces == []:
        return known(False, place=place)
    if not is_list(interfaces):
        return unknown(place)
    kinds = [inside(one, "interfaceType") for one in interfaces]
    if any(kind in ("efa", "efa-only") for kind in kinds if kind is not UNKNOWN):
        return known(True, place=place)
    return unknown(place) if UNKNOWN in kinds else known(False, place=place)


def reservation(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`aws:ec2/capacityReservation:CapacityReservation`, capacity blocks, and Terraform's."""
    kind = word(document, "instanceType")
    found = hardware(one_type(kind))
    names = {locator.name}
    names.update(n for key in ("id", "arn") if isinstance(n := inside(document, key), str))
    match = word(document, "instanceMatchCriteria").or_default("open")
    yield Reservation(
        locator=locator,
        annotations=known_texts(inside(document, "tags")),
        names=tuple(sorted(names)),
        instance_type=kind,
        count=number(document, "instanceCount"),
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        targeted=known(match.value == "targeted") if match.is_known else unknown("match"),
    )
