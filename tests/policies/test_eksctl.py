"""Node groups of eksctl's ClusterConfig (eksctl-io/eksctl, pkg/apis/eksctl.io/v1alpha5)."""

from typing import Any

import pytest

from gpufleet.cluster.pool import Maker, NodePool
from gpufleet_policies.readers.documents import facts_of_document


def pools(group: dict[str, Any], listed: str = "managedNodeGroups") -> NodePool:
    document = {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "ml", "region": "us-east-1"},
        listed: [{"name": "gpu", "instanceType": "g6.xlarge", **group}],
    }
    (found,) = (one for one in facts_of_document(document) if isinstance(one, NodePool))
    return found


@pytest.mark.parametrize(
    ("written", "least", "most"),
    [
        ({}, 2, 2),
        ({"desiredCapacity": 3}, 3, 3),
        ({"minSize": 1}, 1, 1),
        ({"minSize": 0, "maxSize": 4}, 0, 4),
        ({"desiredCapacity": 2, "maxSize": 5}, 2, 5),
    ],
)
def test_sizes_that_are_not_written(written: dict[str, Any], least: int, most: int) -> None:
    """managed_nodegroup.go: two nodes by default."""
    size = pools(written).size
    assert (size.minimum.found, size.maximum.found) == (least, most)


def test_a_group_that_eks_does_not_manage() -> None:
    found = pools({"taints": {"nvidia.com/gpu": "true:NoSchedule"}}, "nodeGroups")
    assert (found.maker, found.gpu.found) == (Maker.AWS, "L4")
    (taint,) = found.taints.value
    assert (taint.key, taint.effect) == ("nvidia.com/gpu", "NoSchedule")


@pytest.mark.parametrize(
    ("written", "way"),
    [
        ({}, "onDemand"),
        ({"spot": True}, "spot"),
        ({"instanceMarketOptions": {"marketType": "capacity-block"}}, "capacityBlock"),
    ],
)
def test_how_it_is_bought(written: dict[str, Any], way: str) -> None:
    assert pools(written).capacity.value == {way}


def test_a_reservation() -> None:
    target = {"capacityReservationID": "cr-1"}
    found = pools({"capacityReservation": {"capacityReservationTarget": target}})
    assert found.reservations == ("cr-1",)


@pytest.mark.parametrize(
    "group",
    [{"taints": 3}, {"minSize": "x"}, {"spot": "yes"}, {"labels": []}, {"placement": [1]}],
)
def test_wrong_types_are_unknown(group: dict[str, Any]) -> None:
    assert pools(group).name == "gpu"
