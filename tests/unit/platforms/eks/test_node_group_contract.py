"""Every conflict of node group and launch template: accepted as it is, refused with one change."""

import copy
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.findings import Severity
from gpufleet.platforms.eks.argument_rules import NODE_GROUP_TYPE, validate_node_group

GROUP: dict[str, Any] = {
    "capacityType": "ON_DEMAND",
    "amiType": "AL2023_x86_64_NVIDIA",
    "version": "1.36",
    "instanceTypes": ["p5.48xlarge"],
    "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 0},
    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    "updateConfig": {"maxUnavailable": 1},
}
TEMPLATE: dict[str, Any] = {
    "networkInterfaces": [
        {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
        {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
        {"networkCardIndex": 1, "deviceIndex": 0, "interfaceType": "efa-only"},
    ],
}
BLOCK_GROUP = {
    key: value for key, value in GROUP.items() if key not in {"instanceTypes", "capacityType"}
} | {"capacityType": "CAPACITY_BLOCK"}
BLOCK_TEMPLATE: dict[str, Any] = {
    "instanceType": "p5.48xlarge",
    "instanceMarketOptions": {"marketType": "capacity-block"},
    "capacityReservationSpecification": {
        "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
    },
}


def validated(group: dict[str, Any], template: dict[str, Any] | None) -> list[tuple[str, str]]:
    found = validate_node_group(group, template, "group", "template")
    return [(finding.code, finding.path) for finding in found]


def test_what_is_right_is_accepted() -> None:
    assert validated(GROUP, TEMPLATE) == []
    assert validated(BLOCK_GROUP, BLOCK_TEMPLATE) == []
    own_image = {k: v for k, v in GROUP.items() if k not in {"amiType", "version"}}
    assert validated(own_image, {**TEMPLATE, "imageId": "ami-1"}) == []
    assert validated({**GROUP, "diskSize": 100, "remoteAccess": {}}, None) == []


def test_what_stands_near_a_limit_is_accepted() -> None:
    sizes = {"minSize": 2, "maxSize": 2, "desiredSize": 2}
    assert validated({**GROUP, "scalingConfig": sizes}, {}) == []
    assert validated({**GROUP, "updateConfig": {"maxUnavailable": 100}}, {}) == []
    last = {**GROUP, "amiType": "AL2_x86_64_GPU", "version": "1.32"}
    assert validated(last, {}) == []
    assert load().image("al2-nvidia").last_kubernetes == "1.32"
    asleep = {"poolState": "HIBERNATED", "reuseOnScaleIn": True}
    assert validated({**GROUP, "warmPoolConfig": asleep}, {}) == []
    stopped = {"amiType": "BOTTLEROCKET_x86_64_NVIDIA", "warmPoolConfig": {"poolState": "STOPPED"}}
    assert validated({**GROUP, **stopped}, {}) == []
    assert validated({"instanceTypes": []}, {"instanceType": "g6.xlarge"}) == []


def test_security_groups_of_a_template_alone_are_a_warning() -> None:
    (finding,) = validate_node_group(GROUP, {"vpcSecurityGroupIds": ["sg-1"]}, "group", "template")
    assert finding.severity is Severity.WARNING
    assert "does not add the cluster's security group" in finding.message


CARD = {"networkCardIndex": 0, "deviceIndex": 0}
CHANGES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {"iamInstanceProfile": {"name": "x"}}, "launch-template-instance-profile", "template"),
    ({}, {"hibernationOptions": {"configured": True}}, "launch-template-hibernation", "template"),
    (
        {},
        {"instanceInitiatedShutdownBehavior": "terminate"},
        "launch-template-shutdown",
        "template",
    ),
    ({}, {"instanceMarketOptions": {"marketType": "spot"}}, "launch-template-spot", "template"),
    ({}, {"instanceMarketOptions": {"spotOptions": {}}}, "launch-template-spot", "template"),
    (
        {},
        {"networkInterfaces": [{**CARD, "subnetId": "subnet-1"}]},
        "launch-template-subnet",
        "template.networkInterfaces[0].subnetId",
    ),
    (
        {},
        {"vpcSecurityGroupIds": ["sg-1"]},
        "launch-template-security-groups-twice",
        "template.vpcSecurityGroupIds",
    ),
    (
        {},
        {"networkInterfaces": [CARD, CARD]},
        "launch-template-interface-twice",
        "template.networkInterfaces[1]",
    ),
    (
        {},
        {"networkInterfaces": [{"networkCardIndex": 1, "deviceIndex": 0}]},
        "launch-template-no-primary",
        "template.networkInterfaces",
    ),
    (
        {},
        {"networkInterfaces": [{**CARD, "interfaceType": "efa-only"}]},
        "launch-template-primary-efa-only",
        "template.networkInterfaces[0].interfaceType",
    ),
    (
        {},
        {
            "networkInterfaces": [
                {**CARD, "interfaceType": "efa"},
                {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
            ]
        },
        "launch-template-efa-per-card",
        "template.networkInterfaces[1]",
    ),
    (
        {},
        {
            "networkInterfaces": [
                {**CARD, "associatePublicIpAddress": "true"},
                {"networkCardIndex": 1, "deviceIndex": 0},
            ]
        },
        "launch-template-public-address",
        "template.networkInterfaces[0].associatePublicIpAddress",
    ),
    ({"diskSize": 100}, {}, "node-group-disk-size", "group.diskSize"),
    ({"remoteAccess": {"ec2SshKey": "k"}}, {}, "node-group-remote-access", "group.remoteAccess"),
    ({}, {"instanceType": "p5.48xlarge"}, "node-group-types-twice", "template.instanceType"),
    ({}, {"imageId": "ami-1"}, "node-group-image-twice", "group.amiType"),
    (
        {"instanceTypes": [f"g6.{i}" for i in range(21)]},
        {},
        "node-group-too-many-types",
        "group.instanceTypes",
    ),
    (
        {"tags": {f"t{i}": "x" for i in range(51)}},
        {},
        "node-group-too-many-tags",
        "group.tags",
    ),
    (
        {"taints": GROUP["taints"] * 51},
        {},
        "provider-refuses-argument",
        "group.taints",
    ),
    (
        {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        {},
        "provider-refuses-argument",
        "group.taints[0].effect",
    ),
    (
        {"updateConfig": {"maxUnavailable": 1, "maxUnavailablePercentage": 10}},
        {},
        "provider-refuses-argument",
        "group.updateConfig",
    ),
    (
        {"scalingConfig": {"minSize": 0, "maxSize": 0, "desiredSize": 0}},
        {},
        "provider-refuses-argument",
        "group.scalingConfig.maxSize",
    ),
    ({"capacityType": "CAPACITY_BLOCK"}, {}, "capacity-block-incomplete", "template"),
    ({"instanceTypes": []}, {}, "node-group-no-type", "group.instanceTypes"),
    (
        {"scalingConfig": {"minSize": 3, "maxSize": 9, "desiredSize": 2}},
        {},
        "node-group-sizes",
        "group.scalingConfig",
    ),
    (
        {"scalingConfig": {"minSize": 0, "maxSize": 9, "desiredSize": 10}},
        {},
        "node-group-sizes",
        "group.scalingConfig",
    ),
    (
        {"updateConfig": {"maxUnavailablePercentage": 101}},
        {},
        "provider-refuses-argument",
        "group.updateConfig.maxUnavailablePercentage",
    ),
    ({"amiType": "AL2_x86_64_GPU"}, {}, "node-group-image-ended", "group.amiType"),
    (
        {
            "amiType": "BOTTLEROCKET_x86_64_NVIDIA",
            "warmPoolConfig": {"poolState": "HIBERNATED"},
        },
        {},
        "node-group-warm-pool",
        "group.warmPoolConfig.poolState",
    ),
    (
        {
            "amiType": "BOTTLEROCKET_ARM_64_NVIDIA",
            "warmPoolConfig": {"reuseOnScaleIn": True},
        },
        {},
        "node-group-warm-pool",
        "group.warmPoolConfig.reuseOnScaleIn",
    ),
    (
        {},
        {"networkInterfaces": [{**CARD, "securityGroups": ["sg-1"]}]},
        "launch-template-own-security-groups",
        "template.networkInterfaces[0].securityGroups",
    ),
]


@pytest.mark.parametrize(("group", "template", "code", "path"), CHANGES)
def test_one_change_is_one_finding(
    group: dict[str, Any], template: dict[str, Any], code: str, path: str
) -> None:
    found = validated({**copy.deepcopy(GROUP), **group}, {**copy.deepcopy(TEMPLATE), **template})
    assert code in [found_code for found_code, _ in found]
    assert any(place.startswith(path) for found_code, place in found if found_code == code)


@pytest.mark.parametrize("part", list(BLOCK_TEMPLATE))
def test_each_part_of_a_capacity_block_is_missed(part: str) -> None:
    template = {key: value for key, value in BLOCK_TEMPLATE.items() if key != part}
    (finding,) = validate_node_group(BLOCK_GROUP, template, "group", "template")
    assert finding.code == "capacity-block-incomplete"
    assert f"template.{part}" in finding.message


def test_a_block_template_on_another_groups_capacity_type_is_missed_too() -> None:
    group = {**BLOCK_GROUP, "capacityType": "ON_DEMAND"}
    (finding,) = validate_node_group(group, BLOCK_TEMPLATE, "group", "template")
    assert "group.capacityType CAPACITY_BLOCK" in finding.message


def test_what_the_provider_refuses_is_said_in_one_way():
    """botocore 1.44.5, EKS `AMITypes`: a node group of a pool, and one of a cluster."""
    given = {"amiType": "AL2029"}
    (raw,) = [
        one
        for one in validate_node_group(given, None, "pools[0].eks.nodeGroup", "template")
        if one.code == "provider-refuses-argument"
    ]
    (plain,) = refused_arguments(NODE_GROUP_TYPE, given)
    assert (raw.path, plain.path) == ("pools[0].eks.nodeGroup.amiType", "amiType")
    assert (raw.message, raw.fix) == (plain.message, plain.fix)
    assert f"amiType of {NODE_GROUP_TYPE}" in raw.message
