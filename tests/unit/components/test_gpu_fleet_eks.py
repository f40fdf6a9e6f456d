from typing import Any

import pytest

from gpufleet import GpuFleet
from gpufleet.components_base.inputs import InvalidArgumentsError

PIN = {"releaseVersion": "1.36.0-20261101"}
CONNECTION: dict[str, Any] = {
    "cluster_name": "ml",
    "node_role_arn": "arn:aws:iam::123456789012:role/nodes",
    "subnet_ids_by_zone": {"us-east-1a": "subnet-0a"},
    "vpc_id": "vpc-01",
    "cluster_security_group_id": "sg-0c",
}
POOLS: list[dict[str, Any]] = [
    {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}, "provisioner": "karpenter"},
    {
        "name": "scaled",
        "gpu": "L4",
        "nodes": {"min": 0, "max": 2},
        "provisioner": "clusterAutoscaler",
    },
    {
        "name": "far",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 2},
        "intent": "training",
        "fabric": "efa",
        "zones": ["us-east-1a"],
    },
    {"name": "theirs", "gpu": "L4", "nodes": {"min": 1, "max": 1}, "ownership": "existing"},
]


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": POOLS,
        **changes,
    }


ENTRY = "aws:eks/accessEntry:AccessEntry"


def test_a_fleet_of_karpenter_alone_lets_its_machines_join(run: Any) -> None:
    def entries(pools: list[dict[str, Any]], **karpenter: Any) -> list[dict[str, Any]]:
        document = spec(pools=pools, addons={"karpenter": karpenter})
        program = {"spec": document, "connection": CONNECTION}
        return [one.inputs for one in run(lambda: GpuFleet("fleet", program)).all(ENTRY)]

    (entry,) = entries(POOLS[:1])
    assert entry == {
        "clusterName": "ml",
        "principalArn": CONNECTION["node_role_arn"],
        "type": "EC2_LINUX",
        "tags": {},
    }
    assert entries(POOLS[:1], accessEntry=False) == []
    assert entries(POOLS[:2]) == []  # EKS makes the entry of the managed group's role
    assert len(entries(POOLS[:2], accessEntry=True)) == 1


def test_each_pool_is_made_by_its_provisioner_after_the_add_ons(run: Any) -> None:
    recording = run(lambda: GpuFleet("fleet", {"spec": spec(), "connection": CONNECTION}))
    made = {one.name: one for one in recording.resources}
    assert made["fleet-chat"].type == "gpufleet:index:KarpenterGpuNodePool"
    assert made["fleet-scaled"].type == "gpufleet:index:EksGpuNodeGroup"
    assert made["fleet-far"].type == "gpufleet:index:EksGpuNodeGroup"
    assert "fleet-theirs" not in made
    assert {made[n].parent for n in ("fleet-chat", "fleet-scaled", "fleet-far")} == {"fleet"}
    types = {one.type.rsplit(":", 1)[1] for one in recording.resources}
    assert {
        "Karpenter",
        "ClusterAutoscaler",
        "EfaDevicePlugin",
        "NodeMonitoringAgent",
        "GpuAddons",
    } <= types
    # Made after, and removed before: Karpenter drains its nodes, and must still be there.
    waited = set(made["fleet-chat"].depends_on)
    assert {"fleet-karpenter-release", "fleet-addons-gpu-operator-release"} <= waited


def test_neurons_chart_comes_with_its_pools_and_no_gpu_operator(run: Any) -> None:
    pools = [
        {"name": "serve", "instanceTypes": ["inf2.xlarge"], "nodes": {"min": 0, "max": 2}},
        {
            "name": "far",
            "instanceTypes": ["trn1.32xlarge"],
            "nodes": {"min": 0, "max": 2},
            "intent": "training",
            "fabric": "efa",
            "zones": ["us-east-1a"],
        },
    ]
    given = {"spec": spec(pools=pools), "connection": CONNECTION}
    recording = run(lambda: GpuFleet("fleet", given))
    releases = {
        one.name: one.inputs for one in recording.resources if one.type.endswith(":Release")
    }
    assert set(releases) == {"fleet-addons-neuron-release", "fleet-efa-release"}
    chart = releases["fleet-addons-neuron-release"]
    assert chart["chart"] == "oci://public.ecr.aws/neuron/neuron-helm-chart"
    assert chart["version"] == "1.1.2"
    assert chart["values"]["neuronInstances"] == ["inf2.xlarge", "trn1.32xlarge"]
    assert chart["values"]["scheduler"] == {"enabled": True}
    tolerated = {one["key"] for one in releases["fleet-efa-release"]["values"]["tolerations"]}
    assert "aws.amazon.com/neuron" in tolerated
    groups = [
        one.inputs for one in recording.resources if one.type == "aws:eks/nodeGroup:NodeGroup"
    ]
    assert {group["amiType"] for group in groups} == {"AL2023_x86_64_NEURON"}


