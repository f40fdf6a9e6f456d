"""EKS Auto Mode. Expected values are those of the Amazon EKS user guide (see `auto_mode`)."""

from decimal import Decimal
from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import NodeChangeKind
from gpufleet.contract.owners import Owner
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import node_pool
from gpufleet.platforms.eks.shape import eks_shape

BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
CHAT: dict[str, Any] = {"gpu": "L4"}


def data(pool: dict[str, Any], *others: dict[str, Any], **fleet: Any) -> dict[str, Any]:
    base = {"nodes": {"min": 0, "max": 4}}
    pools = [{"name": "chat", "provisioner": "autoMode", **base, **pool}]
    pools += [{"name": f"other-{i}", **base, **one} for i, one in enumerate(others)]
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": pools,
        **fleet,
    }


def fleet_of(pool: dict[str, Any], *others: dict[str, Any], **fleet: Any) -> Fleet:
    compiled = compile_data(data(pool, *others, **fleet))
    assert compiled.fleet is not None, compiled.findings
    assert compiled.deployable, compiled.findings
    return compiled.fleet


def codes(pool: dict[str, Any], *others: dict[str, Any], **fleet: Any) -> dict[str, str]:
    """Code -> severity of the findings that Auto Mode causes."""
    found = compile_data(data(pool, *others, **fleet)).findings
    return {
        one.code: one.severity.value
        for one in found
        if "auto-mode" in one.code and one.code != "auto-mode-fee"
    }


def made(pool: dict[str, Any], **fleet: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """NodePool and NodeClass."""
    whole = fleet_of(pool, **fleet)
    one = whole.pools[0]
    shape = eks_shape(one)
    return node_pool(one, shape), node_class(one, shape, "ml", whole.spec.tags, "gpufleet-chat")


def test_the_objects_are_those_of_auto_mode() -> None:
    pool, cls = made({**CHAT, "disk": {"sizeGib": 160}, "zones": ["us-east-1a"]})
    template = pool["spec"]["template"]
    assert pool["apiVersion"] == "karpenter.sh/v1"
    assert template["spec"]["nodeClassRef"] == {
        "group": "eks.amazonaws.com",
        "kind": "NodeClass",
        "name": "gpufleet-chat",
    }
    keys = [one["key"] for one in template["spec"]["requirements"]]
    assert keys == [  # create-node-pool: kubernetes.io/os is not supported
        "node.kubernetes.io/instance-type",
        "kubernetes.io/arch",
        "karpenter.sh/capacity-type",
        "topology.kubernetes.io/zone",
    ]
    assert pool["spec"]["limits"] == {"nodes": "4", "nvidia.com/gpu": "4"}
    assert template["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] == "false"
    assert (cls["apiVersion"], cls["kind"]) == ("eks.amazonaws.com/v1", "NodeClass")
    assert cls["spec"] == {"ephemeralStorage": {"size": "160Gi"}}


def test_reservations_and_blocks_are_named_in_the_node_class() -> None:
    pool, cls = made({"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": BLOCK}]})
    assert cls["spec"]["capacityReservationSelectorTerms"] == [{"id": BLOCK["id"]}]
    bought = pool["spec"]["template"]["spec"]["requirements"][2]
    assert bought == {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]}


def test_tags_are_written_only_where_the_fleet_has_some() -> None:
    """auto-learn-iam: the managed policies allow no custom tag."""
    assert "tags" not in made(CHAT)[1]["spec"]
    _, cls = made(CHAT, tags={"cost": "1"})
    assert cls["spec"]["tags"] == {"cost": "1"}
    assert codes(CHAT, tags={"cost": "1"}) == {"auto-mode-tags-need-permission": "info"}


@pytest.mark.parametrize(
    ("intent", "policy", "expiry", "grace"),
    [
        ("training", "WhenEmpty", 480, 24),
        ("batch", "WhenEmpty", 336, 4),
        ("inference", "WhenEmptyOrUnderutilized", 336, 1),
        ("interactive", "WhenEmpty", 336, 8),
    ],
)
def test_no_node_is_meant_to_live_longer_than_aws_lets_it(
    intent: str, policy: str, expiry: int, grace: int
) -> None:
    pool, _ = made({**CHAT, "intent": intent})
    life = pool["spec"]["template"]["spec"]
    assert pool["spec"]["disruption"]["consolidationPolicy"] == policy
    assert (life["expireAfter"], life["terminationGracePeriod"]) == (f"{expiry}h", f"{grace}h")
    assert expiry + grace <= 21 * 24
    assert codes({**CHAT, "intent": intent}) == {}


def test_aws_brings_driver_toolkit_and_plugin_and_nothing_of_ours_is_installed() -> None:
    fleet = fleet_of(CHAT, {"provisioner": "autoMode", "instanceTypes": ["trn1.2xlarge"]})
    for pool in fleet.pools:
        owners = pool.owners
        assert {owners.driver, owners.toolkit, owners.device_plugin} == {Owner.IMAGE}
    assert not fleet.addons.gpu_operator.enabled
    assert not fleet.addons.device_plugin.enabled
    assert not fleet.addons.neuron.enabled


@pytest.mark.parametrize(
    "sharing",
    [
        {"timeSlicing": {"replicas": 4}},
        {"mps": {"replicas": 4}},
        {"dra": {}},
    ],
)
def test_sharing_is_refused(sharing: dict[str, Any]) -> None:
    """device-management-nvidia-time-slicing and -dra-device-plugin: not on EKS Auto Mode."""
    assert codes({**CHAT, "sharing": sharing}).get("auto-mode-sharing") == "error"


