"""What an unknown key or platform is said to be near to."""

import pytest

from gpufleet.platforms.compiled import compile_data
from tests.unit.contract.fleets import declaration, one


@pytest.mark.parametrize(
    ("platform", "fix"),
    [
        ("aks", None),
        ("oke", None),
        ("openstack", None),
        ("azure", None),
        ("gkee", "nearest: gke"),
        ("open-shift", "nearest: openshift"),
    ],
)
def test_another_platform_is_not_mended(platform: str, fix: str | None) -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4"})
    data["platform"] = platform
    found = one(compile_data(data), "spec-value-unknown")
    assert found.fix == fix
    known = "eks, gke, vsphere, openshift, openshiftAws, openshiftGcp, existing, sandbox"
    assert known in found.message


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("version", "kubernetesVersion"),
        ("kubernetes", "kubernetesVersion"),
        ("kubernetes_version", "kubernetesVersion"),
        ("regoin", "region"),
    ],
)
def test_a_word_of_a_key_is_near_to_it(key: str, near: str) -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4"})
    data["cluster"][key] = "1.36"
    assert one(compile_data(data), "spec-key-unknown").fix == f"nearest: {near}"


@pytest.mark.parametrize("written", ["auto-mode", "automode", "EKS Auto Mode"])
def test_auto_mode_is_near_to_its_name(written: str) -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4", "provisioner": written})
    assert one(compile_data(data), "spec-value-unknown").fix == "nearest: autoMode"


def test_a_slip_of_the_pen_is_not_taken_for_auto_mode() -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4", "provisioner": "karpentr"})
    assert one(compile_data(data), "spec-value-unknown").fix == "nearest: karpenter"
