"""EC2 without EKS as facts: Auto Scaling groups and single instances."""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, PoolTaint, Size
from gpufleet.documents.shapes import items, known_texts
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import (
    all_known,
    inside,
    number,
    region_of,
    texts,
    word,
)
from gpufleet_policies.readers.eks import (
    first_known,
    hardware,
    is_committed,
    market,
    one_type,
    reserved_by,
    template_name,
    warm_nodes,
)

_CA_LABEL = "k8s.io/cluster-autoscaler/node-template/label/"
_CA_TAINT = "k8s.io/cluster-autoscaler/node-template/taint/"


def instance(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`aws:ec2/instance:Instance`, `aws_instance`: a pool of one that nothing scales."""
    types = one_type(word(document, "instanceType"))
    found = hardware(types)
    tags = inside(document, "tags")
    own = known_texts(tags)
    bought = market(document)
    yield NodePool(
        locator=locator,
        annotations=own,
        name=own.get("Name", locator.name),
        maker=Maker.AWS,
        instance_types=types,
        instance_types_place="instanceType",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=found.carries_gpus,
        size=Size(known(1), known(1), known(1), "the instance", "the instance", fixed=True),
        capacity=bought.or_default(frozenset({"onDemand"})),
        capacity_place="instanceMarketOptions",
        reservations=reserved_by(document),
        commitment=is_committed(own),
        taints=unknown("userData"),
        tags=own,
        tags_known=all_known(tags),
        tags_place="tags",
        region=region_of(document),
        launch_template=template_name(inside(document, "launchTemplate")),
    )


def scaling_group(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`aws:autoscaling/group:Group`, `aws_autoscaling_group`."""
    tags, tags_known = _group_tags(document)
    mixed = inside(document, "mixedInstancesPolicy")
    template = inside(document, "launchTemplate")
    if mixed is not None:
        template = inside(mixed, "launchTemplate.launchTemplateSpecification")
    types = _override_types(mixed)
    found = hardware(types)
    labels = {k.removeprefix(_CA_LABEL): v for k, v in tags.items() if k.startswith(_CA_LABEL)}
    hinted = tuple(
        PoolTaint(key.removeprefix(_CA_TAINT), value.rpartition(":")[2], value.rpartition(":")[0])
        for key, value in tags.items()
        if key.startswith(_CA_TAINT)
    )
    scaled = any(key.startswith("k8s.io/cluster-autoscaler/") for key in tags)
    yield NodePool(
        locator=locator,
        annotations=tags,
        name=first_known(word(document, "name"), locator.name),
        maker=Maker.AWS,
        instance_types=types,
        instance_types_place="mixedInstancesPolicy.launchTemplate.overrides",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=found.carries_gpus,
        size=Size(
            number(document, "minSize"),
            number(document, "maxSize"),
            number(document, "desiredCapacity"),
            "minSize",
            "maxSize",
        ),
        capacity=_mixed_capacity(mixed) if mixed is not None else absent("launchTemplate"),
        capacity_place="mixedInstancesPolicy.instancesDistribution",
        commitment=is_committed(tags),
        taints=known(hinted) if hinted else unknown("userData"),
        taints_place="tags",
        labels=labels,
        labels_known=False,
        tags=tags,
        tags_known=tags_known,
        tags_place="tags",
        zones=texts(document, "vpcZoneIdentifiers")
        if inside(document, "vpcZoneIdentifiers") is not None
        else texts(document, "availabilityZones"),
        region=region_of(document),
        launch_template=template_name(template),
        placement_group=word(document, "placementGroup"),
        fabric=unknown("launchTemplate"),
        warm_nodes=warm_nodes(inside(document, "warmPool"), "warmPool"),
        autoscaled_by=known("cluster-autoscaler") if scaled else absent("tags"),
    )


def _group_tags(document: dict[str, Any]) -> tuple[dict[str, str], bool]:
    found: dict[str, str] = {}
    complete = True
    for tag in [*items(inside(document, "tags")), *items(inside(document, "tag"))]:
        key, value = inside(tag, "key"), inside(tag, "value")
        if isinstance(key, str) and isinstance(value, str):
            found[key] = value
        else:
            complete = False
    return found, complete


def _override_types(mixed: Any) -> Fact[tuple[str, ...]]:
    place = "mixedInstancesPolicy.launchTemplate.overrides"
    overrides = inside(mixed, "launchTemplate.overrides") or inside(
        mixed, "launchTemplate.override"
    )
    if not overrides:
        return absent(place)
    kinds = [inside(one, "instanceType") for one in items(overrides)]
    if not kinds or not all(isinstance(kind, str) for kind in kinds):
        return unknown(place)
    return known(tuple(str(kind) for kind in kinds), place=place)


def _mixed_capacity(mixed: Any) -> Fact[frozenset[str]]:
    """Defaults of the API: no base, and everything above it on demand."""
    place = "mixedInstancesPolicy.instancesDistribution"
    percent = number(mixed, "instancesDistribution.onDemandPercentageAboveBaseCapacity").or_default(
        100
    )
    base = number(mixed, "instancesDistribution.onDemandBaseCapacity").or_default(0)
    if not percent.is_known or not base.is_known:
        return unknown(place)
    ways = set[str]()
    if percent.value > 0 or base.value > 0:
        ways.add("onDemand")
    if percent.value < 100:
        ways.add("spot")
    return known(frozenset(ways), place=place)
