"""What EKS refuses of a managed node group and its launch template, before it is asked.

Works on the arguments of `aws:eks/nodeGroup` and `aws:ec2/launchTemplate` in the provider's
spelling, complete or in part. Enumerations, bounds and exclusions of the provider are rows of
`catalogue.provider_inputs`. What remains are combinations and quotas that no schema has. Sources:
EKS service model (botocore 1.44.5, LaunchTemplateSpecification, CreateNodegroup) and EKS user guide
`nodes/launch-templates`, `ml/capacity-blocks-mng`.
"""

from collections.abc import Iterable

from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.findings import Finding, error, findings_in
from gpufleet.platforms.eks.launch_template_interfaces import validate_interfaces
from gpufleet.platforms.eks.node_group_image import validate_image
from gpufleet.platforms.eks.provider_arguments import Arguments, items, mapping, number

_finding = findings_in(__file__)

NODE_GROUP_TYPE = "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE_TYPE = "aws:ec2/launchTemplate:LaunchTemplate"
MAX_TYPES = 20
"""Maximum of `instanceTypes` of one node group."""
MAX_TAGS = 50
"""Maximum number of tags of one node group."""


def validate_node_group(
    group: Arguments, template: Arguments | None, group_path: str, template_path: str
) -> list[Finding]:
    """Everything EKS or EC2 would refuse about the two together.

    `template` is None for a group without one. What is not written is not validated.
    """
    findings = [
        *_group(group, group_path),
        *_sizes(group, group_path),
        *validate_image(group, group_path),
    ]
    if template is not None:
        findings += [
            *_forbidden(template, template_path),
            *_alongside_template(group, template, group_path, template_path),
            *validate_interfaces(template, template_path),
            *_capacity_block(group, template, group_path, template_path),
        ]
    return [
        *findings,
        *refused_arguments(NODE_GROUP_TYPE, group, group_path),
        *refused_arguments(LAUNCH_TEMPLATE_TYPE, template or {}, template_path),
    ]


def _group(group: Arguments, path: str) -> Iterable[Finding]:
    types = items(group, "instanceTypes")
    if len(types) > MAX_TYPES:
        yield _finding("node-group-too-many-types", path, found=len(types), limit=MAX_TYPES)
    tags = mapping(group, "tags")
    if len(tags) > MAX_TAGS:
        yield _finding("node-group-too-many-tags", path, found=len(tags), limit=MAX_TAGS)
    for section, pair in _EITHER:
        given = mapping(group, section)
        if all(key in given for key in pair):
            yield _finding(
                "node-group-count-and-percentage",
                f"{path}.{section}",
                first=pair[0],
                second=pair[1],
            )


def _sizes(group: Arguments, path: str) -> Iterable[Finding]:
    scaling = mapping(group, "scalingConfig")
    least, wanted, most = (number(scaling, f"{name}Size") for name in ("min", "desired", "max"))
    known = [size for size in (least, wanted, most) if size is not None]
    if known != sorted(known):
        yield _finding("node-group-sizes", path, least=least, wanted=wanted, most=most, found=known)


_EITHER = (
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
    market = mapping(template, "instanceMarketOptions")
    if market.get("marketType") == "spot" or "spotOptions" in market:
        yield _finding("launch-template-spot", path)
    for index, interface in enumerate(items(template, "networkInterfaces")):
        if interface.get("subnetId") is not None:
            yield _finding("launch-template-subnet", f"{path}.networkInterfaces[{index}]")


def _alongside_template(
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
                f"{key} and a launch template are both given, and EKS accepts only one of them",
                f"write {where}",
                found=group[key],
            )
    types, one = items(group, "instanceTypes"), template.get("instanceType")
    if "instanceTypes" in group and not types and one is None:
        yield _finding("node-group-no-type", group_path, found=[])
    if types and one is not None:
        yield _finding(
            "node-group-types-twice", template_path, one=one, types=types, found=[one, *types]
        )
    image = template.get("imageId")
    for key in ("amiType", "version", "releaseVersion"):
        given = group.get(key)
        if image is not None and given is not None and given != "CUSTOM":
            yield _finding(
                "node-group-image-twice", f"{group_path}.{key}", key=key, found=given, image=image
            )


def _capacity_block(
    group: Arguments, template: Arguments, group_path: str, template_path: str
) -> Iterable[Finding]:
    market = mapping(template, "instanceMarketOptions").get("marketType") == "capacity-block"
    capacity = group.get("capacityType")
    if not market and capacity != "CAPACITY_BLOCK":
        return
    target = mapping(
        mapping(template, "capacityReservationSpecification"), "capacityReservationTarget"
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
        yield _finding(
            "capacity-block-incomplete", template_path, lacking="; ".join(missing), missing=missing
        )