def test_mig_is_refused() -> None:
    """device-management-nvidia-mig, "No support on EKS Auto Mode"."""
    mig = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
    pool = {"instanceTypes": ["p5.48xlarge"], "sharing": mig}
    assert codes(pool) == {"auto-mode-sharing": "error"}


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        ({"instanceTypes": ["g6f.large"]}, "auto-mode-instance-type"),
        ({"instanceTypes": ["p5.48xlarge"], "fabric": "efa"}, "auto-mode-efa"),
        ({**CHAT, "image": "al2023-nvidia"}, "auto-mode-image"),
        ({**CHAT, "image": "eks-auto", "provisioner": "managed"}, "auto-mode-image"),
        ({**CHAT, "eks": {"amiId": "ami-0123456789abcdef0"}}, "auto-mode-decides"),
        ({**CHAT, "eks": {"metadataHopLimit": 2}}, "auto-mode-decides"),
        ({**CHAT, "eks": {"nodeRepair": False}}, "auto-mode-decides"),
        ({**CHAT, "eks": {"nodeGroup": {"remoteAccess": {}}}}, "auto-mode-decides"),
        (
            {
                **CHAT,
                "karpenter": {
                    "requirements": [
                        {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["3"]}
                    ]
                },
            },
            "auto-mode-label",
        ),
    ],
)
def test_what_aws_decides_or_does_not_have_is_refused(pool: dict[str, Any], code: str) -> None:
    assert codes(pool) == {code: "error"}


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        ({**CHAT, "karpenter": {"expireAfter": "Never"}}, "auto-mode-lifetime"),
        ({**CHAT, "karpenter": {"expireAfter": "504h"}}, "auto-mode-lifetime"),
        ({**CHAT, "eks": {"localStorage": "none"}}, "auto-mode-local-disks"),
        (
            {**CHAT, "eks": {"localStorage": "raid0"}, "disk": {"sizeGib": 4000}},
            "auto-mode-local-disks",
        ),
        (
            {**CHAT, "karpenter": {"disruption": {"consolidationPolicy": "Balanced"}}},
            "auto-mode-policy-not-known",
        ),
    ],
)
def test_what_aws_does_otherwise_is_reported(pool: dict[str, Any], code: str) -> None:
    assert codes(pool) == {code: "warning"}


def test_a_second_karpenter_is_refused_unless_it_is_there_already() -> None:
    own = {"gpu": "L4", "provisioner": "karpenter"}
    assert codes(CHAT, own) == {"karpenter-beside-auto-mode": "error"}
    there = {"karpenter": {"ownership": "existing"}}
    assert codes(CHAT, own, addons=there) == {}
    assert codes(CHAT, {"gpu": "L4", "provisioner": "managed"}) == {}


@pytest.mark.parametrize(
    ("region", "machine", "listed", "fee"),
    [
        # AWS' price lists AmazonEC2 and AmazonEKS, September and October 2026.
        ("ap-northeast-1", "g6.xlarge", "1.1672", "0.09104"),
        ("ap-northeast-2", "g6.xlarge", "0.9896", "0.07719"),
        ("ap-northeast-2", "g5.xlarge", "1.237", "0.09649"),
    ],
)
def test_the_fee_is_that_of_the_price_list(
    region: str, machine: str, listed: str, fee: str
) -> None:
    pool = {"instanceTypes": [machine], "nodes": {"min": 2, "max": 3}}
    fleet = fleet_of(pool, cluster={"name": "ml", "region": region})
    one = Decimal(listed) + Decimal(fee)
    assert fleet.pools[0].hourly_usd == one
    assert fleet.spend.usd(fleet.spend.minimum) == 2 * one
    assert fleet.spend.usd(fleet.spend.maximum) == 3 * one


def test_the_fee_is_paid_for_spot_and_for_blocks_too() -> None:
    """60 % less than 12 % of the list price (July 2026): 4.8 % of 55.04 USD."""
    fee = Decimal("2.64192")
    paid = {"capacityBlock": {**BLOCK, "usdPerHour": "31.464"}}
    for capacity in ([paid], [{"spot": {}}], [{"onDemand": {}}]):
        pool = {"instanceTypes": ["p5.48xlarge"], "capacity": capacity}
        managed = fleet_of(pool).pools[0].spend.maximum
        own = fleet_of({**pool, "provisioner": "karpenter"}).pools[0].spend.maximum
        assert isinstance(managed, int)
        assert isinstance(own, int)
        assert managed - own == 4 * fee * 1_000_000


def test_a_fee_that_no_source_has_is_named() -> None:
    def named(pool: dict[str, Any]) -> str:
        found = [one for one in compile_data(data(pool)).findings if one.code == "auto-mode-fee"]
        assert [one.severity.value for one in found] == ["info"]
        return found[0].message

    assert "contains it" in named({"instanceTypes": ["g6.xlarge"]})
    assert "does not contain the fee of gr6.4xlarge" in named({"instanceTypes": ["gr6.4xlarge"]})


def test_a_change_of_the_provisioner_makes_new_nodes() -> None:
    old, new = fleet_of({**CHAT, "provisioner": "karpenter"}), fleet_of(CHAT)
    (change,) = change_plan(old, new).pools
    assert change.kind in {NodeChangeKind.NEW_NODES, NodeChangeKind.NEW_POOL}
