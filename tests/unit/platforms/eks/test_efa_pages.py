"""Huge pages that autoscalers know, and that pods request, exist on each machine.

Expected values: EFA's script sets 110 MiB aside for each of two endpoints of each processor, and
one page (bottlerocket-os/bottlerocket-core-kit PR 141, review of `compute_hugepages_for_efa`).
Published `kubectl describe node`: 21122Mi with 96 processors (p4de, p3dn), 42242Mi with 192 (p5).
The Amazon EKS user guide states 5128 pages, and its example requests 5120Mi.
"""

import pytest

from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.efa import least_pages, node_huge_pages
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform

SCRIPT = {16: 3522, 32: 7042, 96: 21122, 192: 42242}
"""Processors -> MiB that nodes show."""


@pytest.mark.parametrize(
    ("machine", "image", "node", "pod"),
    [
        ("p5.4xlarge", "al2023-nvidia", 3522, 3522),
        ("g6e.8xlarge", "al2023-nvidia", 7042, 5120),
        ("p4d.24xlarge", "al2023-nvidia", 10256, 5120),
        ("p5.48xlarge", "al2023-nvidia", 10256, 5120),
        # The number is a setting of the node there.
        ("p5.4xlarge", "bottlerocket-nvidia", 10256, 5120),
    ],
)
def test_no_node_is_promised_more_than_it_has(
    machine: str, image: str, node: int, pod: int
) -> None:
    data = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
        "pools": [
            {
                "name": "p",
                "instanceTypes": [machine],
                "nodes": {"min": 0, "max": 2},
                "fabric": "efa",
                "image": image,
                "zones": ["us-east-1a"],
                "capacity": [{"spot": {}}],
            }
        ],
    }
    result = compile_data(data)
    assert result.fleet is not None, result.findings
    (made,) = result.fleet.pools
    assert node_huge_pages(made) == {"hugepages-2Mi": f"{node}Mi"}
    limits = platform_rules(PLATFORMS[Platform.EKS]).fabric_request(made).limits
    assert limits["hugepages-2Mi"] == f"{pod}Mi"
    if image.startswith("al2023"):
        assert least_pages(made) * 2 <= SCRIPT[made.machines[0].vcpu or 0]
