import base64
from typing import Any

import pulumi
import pytest

from gpufleet import EksGpuNodeGroup
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.reading import yaml_data
from tests.unit.components.eks_pools import POOLS, arguments
from tests.unit.components.snapshots import assert_snapshot

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
TAG = "aws:autoscaling/tag:Tag"


def made(run: Any, case: str, pool: dict[str, Any] | None = None, **connection: Any) -> Any:
    return run(lambda: EksGpuNodeGroup("pool", arguments(case, pool, **connection)))


def refused(run: Any, case: str, pool: dict[str, Any] | None = None, **connection: Any) -> str:
    texts: list[str] = []

    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            EksGpuNodeGroup("pool", arguments(case, pool, **connection))
        texts.append(str(caught.value))

    assert run(program).resources == []
    return texts[0]


def told(recording: Any) -> str:
    return base64.b64decode(recording.one(TEMPLATE).inputs["userData"]).decode()


def part(mime: str) -> Any:
    """The NodeConfig of user data in MIME parts."""
    return yaml_data(mime.split("\n\n", 2)[2].rsplit("--gpufleet--", 1)[0])


@pytest.mark.parametrize("case", POOLS)
def test_the_exact_inputs(run: Any, case: str) -> None:
    assert_snapshot(f"eks-{case}", made(run, case))


