"""GPUs with machine types of Google: existing combinations, and those that the cloud refuses.

Expected verdicts: Compute Engine documentation, GPU platforms (G2: L4, one to eight by size; A2:
A100; A3: eight H100, High also 1, 2, 4; N1: T4 1, 2, 4; V100 1, 2, 4, 8; no other families);
terraform-google-modules/terraform-google-kubernetes-engine#2608 (n2), skypilot-org/skypilot#212
(A100 on n1-highmem-8).
"""

import pytest

from tests.policies.cases.case import Case, manifest
from tests.policies.cases.pools import QUIET, gke_pool

RULE = "gke-accelerator-not-of-machine"


def found(machine: str, kind: str, count: int) -> int:
    pool = gke_pool(
        {
            "nodeConfig.machineType": machine,
            "nodeConfig.guestAccelerators": [{"type": kind, "count": count}],
        }
    )
    findings = Case(RULE, pool, pool, "", alongside=QUIET).findings(pool)
    return sum(one.code == RULE for one in findings)


@pytest.mark.parametrize(
    ("machine", "kind", "count"),
    [
        ("g2-standard-4", "nvidia-l4", 1),
        ("g2-standard-96", "nvidia-l4", 8),
        ("a2-highgpu-1g", "nvidia-tesla-a100", 1),
        ("a2-ultragpu-8g", "nvidia-a100-80gb", 8),
        ("a3-highgpu-8g", "nvidia-h100-80gb", 8),
        ("a3-highgpu-1g", "nvidia-h100-80gb", 1),
        ("n1-standard-8", "nvidia-tesla-t4", 1),
        ("n1-highmem-16", "nvidia-tesla-t4", 4),
        ("n1-custom-6-23040", "nvidia-tesla-v100", 1),
        ("a9-newgpu-8g", "nvidia-l4", 8),
    ],
)
def test_machines_that_exist(machine: str, kind: str, count: int) -> None:
    assert found(machine, kind, count) == 0


@pytest.mark.parametrize(
    ("machine", "kind", "count"),
    [
        ("g2-standard-4", "nvidia-l4", 4),
        ("g2-standard-48", "nvidia-tesla-t4", 4),
        ("a2-highgpu-1g", "nvidia-l4", 1),
        ("a2-highgpu-2g", "nvidia-tesla-a100", 1),
        ("n2-standard-2", "nvidia-tesla-t4", 1),
        ("e2-standard-8", "nvidia-l4", 1),
        ("n1-highmem-8", "nvidia-tesla-a100", 1),
        ("n1-standard-8", "nvidia-tesla-t4", 3),
        ("n1-standard-8", "nvidia-l4", 1),
    ],
)
def test_machines_that_the_cloud_refuses(machine: str, kind: str, count: int) -> None:
    assert found(machine, kind, count) == 1


@pytest.mark.parametrize(("count", "errors"), [(1, 0), (2, 0), (3, 1), (4, 0), (8, 0), (16, 1)])
def test_numbers_of_a_compute_class(count: int, errors: int) -> None:
    """GKE, About custom compute classes: `gpu` without a machine type; G2 has 1, 2, 4 or 8 L4."""
    one = manifest(
        {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": "gpu"},
            "spec": {
                "priorities": [{"gpu": {"type": "nvidia-l4", "count": count}}],
                "whenUnsatisfiable": "DoNotScaleUp",
            },
        }
    )
    findings = Case(RULE, one, one, "", alongside=QUIET).findings(one)
    assert sum(f.code == RULE for f in findings) == errors
