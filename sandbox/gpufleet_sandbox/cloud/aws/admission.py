"""Node groups and launch templates that EKS refuses; moto accepts all of them.

Written from the API's own words (botocore 1.44.5 `LaunchTemplateSpecification`, `CreateNodegroup`;
awsdocs/amazon-eks-user-guide 4d52b4d `nodes/launch-templates.adoc`, `ml/capacity-blocks-mng.adoc`),
independently of the decisions of the components.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet_sandbox.cloud.cloud import CloudError

_LAST_AL2_VERSION = (1, 32)


def admit_template(data: Mapping[str, Any]) -> None:
    """Refuse launch template data that EC2 would refuse.

    Raises:
        CloudError: all that is wrong.
    """
    found: list[str] = []
    interfaces = data.get("NetworkInterfaces") or []
    if interfaces and data.get("SecurityGroupIds"):
        found.append(
            "InvalidParameterCombination: network interfaces and instance-level security groups "
            "may not be specified on the same request"
        )
    if len(interfaces) > 1 and any(one.get("AssociatePublicIpAddress") for one in interfaces):
        found.append(
            "InvalidParameterCombination: a public address cannot be assigned with more than one "
            "network interface"
        )
    slots = [(one.get("NetworkCardIndex", 0), one.get("DeviceIndex", 0)) for one in interfaces]
    if len(set(slots)) < len(slots):
        found.append(
            "InvalidParameterValue: two network interfaces share a network card and device index"
        )
    if any(
        one.get("InterfaceType") == "efa-only" and slot == (0, 0)
        for one, slot in zip(interfaces, slots, strict=True)
    ):
        found.append("InvalidParameterValue: the primary network interface cannot be efa-only")
    if found:
        raise CloudError(f"CreateLaunchTemplate: {'; '.join(found)}")


def admit_node_group(
    request: Mapping[str, Any], template: Mapping[str, Any] | None, cluster_version: str
) -> None:
    """Refuse a node group that EKS would refuse.

    Args:
        request: the CreateNodegroup request.
        template: data of the launch template version it names; None without one.
        cluster_version: Kubernetes version of the cluster.

    Raises:
        CloudError: all that is wrong.
    """
    found = [*_sizes(request), *_image(request, cluster_version), *_capacity(request, template)]
    if template is not None:
        found += _template(request, template)
    if found:
        raise CloudError(f"CreateNodegroup: InvalidParameterException: {'; '.join(found)}")


def _sizes(request: Mapping[str, Any]) -> Iterator[str]:
    sizes = request.get("scalingConfig", {})
    least, wanted, most = (sizes.get(f"{name}Size", 0) for name in ("min", "desired", "max"))
    if not least <= wanted <= most:
        yield f"desired capacity {wanted} must be between minimum {least} and maximum {most}"
    update = request.get("updateConfig", {})
    if "maxUnavailable" in update and "maxUnavailablePercentage" in update:
        yield "specify maxUnavailable or maxUnavailablePercentage, not both"
    repair = request.get("nodeRepairConfig", {})
    for stem in ("maxUnhealthyNodeThreshold", "maxParallelNodesRepaired"):
        if f"{stem}Count" in repair and f"{stem}Percentage" in repair:
            yield f"specify {stem}Count or {stem}Percentage, not both"


def _image(request: Mapping[str, Any], cluster_version: str) -> Iterator[str]:
    image = str(request.get("amiType", ""))
    version = _version(request.get("version") or cluster_version)
    if image.startswith("AL2_") and version > _LAST_AL2_VERSION:
        yield f"AMI type {image} is not supported for Kubernetes {version[0]}.{version[1]}"


def _capacity(request: Mapping[str, Any], template: Mapping[str, Any] | None) -> Iterator[str]:
    data = template or {}
    market = (data.get("InstanceMarketOptions") or {}).get("MarketType")
    if request.get("capacityType") != "CAPACITY_BLOCK":
        if market == "capacity-block":
            yield "a launch template for Capacity Blocks needs capacityType CAPACITY_BLOCK"
        return
    target = (data.get("CapacityReservationSpecification") or {}).get(
        "CapacityReservationTarget"
    ) or {}
    if market != "capacity-block":
        yield "CAPACITY_BLOCK needs a launch template with market type capacity-block"
    if not target.get("CapacityReservationId"):
        yield "CAPACITY_BLOCK needs a launch template with a capacity reservation id"
    if not data.get("InstanceType") or request.get("instanceTypes"):
        yield "CAPACITY_BLOCK needs exactly one instance type, in the launch template"


def _template(request: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[str]:
    named = request.get("launchTemplate", {})
    if "id" in named and "name" in named:
        yield "provide the launch template's id or its name, not both"
    for key, value in (("diskSize", "disk size"), ("remoteAccess", "remote access")):
        if request.get(key):
            yield f"{value} must be specified within the launch template"
    if any(one.get("SubnetId") for one in data.get("NetworkInterfaces") or []):
        yield "the launch template must not specify a subnet"
    forbidden = {
        "IamInstanceProfile": "an instance profile",
        "HibernationOptions": "hibernation options",
        "InstanceInitiatedShutdownBehavior": "a shutdown behaviour",
    }
    for key, words in forbidden.items():
        if data.get(key):
            yield f"the launch template must not specify {words}"
    if (data.get("InstanceMarketOptions") or {}).get("MarketType") == "spot":
        yield "the launch template must not request spot instances; use capacityType SPOT"
    if data.get("InstanceType") and request.get("instanceTypes"):
        yield "instance types are in the launch template or in the node group, not in both"
    if data.get("ImageId"):
        for key in ("amiType", "version", "releaseVersion"):
            if request.get(key) and request[key] != "CUSTOM":
                yield f"with an AMI in the launch template {key} must not be specified"


def _version(text: Any) -> tuple[int, int]:
    numbers = re.findall(r"\d+", str(text))
    return (int(numbers[0]), int(numbers[1])) if len(numbers) > 1 else (0, 0)
