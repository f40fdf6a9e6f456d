"""All vGPU pools together: their platform, driver, licence and sizes."""

from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data

MACHINE = {"cpus": 8, "memoryGib": 64, "template": "ubuntu"}
OPERATOR: dict[str, Any] = {
    "driver": {"version": "580.95.05"},
    "imagePullSecret": "registry",
    "values": {"driver": {"repository": "registry.example.com/vgpu"}},
}


def guest(profile: str = "grid_a100d-40c", **more: Any) -> dict[str, Any]:
    return {
        "gpu": "A100-80GB",
        "nodes": {"min": 1, "max": 1},
        "sharing": {"vgpu": {"profile": profile, "licenseSecret": "nls"}},
        "vsphere": {**MACHINE, "attachment": "vgpu"},
        **more,
    }


PASSTHROUGH = {"gpu": "A100-80GB", "nodes": {"min": 1, "max": 1}, "vsphere": MACHINE}


def found(*pools: dict[str, Any], operator: dict[str, Any] | None = None) -> list[Finding]:
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "c"},
        "pools": [{"name": f"pool-{i}", **pool} for i, pool in enumerate(pools)],
        "addons": {"gpuOperator": OPERATOR if operator is None else operator},
    }
    return [f for f in compile_data(spec).findings if f.code.startswith("vgpu-")]


def test_one_pool_of_guests_works() -> None:
    assert found(guest()) == []


def test_a_cloud_has_no_profiles_to_choose() -> None:
    pool = {k: v for k, v in guest().items() if k != "vsphere"}
    spec = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "c", "region": "us-east-1"},
        "pools": [{"name": "a", **pool}],
    }
    assert "vgpu-needs-hypervisor" in [f.code for f in compile_data(spec).findings]


@pytest.mark.parametrize(
    ("operator", "missing"),
    [
        ({}, 3),
        ({**OPERATOR, "values": {}}, 1),
        ({**OPERATOR, "driver": {}}, 1),
        ({k: v for k, v in OPERATOR.items() if k != "imagePullSecret"}, 1),
    ],
)
def test_the_guest_driver_is_the_users_own_image(operator: dict[str, Any], missing: int) -> None:
    (problem,) = found(guest(), operator=operator)
    assert problem.code == "vgpu-guest-driver-missing"
    assert len(problem.evidence["missing"]) == missing  # pyright: ignore[reportArgumentType]


def test_the_repository_may_be_typed() -> None:
    driver = {"version": "580.95.05", "repository": "registry.example.com/vgpu"}
    assert found(guest(), operator={**OPERATOR, "driver": driver, "values": {}}) == []


def test_no_licence() -> None:
    (problem,) = found(guest(sharing={"vgpu": {"profile": "grid_a100d-40c"}}))
    assert (problem.code, problem.severity.value) == ("vgpu-unlicensed", "warning")
    driver = {**OPERATOR["driver"], "licensing": {"secret": "nls"}}
    unnamed = guest(sharing={"vgpu": {"profile": "grid_a100d-40c"}})
    assert found(unnamed, operator={**OPERATOR, "driver": driver}) == []


def test_two_licences() -> None:
    other = guest(sharing={"vgpu": {"profile": "grid_a100d-40c", "licenseSecret": "other"}})
    (problem,) = found(guest(), other)
    assert (problem.code, problem.path) == (
        "vgpu-licenses-differ",
        "pools[1].sharing.vgpu.licenseSecret",
    )


@pytest.mark.parametrize(
    ("other", "codes"),
    [
        ("grid_a100d-20c", ["vgpu-sizes-differ"]),
        ("grid_a100d-3-40c", ["vgpu-sizes-differ"]),
        ("grid_a100d-40c", []),
    ],
)
def test_sizes_on_one_gpu(other: str, codes: list[str]) -> None:
    assert [f.code for f in found(guest(), guest(other))] == codes


def test_mig_backed_sizes_go_together() -> None:
    assert found(guest("grid_a100d-3-40c"), guest("grid_a100d-1-10c")) == []


def test_two_kinds_of_driver() -> None:
    assert [f.code for f in found(guest(), PASSTHROUGH)] == ["vgpu-and-passthrough-drivers"]
    values = {"driver": {**OPERATOR["values"]["driver"], "nvidiaDriverCRD": {"enabled": True}}}
    assert found(guest(), PASSTHROUGH, operator={**OPERATOR, "values": values}) == []
