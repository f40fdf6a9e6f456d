"""The contract in words, and the chain of facts that findings print."""

from typing import Any

import pytest

from gpufleet.fleet.explained import contract_of
from tests.unit.contract.fleets import validated
from tests.unit.contract.test_public_reports import L4, PEERMEM, RDMA


def terms(platform: str, pool: dict[str, Any], **addons: Any) -> dict[str, str]:
    fleet = validated(platform, pool, **addons).fleet
    assert fleet is not None
    found = contract_of(fleet.pools[0], fleet)
    assert all(fact.fact and fact.source for term in found for fact in term.facts)
    return {term.part: term.who for term in found}


@pytest.mark.parametrize(
    ("platform", "pool", "addons", "part", "who"),
    [
        ("eks", L4, {}, "advertised", "by the GPU Operator's device plugin"),
        ("eks", L4 | {"image": "bottlerocket-nvidia"}, {}, "advertised", "by device plugin of"),
        ("gke", L4, {}, "advertised", "by GKE's device plugin"),
        ("eks", L4 | {"sharing": {"dra": {}}}, {}, "advertised", "by the DRA driver"),
        ("eks", L4, {}, "found by", "Node Feature Discovery of the GPU Operator"),
        ("vsphere", RDMA, {}, "found by", "Node Feature Discovery of the Network Operator"),
        ("vsphere", RDMA, {}, "NIC to GPU", "DMA-BUF, with the open kernel module"),
        (
            "vsphere",
            RDMA,
            {"gpuOperator": {"values": PEERMEM}, "networkOperator": {"ofed": "operator"}},
            "NIC to GPU",
            "nvidia-peermem, after DOCA-OFED (operator) is ready",
        ),
        (
            "eks",
            L4 | {"provisioner": "karpenter", "sharing": {"timeSlicing": {"replicas": 4}}},
            {},
            "Karpenter",
            "1 GPUs a node, corrected by a NodeOverlay",
        ),
    ],
)
def test_every_part_has_somebody(
    platform: str, pool: dict[str, Any], addons: dict[str, Any], part: str, who: str
) -> None:
    assert terms(platform, pool, **addons)[part].startswith(who)


def test_a_finding_prints_its_chain() -> None:
    compiled = validated("eks", L4, gpuOperator={"driver": {"enabled": True}})
    (found,) = [f for f in compiled.findings if f.code == "driver-installed-twice"]
    lines = str(found).splitlines()
    assert lines[1].startswith("    because chat runs image al2023-nvidia, which brings driver")
    assert lines[1].endswith("(catalogue image al2023-nvidia)")
    assert lines[-1].startswith("    fix: ")
    assert len(found.because) == len(lines) - 2
