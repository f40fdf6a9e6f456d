"""What EKS refuses of a managed node group and its launch template, before it is asked.

Works on the arguments of `aws:eks/nodeGroup` and `aws:ec2/launchTemplate` in the provider's
spelling, complete or in part, whoever wrote them. Sources: EKS service model (botocore 1.44.5,
LaunchTemplateSpecification, CreateNodegroup) and EKS user guide `nodes/launch-templates`,
`ml/capacity-blocks-mng`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from gpufleet.findings import Finding, error

MAX_TYPES = 20
"""Most `instanceTypes` of one node group."""
MAX_TAINTS = 50
"""Most taints of one node group."""
MAX_TAGS = 50
"""Most tags of one node group."""
EFFECTS = ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE")
"""Taint effects in the API's spelling."""

Arguments = Mapping[str, Any]


def judge_node_group(
    group: Arguments, template: Arguments | None, group_path: str, template_path: str
) -> list[Finding]:
    """Everything EKS or EC2 would refuse about the two together.

    `template` is None for a group without one. What is not written is not judged.
    """
    findings = list(_group(group, group_path))
    if template is None:
        return findings
    return [
        *findings,
        *_forbidden(template, template_path),
        *_beside_template(group, template, group_path, template_path),
        *_interfaces(template, template_path),
        *_capacity_block(group, template, group_path, template_path),
    ]


def _group(group: Arguments, path: str) -> Iterable[Finding]:
    types = _items(group, "instanceTypes")
    if len(types) > MAX_TYPES:
        yield error(
            "node-group-too-many-types",
            f"{path}.instanceTypes",
            f"{len(types)} instance types are listed, and a node group takes {MAX_TYPES}",
            "drop the least likely ones",
            found=len(types),
            limit=MAX_TYPES,
        )
    taints = _items(group, "taints")
    if len(taints) > MAX_TAINTS:
        yield error(
            "node-group-too-many-taints",
            f"{path}.taints",
            f"{len(taints)} taints are given, and a node group takes {MAX_TAINTS}",
            found=len(taints),
            limit=MAX_TAINTS,
        )
    tags = _mapping(group, "tags")
    if len(tags) > MAX_TAGS:
        yield error(
            "node-group-too-many-tags",
            f"{path}.tags",
            f"{len(tags)} tags are given, and a node group takes {MAX_TAGS}",
            "remove labels of the pool, which Cluster Autoscaler is told of by tags, or tags of "
            "the fleet",
            found=len(tags),
            limit=MAX_TAGS,
        )
    for index, taint in enumerate(taints):
        if taint.get("effect") not in EFFECTS:
            yield error(
                "node-group-taint-effect",
                f"{path}.taints[{index}].effect",
                f"{taint.get('effect')} is no taint effect of the EKS API",
                f"one of {', '.join(EFFECTS)}",
                found=taint.get("effect"),
                allowed=list(EFFECTS),
            )
    for section, pair in _EITHER:
        given = _mapping(group, section)
        if all(key in given for key in pair):
            yield error(
                "node-group-count-and-percentage",
                f"{path}.{section}",
                f"{pair[0]} and {pair[1]} exclude each other",
                "keep one",
            )
    scaling = _mapping(group, "scalingConfig")
    if scaling.get("maxSize") == 0:
        yield error(
            "node-group-max-zero",
            f"{path}.scalingConfig.maxSize",
            "maxSize is 0, and EKS wants at least 1",
            "write 1: a group may be empty with minSize 0",
            found=0,
            limit=1,
        )


_EITHER = (
    ("updateConfig", ("maxUnavailable", "maxUnavailablePercentage")),
    (
        "nodeRepairConfig",
        ("maxParallelNodesRepairedCount", "maxParallelNodesRepairedPercentage"),
    ),
    (
        "nodeRepairConfig",
        ("maxUnhealthyNodeThresholdCount", "maxUnhealthyNodeThresholdPercentage"),
    ),
)

_FORBIDDEN = {
    "iamInstanceProfile": ("launch-template-instance-profile", "the group's nodeRoleArn"),
    "hibernationOptions": ("launch-template-hibernation", "nothing: EKS nodes do not hibernate"),
    "instanceInitiatedShutdownBehavior": (
        "launch-template-shutdown",
        "nothing: EKS decides when nodes end",
    ),
}
"""Template argument -> code, and what takes its place."""


def _forbidden(template: Arguments, path: str) -> Iterable[Finding]:
    for key, (code, instead) in _FORBIDDEN.items():
        if template.get(key) is not None:
            yield error(
                code,
                f"{path}.{key}",
                f"a template of a managed node group must not set {key}",
                f"remove it; what counts is {instead}",
            )
    market = _mapping(template, "instanceMarketOptions")
    if market.get("marketType") == "spot" or "spotOptions" in market:
        yield error(
            "launch-template-spot",
            f"{path}.instanceMarketOptions",
            "the template asks for spot itself, and a managed node group refuses that",
            "write `capacity: [{spot: {}}]` on the pool",
        )
    for index, interface in enumerate(_items(template, "networkInterfaces")):
        if interface.get("subnetId") is not None:
            yield error(
                "launch-template-subnet",
                f"{path}.networkInterfaces[{index}].subnetId",
                "a template of a managed node group must not name a subnet",
                "remove it; the group's subnetIds decide",
            )


