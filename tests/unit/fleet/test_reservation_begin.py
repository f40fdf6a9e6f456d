"""A reservation that begins later gives no nodes, so a smallest size above 0 is a finding."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data

EKS = {"platform": "eks", "cluster": {"name": "a", "region": "us-east-1"}}
OPENSHIFT = {**EKS, "platform": "openshiftAws"}
GKE = {"platform": "gke", "cluster": {"name": "a", "region": "us-central1"}}
WINDOW = {"starts": "2027-01-10T00:00:00Z", "until": "2027-01-20T00:00:00Z"}
OF_AWS = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", **WINDOW}
OF_GOOGLE = {"id": "cal", "zone": "us-central1-a", **WINDOW}


def found(
    head: dict[str, Any],
    reserved: dict[str, Any],
    least: int = 2,
    day: int | None = None,
    **more: Any,
) -> list[Finding]:
    machine = "a3-ultragpu-8g" if head is GKE else "p5.48xlarge"
    pool = {
        "name": "p",
        "instanceTypes": [machine],
        "zones": [reserved.get("zone", "us-east-1a")],
        "nodes": {"min": least, "max": 2},
        "capacity": [{"reserved": reserved}],
        **more,
    }
    at = None if day is None else datetime(2027, 1, day, tzinfo=UTC)
    result = compile_data({"catalogue": "2026.11", **head, "pools": [pool]}, at=at)
    return [one for one in result.findings if one.code == "reservation-min-nodes"]


@pytest.mark.parametrize(
    ("head", "reserved"), [(EKS, OF_AWS), (OPENSHIFT, OF_AWS), (GKE, OF_GOOGLE)]
)
@pytest.mark.parametrize("day", [None, 9])
def test_nodes_before_the_beginning_are_a_finding(
    head: dict[str, Any], reserved: dict[str, Any], day: int | None
) -> None:
    (one,) = found(head, reserved, day=day)
    assert (one.severity.value, one.path) == ("warning", "pools[0].nodes.min")
    assert "2027-01-10" in one.message
    assert one.fix == "write 0, and scale when the reservation begins"


@pytest.mark.parametrize("head", [EKS, GKE])
def test_none_where_nodes_can_start_or_need_not(head: dict[str, Any]) -> None:
    reserved = OF_GOOGLE if head is GKE else OF_AWS
    assert found(head, reserved, least=0) == []
    assert found(head, reserved, day=10) == []
    assert found(head, {**reserved, "starts": None}) == []


def test_karpenter_starts_nodes_when_pods_wait() -> None:
    assert found(EKS, OF_AWS, provisioner="karpenter") == []


def test_a_resource_group_has_nodes_on_demand_besides() -> None:
    group = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
    assert found(EKS, {**OF_AWS, "id": group}) == []