def test_on_demand_is_the_pinned_image_and_one_group_per_pool(run: Any) -> None:
    group = made(run, "on-demand").one(GROUP).inputs
    assert group["capacityType"] == "ON_DEMAND"
    assert group["amiType"] == "AL2023_x86_64_NVIDIA"
    assert group["releaseVersion"] == "1.36.0-20261101"
    assert group["scalingConfig"] == {"minSize": 1, "maxSize": 8, "desiredSize": 1}
    assert group["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
    assert group["nodeRepairConfig"] == {"enabled": True}
    assert group["subnetIds"] == ["subnet-0a", "subnet-0b"]
    assert group["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "example.com/team", "value": "a", "effect": "NO_EXECUTE"},
    ]
    assert group["labels"]["gpufleet.dev/pool"] == "on-demand"
    assert group["tags"]["cost-center"] == "4711"
    assert not {"diskSize", "remoteAccess"} & set(group)


def test_machines_are_safe_and_large_enough_by_default(run: Any) -> None:
    template = made(run, "on-demand").one(TEMPLATE).inputs
    assert template["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }
    (disk,) = template["blockDeviceMappings"]
    assert disk["ebs"]["volumeSize"] == 200
    assert disk["ebs"]["encrypted"] == "true"
    tagged = {entry["resourceType"] for entry in template["tagSpecifications"]}
    assert tagged == {"instance", "volume", "network-interface"}
    assert not {"networkInterfaces", "vpcSecurityGroupIds", "instanceType"} & set(template)


def test_spot_is_the_groups_affair_with_every_type(run: Any) -> None:
    recording = made(run, "spot")
    group = recording.one(GROUP).inputs
    assert group["capacityType"] == "SPOT"
    assert group["instanceTypes"] == ["g5.2xlarge", "g5.4xlarge", "g5.xlarge"]
    assert "instanceMarketOptions" not in recording.one(TEMPLATE).inputs


def test_a_reservation_is_targeted_in_its_zone(run: Any) -> None:
    recording = made(run, "reservation")
    template = recording.one(TEMPLATE).inputs
    assert template["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-0aaaaaaaaaaaaaaaa"}
    }
    assert recording.one(GROUP).inputs["subnetIds"] == ["subnet-0b"]


def test_a_capacity_block_has_all_four_parts(run: Any) -> None:
    recording = made(run, "capacity-block")
    template, group = recording.one(TEMPLATE).inputs, recording.one(GROUP).inputs
    assert group["capacityType"] == "CAPACITY_BLOCK"
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["instanceType"] == "p5.48xlarge"
    assert "instanceTypes" not in group
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
    assert group["subnetIds"] == ["subnet-0a"]
    assert group["scalingConfig"]["desiredSize"] == 0
    assert group["tags"]["gpufleet.dev/capacity-block-until"] == "2026-12-20T11:30:00+00:00"
    assert recording.all(PLACEMENT) == []  # a block is placed close together by itself


def test_efa_interfaces_carry_the_cluster_and_the_efa_security_group(run: Any) -> None:
    recording = made(run, "capacity-block")
    group = recording.one(SECURITY_GROUP)
    assert group.inputs["vpcId"] == "vpc-01"
    for way in ("ingress", "egress"):
        assert group.inputs[way] == [{"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}]
    interfaces = recording.one(TEMPLATE).inputs["networkInterfaces"]
    assert {tuple(i["securityGroups"]) for i in interfaces} == {("sg-0c", "pool-efa-id")}
    assert [i["interfaceType"] for i in interfaces].count("efa-only") == 32
    assert "vpcSecurityGroupIds" not in recording.one(TEMPLATE).inputs


def test_the_card_without_efa_is_left_out(run: Any) -> None:
    recording = made(run, "efa-on-demand")
    interfaces = recording.one(TEMPLATE).inputs["networkInterfaces"]
    cards = {i["networkCardIndex"] for i in interfaces if i["interfaceType"] == "efa-only"}
    assert cards == set(range(1, 17))


def test_a_reservation_gets_no_placement_group_of_ours(run: Any) -> None:
    """A new group is never the reservation's own (eksctl-io/eksctl#7949 and PR 8220)."""
    recording = made(run, "efa-on-demand")
    assert recording.all(PLACEMENT) == []
    assert "placement" not in recording.one(TEMPLATE).inputs
    recording = made(run, "efa-on-demand", {"capacity": [{"on_demand": {}}]})
    placed = recording.one(TEMPLATE).inputs["placement"]
    assert placed == {"groupName": "made-placement-group"}
    assert recording.one(PLACEMENT).inputs["strategy"] == "cluster"


def test_local_disks_become_one_volume(run: Any) -> None:
    config = part(told(made(run, "slices")))
    assert config["apiVersion"] == "node.eks.aws/v1alpha1"
    assert config["spec"]["instance"] == {"localStorage": {"strategy": "RAID0"}}
    waits = "--node-labels=nvidia.com/gpu.deploy.device-plugin=paused-for-mig-change"
    assert config["spec"]["kubelet"] == {"flags": [waits]}


def test_bottlerocket_has_a_second_disk_and_settings(run: Any) -> None:
    recording = made(run, "bottlerocket")
    disks = recording.one(TEMPLATE).inputs["blockDeviceMappings"]
    sizes = [(d["deviceName"], d["ebs"]["volumeSize"]) for d in disks]
    assert sizes == [("/dev/xvda", 4), ("/dev/xvdb", 200)]
    assert recording.one(GROUP).inputs["amiType"] == "BOTTLEROCKET_x86_64_NVIDIA"
    assert "ephemeral-storage" in told(recording)


def test_arm_machines_get_the_arm_image(run: Any) -> None:
    assert made(run, "arm").one(GROUP).inputs["amiType"] == "AL2023_ARM_64_NVIDIA"


def test_an_image_of_ones_own_joins_by_user_data(run: Any) -> None:
    recording = made(run, "ubuntu")
    group, template = recording.one(GROUP).inputs, recording.one(TEMPLATE).inputs
    assert not {"amiType", "version", "releaseVersion"} & set(group)
    assert template["imageId"] == "ami-0123456789abcdef0"
    script = told(recording)
    assert script.startswith("#!/bin/bash")
    assert "/etc/eks/bootstrap.sh 'ml'" in script
    assert "--register-with-taints=nvidia.com/gpu=present:NoSchedule" in script
    assert "gpufleet.dev/pool=ubuntu" in script


def test_own_images_of_aws_kinds_join_in_their_own_words(run: Any) -> None:
    assert part(told(made(run, "own-al2023")))["spec"]["cluster"] == {
        "name": "ml",
        "apiServerEndpoint": "https://ml.example.com",
        "certificateAuthority": "Q0E=",
        "cidr": "172.20.0.0/16",
    }
    toml = told(made(run, "own-bottlerocket"))
    assert 'api-server = "https://ml.example.com"' in toml
    assert '"nvidia.com/gpu" = ["present:NoSchedule"]' in toml
    assert 'cluster-dns-ip = "172.20.0.10"' in toml
    assert "ephemeral-storage" not in toml


@pytest.mark.parametrize(
    ("services", "dns"),
    [
        ("172.20.0.0/16", "172.20.0.10"),
        ("10.200.64.0/18", "10.200.64.10"),  # neither of the two that scripts guess
        ("fd12:3456:789a::/108", "fd12:3456:789a::a"),
    ],
)
def test_nodes_are_told_the_name_server_of_their_cluster(run: Any, services: str, dns: str) -> None:
    script = told(made(run, "ubuntu", cluster_service_cidr=services))
    assert f"--dns-cluster-ip '{dns}'" in script
    family = f"--ip-family ipv6 --service-ipv6-cidr '{services}'"
    assert (family in script) is (":" in services)
    toml = told(made(run, "own-bottlerocket", cluster_service_cidr=services))
    assert f'cluster-dns-ip = "{dns}"' in toml
    config = part(told(made(run, "own-al2023", cluster_service_cidr=services)))
    assert config["spec"]["cluster"]["cidr"] == services


def test_an_autoscaled_group_is_tagged_on_the_scaling_group_and_on_itself(run: Any) -> None:
    recording = made(run, "slices")
    tags = {t.inputs["tag"]["key"]: t.inputs["tag"]["value"] for t in recording.all(TAG)}
    resources = "k8s.io/cluster-autoscaler/node-template/resources/"
    assert tags[f"{resources}nvidia.com/mig-1g.10gb"] == "56"
    assert tags[f"{resources}nvidia.com/gpu"] == "0"
    group = recording.one(GROUP).inputs
    assert set(tags) <= set(group["tags"])
    assert {t.inputs["autoscalingGroupName"] for t in recording.all(TAG)} == {"made-scaling-group"}
    assert "k8s.amazonaws.com/accelerator" not in group["labels"]  # nothing there to wait for
    whole = made(run, "capacity-block").one(GROUP).inputs["labels"]
    assert whole["k8s.amazonaws.com/accelerator"] == "nvidia-h100-80gb"


def test_a_group_with_part_of_a_gpu_says_so(run: Any) -> None:
    tags = made(run, "eighth").one(GROUP).inputs["tags"]
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"] == "1"


LIST = "aws:eks/getNodeGroups:getNodeGroups"
DESCRIBE = "aws:eks/getNodeGroup:getNodeGroup"
DESIRED = ["scalingConfig.desiredSize"]


def there(least: int, most: int, desired: int, **more: Any) -> dict[str, Any]:
    """Results of a cloud in which the pool `on-demand` has a group, and others too."""
    size = {"minSize": least, "maxSize": most, "desiredSize": desired}
    names = ["ml-on-demand-20261101a", "ml-on-demand-too-2026", "other"]
    group = {"scalingConfigs": [size], "tags": {"gpufleet.dev/pool": "on-demand"}, **more}
    return {LIST: {"names": names}, DESCRIBE: group}


@pytest.mark.parametrize(
    ("present", "nodes", "sent", "ignored"),
    [
        # declared bounds are 1 to 8
        (None, {"min": 1, "max": 8}, 1, DESIRED),
        ((1, 8, 5), {"min": 1, "max": 8}, 1, DESIRED),  # same bounds: nothing of it is sent
        ((1, 8, 5), {"min": 2, "max": 9}, 5, []),
        ((1, 8, 1), {"min": 3, "max": 8}, 3, []),  # EKS refuses a size below the minimum
        ((1, 8, 8), {"min": 1, "max": 4}, 4, []),  # and one above the maximum
        ((0, 8, 0), {"min": 0, "max": 9}, 0, []),
    ],
)
def test_a_size_is_set_once_and_moves_only_with_its_bounds(
    run: Any, present: Any, nodes: dict[str, int], sent: int, ignored: list[str]
) -> None:
    given = arguments("on-demand", {"nodes": nodes})
    answers = {} if present is None else there(*present)
    group = run(lambda: EksGpuNodeGroup("pool", given), answers).one(GROUP)
    assert group.inputs["scalingConfig"] == {
        "minSize": nodes["min"],
        "maxSize": nodes["max"],
        "desiredSize": sent,
    }
    assert group.ignored == ignored


def test_a_group_of_another_pool_is_not_taken_for_the_pools(run: Any) -> None:
    answers = there(0, 3, 3, tags={"gpufleet.dev/pool": "else"})
    group = run(lambda: EksGpuNodeGroup("pool", arguments("on-demand")), answers).one(GROUP)
    assert (group.inputs["scalingConfig"]["desiredSize"], group.ignored) == (1, DESIRED)


@pytest.mark.parametrize(
    "answer", ["ResourceNotFoundException: No cluster found for name: ml", {}, None]
)
def test_a_cluster_that_is_yet_to_be_made_has_no_groups(run: Any, answer: Any) -> None:
    name = "ml" if answer is not None else pulumi.Output.from_input("ml")
    given = arguments("on-demand", cluster_name=name)
    answers = {LIST: "never asked" if answer is None else answer}
    recording = run(lambda: EksGpuNodeGroup("pool", given), answers)
    assert (recording.one(GROUP).ignored, recording.warnings) == (DESIRED, [])


def test_a_size_that_may_not_be_asked_for_is_said(run: Any) -> None:
    answers = {LIST: "AccessDeniedException: eks:ListNodegroups"}
    recording = run(lambda: EksGpuNodeGroup("pool", arguments("on-demand")), answers)
    assert recording.one(GROUP).ignored == DESIRED
    (warned,) = recording.warnings
    assert "allow eks:ListNodegroups and eks:DescribeNodegroup, or refresh first" in warned


def test_an_imported_group_is_managed_with_the_size_it_has(run: Any) -> None:
    pool = {"import_id": "ml:old", "eks": {"imported": "manage"}, "nodes": {"min": 0, "max": 9}}
    answers = {DESCRIBE: there(0, 3, 3)[DESCRIBE]}
    group = run(lambda: EksGpuNodeGroup("pool", arguments("on-demand", pool)), answers).one(GROUP)
    assert group.inputs["scalingConfig"] == {"minSize": 0, "maxSize": 9, "desiredSize": 3}
    assert "scalingConfig.desiredSize" not in group.ignored
    assert "launchTemplate" in group.ignored
    adopted = {"import_id": "ml:old"}
    group = run(lambda: EksGpuNodeGroup("pool", arguments("on-demand", adopted))).one(GROUP)
    assert "scalingConfig" in group.ignored


def test_an_imported_group_keeps_its_template(run: Any) -> None:
    recording = made(run, "on-demand", {"import_id": "ml:old-group"})
    assert recording.all(TEMPLATE) == []
    group = recording.one(GROUP).inputs
    assert group["nodeGroupName"] == "old-group"
    assert "launchTemplate" not in group


def test_further_security_groups_do_not_drive_out_the_clusters(run: Any) -> None:
    template = made(run, "on-demand", security_group_ids=["sg-x"]).one(TEMPLATE).inputs
    assert template["vpcSecurityGroupIds"] == ["sg-0c", "sg-x"]


def test_ids_may_be_outputs(run: Any) -> None:
    subnets = {"us-east-1a": pulumi.Output.from_input("subnet-later")}
    recording = made(run, "on-demand", subnet_ids_by_zone=subnets)
    assert recording.one(GROUP).inputs["subnetIds"] == ["subnet-later"]


def test_raw_arguments_are_merged_last(run: Any) -> None:
    raw = {"node_group": {"updateConfig": {"maxUnavailablePercentage": 50}}}
    recording = made(run, "on-demand", {"eks": raw | {"launch_template": {"ebsOptimized": "true"}}})
    assert recording.one(GROUP).inputs["updateConfig"] == {"maxUnavailablePercentage": 50}
    assert recording.one(TEMPLATE).inputs["ebsOptimized"] == "true"


@pytest.mark.parametrize(
    ("case", "pool", "connection", "said"),
    [
        ("on-demand", {"fabric": "efa", "gpus_per_node": 8}, {}, "EFA traffic does not leave"),
        ("on-demand", {"provisioner": "karpenter"}, {}, "for managed, clusterAutoscaler"),
        ("capacity-block", {}, {"vpc_id": None}, "connection-missing: vpcId"),
        ("capacity-block", {}, {"cluster_security_group_id": None}, "clusterSecurityGroupId"),
        (
            "on-demand",
            {"eks": {"launch_template": {"networkInterfaces": [{"networkCardIndex": 0}]}}},
            {"cluster_security_group_id": None},
            "connection-missing: clusterSecurityGroupId",
        ),
        ("ubuntu", {}, {"cluster_endpoint": None}, "connection-missing: clusterEndpoint"),
        (
            "on-demand",
            {},
            {"security_group_ids": ["sg-x"], "cluster_security_group_id": None},
            "EKS does not add it to machines that name security groups",
        ),
        ("on-demand", {}, {"node_role_arn": "nodes"}, "'nodes' is not an ARN of an IAM role"),
        ("ubuntu", {}, {"cluster_service_cidr": "172.20.0.0"}, "is not an address range"),
        ("reservation", {}, {"subnet_ids_by_zone": {"us-east-1a": "s"}}, "needs us-east-1b"),
        ("on-demand", {}, {"subnet_ids_by_zone": {}}, "no subnet is given"),
        ("on-demand", {"eks": {"node_group": {"diskSize": 100}}}, {}, "node-group-disk-size"),
        ("on-demand", {}, {"environmnt": "prod"}, "nearest: environment"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    run: Any, case: str, pool: dict[str, Any], connection: dict[str, Any], said: str
) -> None:
    assert said in refused(run, case, pool, **connection)
