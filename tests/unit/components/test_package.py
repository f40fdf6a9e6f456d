import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gpufleet

ROOT = Path(__file__).parents[3]


def test_every_public_name_is_importable_and_listed() -> None:
    for name in gpufleet.__all__:
        assert getattr(gpufleet, name).__name__ == name
        assert name in dir(gpufleet)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'GpuFleets'"):
        gpufleet.GpuFleets  # noqa: B018


def test_importing_the_package_imports_no_sdk() -> None:
    code = "import sys, gpufleet, gpufleet.fleet; print(*(m for m in sys.modules if '.' not in m))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = set(answer.stdout.split())
    assert "gpufleet" in modules
    assert not modules & {"pulumi", "pulumi_kubernetes", "pulumi_aws", "pulumi_gcp", "kubernetes"}


def test_a_fleet_imports_what_it_uses_and_no_more() -> None:
    code = "import sys; from gpufleet import GpuFleet; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = set(answer.stdout.split())
    assert {"gpufleet.gpu_fleet", "pulumi_kubernetes"} <= modules
    assert not modules & {
        "requests",
        "pulumi_kubernetes.helm.v3",
        "pulumi_kubernetes.core.v1",
        "gpufleet.addons.gpu_monitoring",
        "gpufleet.addons.kueue_queues",
        "pulumi_aws",
        "pulumi_gcp",
    }


def test_the_hosted_version_is_that_of_the_distribution() -> None:
    distribution = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert runpy.run_path(str(ROOT / "components"))["VERSION"] == distribution
