"""The layouts of a public EKS blueprint: two cannot exist, six leave compute slices unused.

awslabs/ai-on-eks `infra/base/terraform/argocd-addons/nvidia-gpu-operator.yaml`, the version with
MIG layouts inside (read 2026-11-21). The table in docs/partitioning.md is kept equal.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpufleet.catalogue import load
from gpufleet.findings import Severity
from gpufleet.partition.placement import MigPlacement
from gpufleet.partition.profile_name import written
from gpufleet.partition.validation import validate_layout

PAGE = Path(__file__).parents[3] / "docs" / "partitioning.md"
A100_40, A100_80, H100, B200 = "A100-40GB", "A100-80GB", "H100-80GB", "B200-180GB"
BALANCED = {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}
IMPOSSIBLE = [
    ("p4de-mixed-workload", A100_80, {"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1}),
    ("p6-b200-inference-optimized", B200, {"1g.23gb": 5, "2g.40gb": 1}),
]
WASTEFUL = [
    ("p4d-mixed-workload, GPUs 0 and 1", A100_40, {"1g.5gb": 4, "2g.10gb": 1}),
    ("p4d-mixed-workload, GPUs 2 and 3", A100_40, {"1g.5gb": 2, "3g.20gb": 1}),
    ("p4d-inference-optimized", A100_40, {"1g.5gb": 6}),
    ("p4de-inference-optimized", A100_80, {"1g.10gb": 4, "2g.20gb": 1}),
    ("p4de-training-optimized", A100_80, {"2g.20gb": 1, "3g.40gb": 1}),
    ("p5-inference-optimized", H100, {"1g.10gb": 4, "2g.20gb": 1}),
]
FULL = [
    ("p4d-half-balanced", A100_40, {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}),
    ("p4d-all-small", A100_40, {"1g.5gb": 7}),
    ("p4de-half-balanced", A100_80, BALANCED),
    ("p4de-all-small", A100_80, {"1g.10gb": 7}),
    ("p4de-training-optimized, GPUs 2 to 5", A100_80, {"7g.80gb": 1}),
    ("p5-half-balanced", H100, BALANCED),
    ("p5-all-small", H100, {"1g.10gb": 7}),
    ("p6-b200-half-balanced", B200, {"1g.23gb": 1, "2g.45gb": 1, "4g.90gb": 1}),
    ("p6-b200-all-small", B200, {"1g.23gb": 7}),
]


def validated(gpu: str, devices: Mapping[str, int]) -> list[tuple[str, Severity, str]]:
    """Code, severity and what to write instead, of every error and warning."""
    _, findings = validate_layout(load().gpu(gpu), devices, "want")
    severe = [f for f in findings if f.severity is not Severity.INFO]
    return [(f.code, f.severity, (f.fix or "").split("`")[1]) for f in severe]


@pytest.mark.parametrize(("name", "gpu", "devices"), IMPOSSIBLE)
def test_a_layout_that_cannot_exist(name: str, gpu: str, devices: dict[str, int]) -> None:
    _, findings = validate_layout(load().gpu(gpu), devices, "want")
    (finding,) = [f for f in findings if f.severity is Severity.ERROR]
    page = PAGE.read_text(encoding="utf-8")
    assert f"**`{name}`" in page
    assert f"    {str(finding).splitlines()[0].split(': ', 1)[1]}".strip() in page


@pytest.mark.parametrize(("name", "gpu", "devices"), WASTEFUL)
def test_a_layout_that_leaves_compute_unused(name: str, gpu: str, devices: dict[str, int]) -> None:
    ((code, severity, better),) = validated(gpu, devices)
    assert code == "mig-layout-unfinished"
    assert severity is Severity.WARNING
    placement, _ = validate_layout(load().gpu(gpu), devices, "want")
    assert isinstance(placement, MigPlacement)
    row = f"| `{name}` | {gpu} | `{written(devices)}` | {placement.unused_compute} | `{better}` |"
    assert row in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "gpu", "devices"), FULL)
def test_a_layout_with_nothing_against_it(name: str, gpu: str, devices: dict[str, int]) -> None:
    assert validated(gpu, devices) == []


def test_a_count_that_is_none_says_what_to_write() -> None:
    _, findings = validate_layout(load().gpu("A100-80GB"), {"1g.10gb": -1}, "devices")
    (found,) = findings
    assert (found.code, found.path) == ("mig-count-invalid", 'devices["1g.10gb"]')
    assert found.fix == "write how many instances each GPU gets, such as 1"
