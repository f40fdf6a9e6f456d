from typing import Any

import pytest

from gpufleet import KarpenterGpuNodePool
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.unit.components.eks_pools import NODES, arguments
from tests.unit.components.snapshots import assert_snapshot

CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
POOL = "kubernetes:karpenter.sh/v1:NodePool"
OVERLAY = "kubernetes:karpenter.sh/v1alpha1:NodeOverlay"
SPOT = [{"spot": {}}, {"on_demand": {}}]
BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}

POOLS: dict[str, dict[str, Any]] = {
    "chat": {
        "gpu": "L4",
        "nodes": {"min": 0, "max": 8},
        "capacity": SPOT,
        "sharing": {"time_slicing": {"replicas": 4}},
        "eks": {"release_version": "1.36.0-20261101"},
    },
    "notebooks": {
        "instance_types": ["p4de.24xlarge"],
        "nodes": NODES,
        "intent": "interactive",
        "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
    },
    "eighth": {"instance_types": ["g6f.large", "g6f.xlarge"], "nodes": NODES, "intent": "batch"},
    "training": {
        "instance_types": ["p5.48xlarge"],
        "nodes": NODES,
        "intent": "training",
        "fabric": "efa",
        "zones": ["us-east-1a"],
    },
    "block": {
        "instance_types": ["p5.48xlarge"],
        "nodes": NODES,
        "intent": "training",
        "capacity": [{"capacity_block": BLOCK}],
    },
    "bottlerocket": {
        "gpu": "L40S",
        "nodes": NODES,
        "image": "bottlerocket-nvidia",
        "eks": {"release_version": "1.52.0-7a6b3c1d"},
    },
    "ubuntu": {
        "gpu": "L4",
        "nodes": NODES,
        "image": "ubuntu-eks",
        "eks": {"ami_id": "ami-0123456789abcdef0"},
    },
}


def made(run: Any, case: str, pool: dict[str, Any] | None = None, **connection: Any) -> Any:
    given = arguments(f"{case}-pool", {**POOLS[case], **(pool or {})}, **connection)
    return run(lambda: KarpenterGpuNodePool("pool", given))


@pytest.mark.parametrize("case", POOLS)
def test_the_exact_inputs(run: Any, case: str) -> None:
    assert_snapshot(f"karpenter-{case}", made(run, case))


def test_spot_falls_back_to_on_demand_and_the_image_is_pinned(run: Any) -> None:
    recording = made(run, "chat")
    pool = recording.one(POOL).inputs["spec"]
    needed = {entry["key"]: entry["values"] for entry in pool["template"]["spec"]["requirements"]}
    assert needed["karpenter.sh/capacity-type"] == ["on-demand", "spot"]
    assert needed["kubernetes.io/arch"] == ["amd64"]
    assert "g6.xlarge" in needed["node.kubernetes.io/instance-type"]
    (image,) = recording.one(CLASS).inputs["spec"]["amiSelectorTerms"]
    assert image == {"alias": "al2023@v20261101"}


def test_a_pool_is_always_limited(run: Any) -> None:
    limits = made(run, "chat").one(POOL).inputs["spec"]["limits"]
    assert limits == {"nodes": "8", "nvidia.com/gpu": "8", "nvidia.com/gpu.shared": "32"}
    limits = made(run, "notebooks").one(POOL).inputs["spec"]["limits"]
    assert limits["nvidia.com/mig-1g.10gb"] == str(56 * 4)


def test_shares_slices_and_parts_have_an_overlay_made_before_the_pool(run: Any) -> None:
    for case in ("chat", "notebooks", "eighth"):
        recording = made(run, case)
        assert "pool-overlay" in recording.one(POOL).depends_on
    assert recording.one(OVERLAY).inputs["spec"]["capacity"] == {"nvidia.com/gpu": "1"}
    overlay = made(run, "training").one(OVERLAY)
    assert overlay.inputs["spec"]["capacity"] == {"hugepages-2Mi": "10256Mi"}


@pytest.mark.parametrize(
    ("intent", "policy", "after", "expire"),
    [
        ("training", "WhenEmpty", "60m", "Never"),
        ("batch", "WhenEmpty", "10m", "720h"),
        ("inference", "Balanced", "5m", "720h"),
        ("interactive", "WhenEmpty", "30m", "720h"),
    ],
)
def test_disruption_follows_the_intent(
    run: Any, intent: str, policy: str, after: str, expire: str
) -> None:
    spec = made(run, "eighth", {"intent": intent}).one(POOL).inputs["spec"]
    assert spec["disruption"]["consolidationPolicy"] == policy
    assert spec["disruption"]["consolidateAfter"] == after
    assert spec["disruption"]["budgets"]
    assert "expireAfter" not in spec["disruption"]
    assert spec["template"]["spec"]["expireAfter"] == expire
    assert spec["template"]["spec"]["terminationGracePeriod"]