def test_the_gate_is_on_only_where_a_pool_needs_it(run: Any) -> None:
    def gates(**pool: Any) -> dict[str, Any]:
        declared = {"name": "one", "gpu": "L4", "nodes": {"min": 0, "max": 1}, **pool}
        fleet = spec(pools=[{**declared, "provisioner": "karpenter"}])
        recording = run(lambda: GpuFleet("fleet", {"spec": fleet, "connection": CONNECTION}))
        release = recording.one("kubernetes:helm.sh/v3:Release", "fleet-karpenter-release")
        return release.inputs["values"]["settings"]["featureGates"]

    assert gates()["nodeOverlay"] is False
    assert gates(sharing={"timeSlicing": {"replicas": 2}})["nodeOverlay"] is True
    assert gates(eks={"nodeRepair": False})["nodeRepair"] is False


def test_what_somebody_else_installs_is_not_installed(run: Any) -> None:
    theirs = {"ownership": "existing"}
    addons = {
        "karpenter": {**theirs, "nodeOverlay": True},
        "clusterAutoscaler": theirs,
        "efaDevicePlugin": {"enabled": False},
        "nodeMonitoringAgent": theirs,
    }
    fleet = spec(addons=addons)
    recording = run(lambda: GpuFleet("fleet", {"spec": fleet, "connection": CONNECTION}))
    types = {one.type.rsplit(":", 1)[1] for one in recording.resources}
    installed = {"Karpenter", "ClusterAutoscaler", "EfaDevicePlugin", "NodeMonitoringAgent"}
    assert not types & installed


@pytest.mark.parametrize(
    ("changes", "connection", "said"),
    [
        ({}, {"node_role_arn": None}, "connection.nodeRoleArn: pools on EKS need nodeRoleArn"),
        ({}, {"subnet_ids_by_zone": None}, "connection.subnetIdsByZone"),
        ({"environment": "prod"}, {}, "deploying it to prod is refused"),
        (
            {"cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.34"}},
            {},
            "no program for Kubernetes 1.34 is pinned",
        ),
        ({}, {"vpc_id": None}, "far needs vpcId"),
        ({}, {"cluster_security_group_id": None}, "chat needs clusterSecurityGroupId"),
        ({}, {"subnet_ids_by_zone": {"us-east-1b": "subnet-0b"}}, "far needs us-east-1a"),
        (
            {"pools": [{**POOLS[1], "labels": {f"example.com/l{i}": "x" for i in range(40)}}]},
            {},
            "an Auto Scaling group may have 50",
        ),
        (
            {
                "pools": [{**POOLS[1], "labels": {f"example.com/l{i}": "x" for i in range(30)}}],
                "tags": {f"t{i}": "x" for i in range(20)},
            },
            {},
            "tags are given, and a node group takes 50",
        ),
        (
            {
                "pools": [
                    {**POOLS[1], "name": "a" * 39 + "b", "capacity": [{"spot": {}}]},
                    {**POOLS[1], "name": "a" * 39 + "c"},
                ],
                "addons": {"clusterAutoscaler": {"expander": "priority"}},
            },
            {},
            "the priority expander would give both the higher priority",
        ),
    ],
)
def test_what_stands_in_the_way_is_said_before_anything_is_made(
    run: Any, changes: dict[str, Any], connection: dict[str, Any], said: str
) -> None:
    merged = {**CONNECTION, **connection}
    given: Any = {key: value for key, value in merged.items() if value is not None}

    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuFleet("fleet", {"spec": spec(**changes), "connection": given})
        assert said in str(caught.value)

    assert run(program).resources == []


def test_a_fleet_of_auto_mode_makes_its_two_objects_and_no_controller(run: Any) -> None:
    """Amazon EKS user guide, create-node-class: the access entry is of type EC2, with the policy
    AmazonEKSAutoNodePolicy."""
    auto = [{**POOLS[0], "provisioner": "autoMode"}]
    role = "arn:aws-us-gov:iam::123456789012:role/path/nodes"
    connection = {**CONNECTION, "node_role_arn": role}

    def made(**karpenter: Any) -> Any:
        document = spec(pools=auto, addons={"karpenter": karpenter})
        return run(lambda: GpuFleet("fleet", {"spec": document, "connection": connection}))

    quiet = made()
    types = {one.type for one in quiet.resources}
    assert not [one for one in types if "helm" in one or one.startswith("aws:")]
    (cls,) = quiet.all("kubernetes:eks.amazonaws.com/v1:NodeClass")
    assert cls.inputs["spec"] == {
        "ephemeralStorage": {"size": "200Gi"},
        "role": "nodes",
        "subnetSelectorTerms": [{"id": "subnet-0a"}],
        "securityGroupSelectorTerms": [{"id": "sg-0c"}],
    }
    joined = made(accessEntry=True)
    (entry,) = joined.all(ENTRY)
    assert (entry.inputs["principalArn"], entry.inputs["type"]) == (role, "EC2")
    (policy,) = joined.all("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
    assert policy.inputs["policyArn"] == (
        "arn:aws-us-gov:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"
    )
    assert policy.inputs["accessScope"] == {"type": "cluster"}
