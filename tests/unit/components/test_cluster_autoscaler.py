import json
import re
from typing import Any

import pytest

from gpufleet import ClusterAutoscaler
from gpufleet.components_base.inputs import InvalidArgumentsError

RELEASE = "kubernetes:helm.sh/v3:Release"
POOLS: list[dict[str, Any]] = [
    {
        "name": "block",
        "instance_types": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 2},
        "provisioner": "clusterAutoscaler",
        "capacity": [
            {
                "capacity_block": {
                    "id": "cr-0123456789abcdef0",
                    "zone": "us-east-1a",
                    "until": "2026-12-20T11:30:00Z",
                }
            }
        ],
    },
    {
        "name": "chat",
        "gpu": "L4",
        "nodes": {"min": 0, "max": 2},
        "provisioner": "clusterAutoscaler",
    },
]


def arguments(**changes: Any) -> Any:
    given = {
        "catalogue": "2026.11",
        "cluster_name": "ml",
        "region": "us-east-1",
        "name_prefix": "ml",
    }
    return {**given, **changes}


def values(run: Any, **changes: Any) -> dict[str, Any]:
    recording = run(lambda: ClusterAutoscaler("scaler", arguments(**changes)))
    return recording.one(RELEASE).inputs["values"]


@pytest.mark.parametrize(("minor", "program"), [("1.36", "v1.36.1"), ("1.35", "v1.35.0")])
def test_the_program_is_matched_to_the_cluster(run: Any, minor: str, program: str) -> None:
    found = values(run, kubernetes_version=minor)
    assert found["image"]["tag"] == program
    assert found["autoDiscovery"] == {"clusterName": "ml"}
    assert found["extraArgs"]["expander"] == "least-waste"
    assert "enable-provisioning-requests" not in found["extraArgs"]
    assert "kube-api-content-type" not in found["extraArgs"]


def test_what_is_paid_for_comes_first_and_no_group_is_left_out(run: Any) -> None:
    found = values(run, settings={"expander": "priority"}, pools=POOLS)
    assert found["expanderPriorities"] == {
        "50": ["^eks-ml-block-[0-9a-f]{7,26}-[0-9a-f]{8}-"],
        "10": ["^eks-ml-chat-[0-9a-f]{7,26}-[0-9a-f]{8}-"],
        "1": [".*"],
    }


UUID = "0fc2d3a4-1b2c-3d4e-5f60-718293a4b5c6"
SCALED = {"gpu": "L4", "nodes": {"min": 0, "max": 2}, "provisioner": "clusterAutoscaler"}


@pytest.mark.parametrize(
    ("group", "rank"),
    [
        (f"eks-ml-chat-0a1b2c3-{UUID}", 30),
        (f"eks-ml-chat-20261101120000000100000001-{UUID}", 30),
        (f"eks-ml-chat-large-0a1b2c3-{UUID}", 10),  # not spot, in spite of the same prefix
        (f"eks-by-hand-{UUID}", 30),
        (f"eks-by-hand-too-{UUID}", 1),
        ("somebody-elses", 1),
    ],
)
def test_a_group_has_the_priority_of_its_own_pool(run: Any, group: str, rank: int) -> None:
    pools = [
        {**SCALED, "name": "chat", "capacity": [{"spot": {}}]},
        {**SCALED, "name": "chat-large"},
        {**SCALED, "name": "taken", "capacity": [{"spot": {}}], "import_id": "ml:by-hand"},
    ]
    found = values(run, settings={"expander": "priority"}, pools=pools)["expanderPriorities"]
    matching = [
        int(priority)
        for priority, patterns in found.items()
        if any(re.search(pattern, group) for pattern in patterns)
    ]
    assert max(matching) == rank  # as the expander decides: the highest that matches


def test_provisioning_requests_are_answered_when_asked_for(run: Any) -> None:
    found = values(run, settings={"provisioning_requests": True})
    assert found["extraArgs"]["enable-provisioning-requests"] is True
    # Without it v1.35.0 never accepts a request (kubernetes/autoscaler#8855).
    assert found["extraArgs"]["kube-api-content-type"] == "application/json"


def test_it_changes_groups_of_its_cluster_only(run: Any) -> None:
    recording = run(lambda: ClusterAutoscaler("scaler", arguments()))
    policy = json.loads(recording.one("aws:iam/rolePolicy:RolePolicy").inputs["policy"])
    read, write = policy["Statement"]
    assert "eks:DescribeNodegroup" in read["Action"]
    assert write["Condition"]["StringEquals"] == {
        "aws:ResourceTag/k8s.io/cluster-autoscaler/ml": "owned"
    }
    assert "scaler-identity" in recording.one(RELEASE).depends_on


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"platform": "gke"}, "gke has its own autoscaler"),
        ({"kubernetes_version": "1.30"}, "no program for Kubernetes 1.30 is pinned"),
        ({"settings": {"expander": "cheapest"}}, "settings.expander"),
        ({"tags": {"team": "R&D"}}, "tag-characters: tags.team"),
        ({"pools": [{"name": "x", "gpu": "L5", "nodes": {"min": 0, "max": 1}}]}, "gpu-unknown"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    run: Any, wrong: Any, said: str
) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            ClusterAutoscaler("scaler", arguments(**wrong))
        assert said in str(caught.value)

    assert run(program).resources == []


def test_a_program_that_is_named_needs_no_pin(run: Any) -> None:
    named = {"values": {"image": {"tag": "v1.34.2"}}}
    assert values(run, kubernetes_version="1.34", settings=named)["image"]["tag"] == "v1.34.2"