def test_efa_interfaces_are_listed_and_their_security_group_is_selected(run: Any) -> None:
    spec = made(run, "training").one(CLASS).inputs["spec"]
    assert len(spec["networkInterfaces"]) == 33
    assert spec["networkInterfaces"][0]["interfaceType"] == "interface"
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-0c"}, {"id": "pool-efa-id"}]
    assert spec["placementGroupSelector"] == {"name": "made-placement-group"}
    assert spec["subnetSelectorTerms"] == [{"id": "subnet-0a"}]


def test_a_placement_group_that_exists_is_selected_and_none_is_made(run: Any) -> None:
    """karpenter.k8s.aws/v1 EC2NodeClass v1.14.1: `placementGroupSelector` is a name or an id."""
    recording = made(run, "training", {"karpenter": {"placement_group": "near"}})
    assert recording.one(CLASS).inputs["spec"]["placementGroupSelector"] == {"name": "near"}
    assert recording.all("aws:ec2/placementGroup:PlacementGroup") == []


@pytest.mark.parametrize(
    "reserved",
    [
        {"karpenter": {"reservations": [{"tags": {"team": "vision"}}]}},
        {"capacity": [{"reserved": {"id": "cr-0bbbbbbbbbbbbbbbb", "zone": "us-east-1a"}}]},
    ],
)
def test_reservations_get_no_placement_group_of_ours(run: Any, reserved: dict[str, Any]) -> None:
    recording = made(run, "training", reserved)
    assert recording.all("aws:ec2/placementGroup:PlacementGroup") == []
    assert "placementGroupSelector" not in recording.one(CLASS).inputs["spec"]


def test_a_block_is_reserved_capacity_in_its_zone(run: Any) -> None:
    recording = made(run, "block")
    spec = recording.one(CLASS).inputs["spec"]
    assert spec["capacityReservationSelectorTerms"] == [{"id": "cr-0123456789abcdef0"}]
    requirements = recording.one(POOL).inputs["spec"]["template"]["spec"]["requirements"]
    needed = {entry["key"]: entry["values"] for entry in requirements}
    assert needed["karpenter.sh/capacity-type"] == ["reserved"]
    assert needed["topology.kubernetes.io/zone"] == ["us-east-1a"]


def test_reservations_may_be_found_by_tag_and_nodes_born_with_taints_of_others(run: Any) -> None:
    options = {
        "reservations": [{"tags": {"team": "vision"}}],
        "startup_taints": [{"key": "example.com/agent-not-ready", "value": "true"}],
        "weight": 5,
    }
    recording = made(run, "eighth", {"karpenter": options})
    terms = recording.one(CLASS).inputs["spec"]["capacityReservationSelectorTerms"]
    assert terms == [{"tags": {"team": "vision"}}]
    spec = recording.one(POOL).inputs["spec"]
    assert spec["weight"] == 5
    needed = {e["key"]: e["values"] for e in spec["template"]["spec"]["requirements"]}
    assert needed["karpenter.sh/capacity-type"] == ["on-demand", "reserved"]
    assert spec["template"]["spec"]["startupTaints"] == [
        {"key": "example.com/agent-not-ready", "value": "true", "effect": "NoSchedule"}
    ]


def test_the_role_is_named_without_its_path(run: Any) -> None:
    assert made(run, "chat").one(CLASS).inputs["spec"]["role"] == "nodes"


def test_an_unknown_image_family_registers_by_itself(run: Any) -> None:
    spec = made(run, "ubuntu").one(CLASS).inputs["spec"]
    assert spec["amiFamily"] == "Custom"
    assert "karpenter.sh/unregistered=true:NoExecute" in spec["userData"]


@pytest.mark.parametrize(
    ("pool", "connection", "said"),
    [
        ({"provisioner": "managed"}, {}, "this component makes nodes for karpenter"),
        ({"sharing": {"dra": {}}}, {}, "dra-with-karpenter"),
        ({"import_id": "ml:x"}, {}, "import-with-karpenter"),
        (
            {},
            {"cluster_security_group_id": None},
            "Karpenter's machines get only the security groups",
        ),
        ({}, {"environment": "prod"}, "deploying it to prod is refused"),
        ({}, {"tags": {"kubernetes.io/cluster/ml": "owned"}}, "its API rejects node classes"),
        ({"eks": {"node_group": {"version": "1.35"}}}, {}, "karpenter-decides"),
        (
            {"karpenter": {"placement_group": "near"}, "eks": {"placement_group": True}},
            {},
            "placement-group-twice",
        ),
        (
            {"provisioner": "autoMode", "karpenter": {"placement_group": "near"}},
            {},
            "is not known to select a placement group",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    run: Any, pool: dict[str, Any], connection: dict[str, Any], said: str
) -> None:
    given = arguments("chat", {"gpu": "L4", "nodes": NODES, **pool}, **connection)

    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            KarpenterGpuNodePool("pool", given)
        assert said in str(caught.value)

    assert run(program).resources == []
