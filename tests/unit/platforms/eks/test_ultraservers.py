"""Pools of UltraServers. Expected values: Amazon EKS user guide, ml-eks-nvidia-ultraserver."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform

BLOCK = {
    "id": "cr-0123456789abcdef0",
    "zone": "us-east-1a",
    "starts": "2026-12-01T11:30:00Z",
    "until": "2026-12-20T11:30:00Z",
}


def codes(machine: str, most: int, version: str = "1.36", **pool: Any) -> dict[str, str]:
    data = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": version},
        "pools": [
            {
                "name": "ultra",
                "instanceTypes": [machine],
                "nodes": {"min": 0, "max": most},
                "capacity": [{"capacityBlock": BLOCK}],
                **pool,
            }
        ],
    }
    found = compile_data(data).findings
    return {one.code: one.severity.value for one in found if one.code.startswith("ultraserver")}


@pytest.mark.parametrize(
    ("machine", "most", "whole"),
    [
        ("p6e-gb200.36xlarge", 9, True),
        ("p6e-gb200.36xlarge", 18, True),
        ("p6e-gb200.36xlarge", 4, False),
        ("trn2u.48xlarge", 4, True),
        ("trn2u.48xlarge", 8, True),
        ("trn2u.48xlarge", 6, False),
        ("p5.48xlarge", 7, True),
    ],
)
def test_a_block_is_of_whole_ultraservers(machine: str, most: int, whole: bool) -> None:
    assert codes(machine, most) == ({} if whole else {"ultraserver-in-part": "warning"})


def test_nvlink_between_machines_needs_claims_which_karpenter_does_not_serve() -> None:
    found = {"ultraserver-claims-with-karpenter": "warning"}
    assert codes("p6e-gb200.36xlarge", 18, provisioner="karpenter") == found
    assert codes("trn2u.48xlarge", 4, provisioner="karpenter") == {}


def test_older_clusters_have_no_p6e() -> None:
    assert codes("p6e-gb200.36xlarge", 18, "1.32") == {"ultraserver-kubernetes-too-old": "error"}


def test_coherent_memory_has_no_mig() -> None:
    mig = {"mig": {"layouts": [{"devices": {"1g.23gb": 7}}]}}
    assert codes("p6e-gb200.36xlarge", 18, sharing=mig) == {"ultraserver-without-mig": "error"}


@pytest.mark.parametrize(
    ("machine", "disks", "each"),
    [
        ("p6e-gb200.36xlarge", 3, 7500),
        ("trn2u.48xlarge", 4, 1900),
        ("trn2.3xlarge", 1, 470),
    ],
)
def test_local_disks_are_known(machine: str, disks: int, each: int) -> None:
    """EC2 User Guide, accelerated computing, instance store specifications."""
    assert load("2026.11").instance(machine).local_nvme_bytes == disks * each * 10**9


def test_each_gpu_of_gb200_has_one_efa() -> None:
    """Amazon EC2 User Guide, `efa-for-p6e`: card 0 has IP traffic only, cards 1 and 3, 5 and 7, 9
    and 11, 13 and 15 share a GPU, and one of each pair reaches all its bandwidth. Amazon EKS user
    guide: such a node then has 4 devices."""
    data = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
        "pools": [
            {
                "name": "ultra",
                "instanceTypes": ["p6e-gb200.36xlarge"],
                "fabric": "efa",
                "nodes": {"min": 0, "max": 9},
                "capacity": [{"capacityBlock": BLOCK}],
            }
        ],
    }
    result = compile_data(data)
    assert [one for one in result.findings if one.severity.value == "error"] == []
    (pool,) = result.fleet.pools
    shape = eks_shape(pool)
    assert [(one.card, one.device, one.kind) for one in shape.interfaces] == [
        (0, 0, "interface"),
        (1, 0, "efa-only"),
        (5, 0, "efa-only"),
        (9, 0, "efa-only"),
        (13, 0, "efa-only"),
    ]
    limits = platform_rules(PLATFORMS[Platform.EKS]).fabric_request(pool).limits
    assert limits["vpc.amazonaws.com/efa"] == "4"