def _beside_template(
    group: Arguments, template: Arguments, group_path: str, template_path: str
) -> Iterable[Finding]:
    instead = {
        "diskSize": (
            "node-group-disk-size",
            "`disk.sizeGib` of the pool, which fills the template",
        ),
        "remoteAccess": ("node-group-remote-access", "keyName in the launch template"),
    }
    for key, (code, where) in instead.items():
        if group.get(key) is not None:
            yield error(
                code,
                f"{group_path}.{key}",
                f"{key} is given beside a launch template, and EKS takes only one of them",
                f"write {where}",
                found=group[key],
            )
    types, one = _items(group, "instanceTypes"), template.get("instanceType")
    if types and one is not None:
        yield error(
            "node-group-types-twice",
            f"{template_path}.instanceType",
            f"the template names {one} and the group {', '.join(map(str, types))}",
            "name instance types in one of the two",
            found=[one, *types],
        )
    image = template.get("imageId")
    for key in ("amiType", "version", "releaseVersion"):
        given = group.get(key)
        if image is not None and given is not None and given != "CUSTOM":
            yield error(
                "node-group-image-twice",
                f"{group_path}.{key}",
                f"{key} {given} is given beside the template's own image {image}",
                "remove one of the two",
                found=given,
            )


def _interfaces(template: Arguments, path: str) -> Iterable[Finding]:
    interfaces = _items(template, "networkInterfaces")
    if not interfaces:
        return
    for key in ("vpcSecurityGroupIds", "securityGroupNames"):
        if template.get(key):
            yield error(
                "launch-template-security-groups-twice",
                f"{path}.{key}",
                f"{key} is given beside networkInterfaces, which EC2 refuses",
                "write securityGroups on each interface",
            )
    places = [(i.get("networkCardIndex") or 0, i.get("deviceIndex") or 0) for i in interfaces]
    for index, place in enumerate(places):
        if place in places[:index]:
            yield error(
                "launch-template-interface-twice",
                f"{path}.networkInterfaces[{index}]",
                f"card {place[0]} device {place[1]} is there already",
                "give each interface a place of its own",
                found=list(place),
            )
    if (0, 0) not in places:
        yield error(
            "launch-template-no-primary",
            f"{path}.networkInterfaces",
            "no interface is card 0 device 0, and every machine needs a primary one",
            "add it, of type interface",
        )
    cards: set[int] = set()
    for index, interface in enumerate(interfaces):
        kind = interface.get("interfaceType")
        card = interface.get("networkCardIndex") or 0
        if kind == "efa-only" and places[index] == (0, 0):
            yield error(
                "launch-template-primary-efa-only",
                f"{path}.networkInterfaces[{index}].interfaceType",
                "the primary interface is efa-only, which carries no IP traffic",
                "write interface, and efa-only on card 0 device 1",
            )
        if kind in {"efa", "efa-only"} and card in cards:
            yield error(
                "launch-template-efa-per-card",
                f"{path}.networkInterfaces[{index}]",
                f"card {card} gets a second EFA, and a card carries one",
                "remove it",
                found=card,
            )
        if kind in {"efa", "efa-only"}:
            cards.add(card)
        public = interface.get("associatePublicIpAddress")
        if len(interfaces) > 1 and public in {True, "true"}:
            yield error(
                "launch-template-public-address",
                f"{path}.networkInterfaces[{index}].associatePublicIpAddress",
                f"EC2 gives no public address to a machine with {len(interfaces)} interfaces",
                "remove it and use private subnets",
                found=len(interfaces),
            )


def _capacity_block(
    group: Arguments, template: Arguments, group_path: str, template_path: str
) -> Iterable[Finding]:
    market = _mapping(template, "instanceMarketOptions").get("marketType") == "capacity-block"
    capacity = group.get("capacityType")
    if not market and capacity != "CAPACITY_BLOCK":
        return
    target = _mapping(
        _mapping(template, "capacityReservationSpecification"), "capacityReservationTarget"
    )
    missing = [
        name
        for name, there in (
            (f"{group_path}.capacityType CAPACITY_BLOCK", capacity == "CAPACITY_BLOCK"),
            (f"{template_path}.instanceMarketOptions.marketType capacity-block", market),
            (
                f"{template_path}.capacityReservationSpecification.capacityReservationTarget",
                bool(target),
            ),
            (f"{template_path}.instanceType", template.get("instanceType") is not None),
        )
        if not there
    ]
    if missing:
        yield error(
            "capacity-block-incomplete",
            template_path,
            f"a Capacity Block needs all four parts; missing: {'; '.join(missing)}",
            "write `capacity: [{capacityBlock: {...}}]` on the pool, which sets all of them",
            missing=missing,
        )


def _items(arguments: Arguments, key: str) -> Sequence[Any]:
    value = arguments.get(key)
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def _mapping(arguments: Arguments, key: str) -> Arguments:
    value = arguments.get(key)
    return cast("Arguments", value) if isinstance(value, Mapping) else {}
