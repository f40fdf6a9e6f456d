"""eksctl's ClusterConfig as facts: its node groups, managed by EKS or not.

Source: eksctl-io/eksctl `pkg/apis/eksctl.io/v1alpha5` (types.go, managed_nodegroup.go: defaults of
sizes; defaults.go: DefaultNodeCount, DefaultNodeType).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, PoolTaint, Size
from gpufleet.documents.shapes import is_mapping, items, known_texts
from gpufleet.findings.locator import Locator
from gpufleet_policies.names import meanings
from gpufleet_policies.readers.blocks import (
    all_known,
    flag,
    inside,
    number,
    texts,
    word,
)
from gpufleet_policies.readers.eks import (
    first_known,
    hardware,
    is_committed,
    market,
    reserved_by,
    taints,
)

_DEFAULT_NODES = 2
_DEFAULT_TYPE = "m5.large"
_LISTS = {"managedNodeGroups": Maker.EKS, "nodeGroups": Maker.AWS}
_IMAGES = meanings("family of images of eksctl")
"""Family -> key of the image that eksctl takes of it for machines with GPUs, which follows their
architecture."""


def cluster_config(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """eksctl.io ClusterConfig: one pool for each of its groups."""
    for name, maker in _LISTS.items():
        for index, group in enumerate(items(inside(document, name))):
            yield _pool(document, group, locator, f"{name}[{index}]", maker)


def _pool(
    document: dict[str, Any], group: Any, locator: Locator, head: str, maker: Maker
) -> NodePool:
    types = texts(group, "instanceTypes")
    if types.is_absent:
        types = texts(group, "instancesDistribution.instanceTypes")
    if types.is_absent:
        one = word(group, "instanceType").or_default(_DEFAULT_TYPE)
        certain = one.is_known and one.value != "mixed"
        types = known((one.value,), place="instanceType") if certain else unknown("instanceType")
    found = hardware(types)
    labels, tags = inside(group, "labels"), inside(group, "tags")
    own, paid = known_texts(labels), known_texts(tags)
    name = first_known(word(group, "name"), head)
    repair = flag(group, "nodeRepairConfig.enabled").or_default(False)
    repair_place = f"{head}.nodeRepairConfig.enabled"
    return NodePool(
        locator=replace(locator, kind="NodeGroup", name=f"{locator.name}/{name}", annotated=False),
        annotations={**own, **paid},
        name=name,
        maker=maker,
        cluster=word(document, "metadata.name"),
        instance_types=replace(types, place=f"{head}.{types.place}"),
        instance_types_place=f"{head}.{types.place}",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=found.carries_gpus,
        size=_size(group, head),
        capacity=_capacity(group),
        capacity_place=f"{head}.spot",
        reservations=reserved_by({"capacityReservationSpecification": _reservation(group)}),
        commitment=is_committed(paid),
        taints=_taints(inside(group, "taints"), f"{head}.taints"),
        taints_place=f"{head}.taints",
        labels=own,
        labels_known=all_known(labels),
        tags=paid,
        tags_known=all_known(tags),
        tags_place=f"{head}.tags",
        zones=texts(group, "availabilityZones"),
        region=word(document, "metadata.region"),
        fabric=_fabric(group),
        placement_group=word(group, "placement.groupName"),
        repair=replace(repair, place=repair_place) if maker is Maker.EKS else absent(head),
        repair_place=repair_place,
        image=_image(group, head),
        kubernetes=word(document, "metadata.version"),
    )


def _size(group: Any, head: str) -> Size:
    """Default of the minimum: the desired number, else two; the same for the maximum."""
    desired = number(group, "desiredCapacity")
    least = number(group, "minSize")
    if least.is_absent:
        least = desired.or_default(_DEFAULT_NODES)
    most = number(group, "maxSize")
    if most.is_absent:
        most = least if desired.is_absent else desired
    current = least if desired.is_absent else desired
    return Size(least, most, current, f"{head}.minSize", f"{head}.maxSize")


def _capacity(group: Any) -> Fact[frozenset[str]]:
    bought = market(group) if is_mapping(group) else absent("spot")
    if not bought.is_absent:
        return bought
    spot = inside(group, "spot")
    mixed = inside(group, "instancesDistribution")
    if spot is UNKNOWN or mixed is not None:
        return unknown("spot")
    return known(frozenset({"spot" if spot is True else "onDemand"}), place="spot")


def _reservation(group: Any) -> dict[str, Any]:
    target = inside(group, "capacityReservation.capacityReservationTarget")
    named = inside(target, "capacityReservationID")
    grouped = inside(target, "capacityReservationResourceGroupARN")
    return {
        "capacityReservationTarget": {
            "capacityReservationId": named,
            "capacityReservationResourceGroupArn": grouped,
        }
    }


def _taints(value: Any, place: str) -> Fact[tuple[PoolTaint, ...]]:
    """A list; of groups that EKS does not manage also `{key: "value:effect"}`."""
    if not is_mapping(value):
        return taints(value, place)
    written = {key: str(one).rpartition(":") for key, one in value.items()}
    found = (PoolTaint(key, effect, value) for key, (value, _, effect) in written.items())
    return known(tuple(found), place=place)


def _fabric(group: Any) -> Fact[str]:
    enabled = flag(group, "efaEnabled").or_default(False)
    if not enabled.is_known:
        return unknown("efaEnabled")
    return known("efa", place="efaEnabled") if enabled.value else absent("efaEnabled")


def _image(group: Any, head: str) -> Fact[str]:
    own, family = word(group, "ami"), word(group, "amiFamily")
    if not own.is_absent:
        return own
    key = _IMAGES.get(family.found or "")
    return family if key is None else known(key, place=f"{head}.amiFamily")
