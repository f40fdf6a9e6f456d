"""Ranges of drivers, CUDA and operators by GPU, with the figures that NVIDIA and AWS publish."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.contract.driver_ranges import (
    cuda_problem,
    driver_problem,
    is_older,
    module_problem,
    operator_problem,
)
from gpufleet.findings import Severity
from tests.unit.contract.fleets import codes, facts, one, validated

AMI = {"image": "ubuntu-eks", "eks": {"amiId": "ami-0123456789abcdef0"}}
MATRIX = "docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html"


@pytest.mark.parametrize(
    ("gpu", "driver", "limit"),
    [
        # NVIDIA's matrix: R580 is the last branch of Maxwell, Pascal and Volta, R470 of Kepler.
        ("V100-16GB", "595.91.07", "580"),
        ("V100-32GB", "590", "580"),
        ("P100", "590.48.01", "580"),
        ("P4", "595.58.03", "580"),
        ("M60", "610.43", "580"),
        ("K80", "535.129.03", "470"),
        # supported-gpus.json: RTX PRO 4500 Server Edition first in 595.58.03.
        ("RTX-PRO-4500-BLACKWELL-32GB", "580.126.20", "595.58.03"),
        # MIG user guide r620: B300 from 580.82.07; GPU Operator: HGX B200 from 570.133.20.
        ("B300-269GB", "575.57.08", "580.82.07"),
        ("B200-180GB", "570.86.15", "570.133.20"),
    ],
)
def test_a_driver_outside_the_range_of_a_gpu(gpu: str, driver: str, limit: str):
    catalogue = load()
    found = driver_problem(catalogue.gpu(gpu), driver, catalogue)
    assert found is not None
    assert found.limit == limit
    assert found.reason.source


@pytest.mark.parametrize(
    ("gpu", "driver"),
    [
        ("V100-16GB", "580.126.20"),
        ("P4", "535"),
        ("T4", "610.43"),
        ("RTX-PRO-4500-BLACKWELL-32GB", "595"),
        ("B300-269GB", "580"),
        ("L4", "470"),  # its first driver is not sourced: not validated
        ("H100-80GB", "615"),
    ],
)
def test_a_driver_inside_the_range_or_a_range_that_is_not_known(gpu: str, driver: str):
    catalogue = load()
    assert driver_problem(catalogue.gpu(gpu), driver, catalogue) is None


@pytest.mark.parametrize(
    ("gpu", "modules", "wrong"),
    [
        ("V100-16GB", "open", True),
        ("P100", "open", True),
        ("T4", "open", False),
        ("T4", "proprietary", False),
        ("H100-80GB", "proprietary", False),
        ("GH200-144GB", "proprietary", True),
        ("GB200-186GB", "proprietary", True),
        ("GB300-278GB", "proprietary", True),
        ("B200-180GB", "auto", False),
    ],
)
def test_kernel_modules(gpu: str, modules: str, wrong: bool):
    catalogue = load()
    assert (module_problem(catalogue.gpu(gpu), modules, catalogue) is not None) is wrong


@pytest.mark.parametrize(
    ("gpu", "cuda", "limit"),
    [
        ("V100-16GB", "13.0", "12"),
        ("P100", "13.1", "12"),
        ("M60", "13.0", "12"),
        ("K80", "12.0", "11"),
        ("B300-269GB", "12.8", "12.9"),
        ("GB200-186GB", "12.4", "12.8"),
        ("H100-80GB", "11.7", "11.8"),
        ("T4", "13.2", None),
        ("V100-16GB", "12.9", None),
        ("B300-269GB", "13.0", None),
    ],
)
def test_cuda_outside_the_range_of_a_gpu(gpu: str, cuda: str, limit: str | None):
    catalogue = load()
    found = cuda_problem(catalogue.gpu(gpu), cuda, catalogue)
    assert (None if found is None else found.limit) == limit


def test_a_release_of_the_operator_from_before_the_gpu():
    catalogue = load()
    b300 = catalogue.gpu("B300-269GB")
    found = operator_problem(b300, "v25.3.4", catalogue)
    assert found is not None
    assert "0.18.0" in found.fix
    assert operator_problem(b300, "v25.10.0", catalogue) is None
    assert operator_problem(catalogue.gpu("L4"), "v23.9.0", catalogue) is None


def test_of_a_branch_only_the_branch_is_compared():
    assert not is_older("580", "580.82.07")
    assert is_older("575", "580.82.07")
    assert is_older("R570", "580")


def test_the_operators_default_driver_dropped_volta():
    v100: dict[str, Any] = {"name": "old", "gpu": "V100-16GB", **AMI}
    found = one(validated("eks", v100), "driver-not-for-gpu")
    assert found.severity is Severity.ERROR
    assert found.path == "addons.gpuOperator.driver.version"
    assert found.evidence["found"] == load().chart("gpu-operator").components["driver"]
    assert "580.126.20" in (found.fix or "")
    assert MATRIX in {link["source"] for link in facts(found)}
    for addon in (
        {"driver": {"version": "580.126.20"}},
        {"values": {"driver": {"version": "580.126.20"}}},
        {"version": "v26.3.1"},
    ):
        assert "driver-not-for-gpu" not in codes(validated("eks", v100, gpuOperator=addon))
    # Its image brings branch 580, whatever the operator would install.
    image = {**v100, "image": "al2023-nvidia", "eks": {}}
    assert "driver-not-for-gpu" not in codes(validated("eks", image))


def test_modules_and_release_of_the_operator_against_b300():
    b300 = {"name": "new", "instanceTypes": ["p6-b300.48xlarge"], **AMI}
    addon = {"version": "v25.3.4", "driver": {"kernelModuleType": "proprietary"}}
    compiled = validated("eks", b300, gpuOperator=addon)
    assert one(compiled, "kernel-module-not-for-gpu").path == (
        "addons.gpuOperator.driver.kernelModuleType"
    )
    assert one(compiled, "gpu-operator-too-old-for-gpu").severity is Severity.WARNING
    assert "driver-not-for-gpu" not in codes(compiled), "25.3.4 installs 580.82.07"
    older = validated("eks", b300, gpuOperator={"version": "v25.3.2"})
    assert one(older, "driver-not-for-gpu").evidence["found"] == "570.172.08"


def test_an_image_release_from_before_the_branch_of_g7():
    def g7(release: str) -> dict[str, Any]:
        return {
            "name": "small",
            "instanceTypes": ["g7.2xlarge"],
            "eks": {"releaseVersion": release},
        }

    found = one(validated("eks", g7("1.36.0-20260916")), "driver-not-for-gpu")
    assert found.path == "pools[0].eks.releaseVersion"
    assert found.evidence["limit"] == "20260917"
    assert "driver-not-for-gpu" not in codes(validated("eks", g7("1.36.0-20260917")))


@pytest.mark.parametrize(
    ("image", "branch"),
    [
        # Amazon EKS user guide, bottlerocket-custom-variant: 580, which does not support G7;
        # bottlerocket issue 4889: a g7 with 1.62.1 does not boot.
        ("bottlerocket-nvidia", "580"),
        ("bottlerocket-nvidia-fips", "580"),
        # amazon-eks-ami issue 2379: AL2 ended with 570.
        ("al2-nvidia", "570"),
    ],
)
@pytest.mark.parametrize("provisioner", ["managed", "karpenter"])
def test_g7_on_an_image_without_branch_595(image: str, branch: str, provisioner: str):
    pool = {"name": "small", "instanceTypes": ["g7.2xlarge"], "provisioner": provisioner}
    found = one(validated("eks", {**pool, "image": image}), "driver-not-for-gpu")
    assert found.severity is Severity.ERROR
    assert (found.path, found.evidence["found"]) == ("pools[0].image", branch)
    assert found.fix == (
        "write `image: al2023-nvidia` (driver 595, releases from 20260917 on), or name your own "
        "image"
    )
    # amazon-eks-ami issue 2768: v20260917 brings 595 for G7.
    assert "driver-not-for-gpu" not in codes(validated("eks", {**pool, "image": "al2023-nvidia"}))
    # 580 drives the GPU of G6.
    other = {**pool, "instanceTypes": ["g6.2xlarge"], "image": image}
    assert "driver-not-for-gpu" not in codes(validated("eks", other))


def test_an_ami_of_ones_own_may_have_any_driver():
    """The Amazon EKS user guide has a Bottlerocket variant with 595 built for G7."""
    pool = {
        "name": "small",
        "instanceTypes": ["g7.2xlarge"],
        "image": "bottlerocket-nvidia",
        "eks": {"amiId": "ami-0123456789abcdef0"},
    }
    assert "driver-not-for-gpu" not in codes(validated("eks", pool))
