"""vGPU guests: what Secret, host and guest must agree on."""

from typing import Any

import pytest

from gpufleet.fleet.gpu_operator_chart import operator_values
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.gpu_operator_values import fleet_operator_settings

GUEST: dict[str, Any] = {
    "repository": "registry.example.com/private",
    "version": "595.58.03",
}


def compiled(driver: dict[str, Any], profile: str = "grid_a100d-40c", **more: Any) -> Any:
    vgpu = {"profile": profile, "licenseSecret": "licence"}
    data: dict[str, Any] = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "c"},
        "pools": [
            {
                "name": "guests",
                "gpu": "A100-80GB",
                "gpusPerNode": 1,
                "vsphere": {
                    "cpus": 16,
                    "memoryGib": 128,
                    "template": "gpu-node",
                    "attachment": "vgpu",
                },
                "nodes": {"min": 1, "max": 2},
                "sharing": {"vgpu": vgpu},
            }
        ],
        "addons": {
            "gpuOperator": {"driver": {**GUEST, **driver}, "imagePullSecret": "private"},
            **more,
        },
    }
    return compile_data(data)


def codes(result: Any) -> set[str]:
    return {f.code for f in result.findings if f.severity.value != "info"}


def test_the_secret_that_pools_name_reaches_the_driver() -> None:
    result = compiled({})
    assert codes(result) == set()
    values = operator_values(fleet_operator_settings(result.fleet))
    assert values["driver"]["licensingConfig"] == {"secretName": "licence", "nlsEnabled": True}


@pytest.mark.parametrize(
    ("driver", "more", "code"),
    [
        ({"licensing": {"secret": "other"}}, {}, "vgpu-licence-secrets-differ"),
        (
            {"licensing": {"secret": "licence", "featureType": "workstation"}},
            {},
            "vgpu-licence-feature",
        ),
        ({"licensing": {"secret": "licence", "featureType": "compute"}}, {}, None),
        ({"licensing": {"secret": "licence", "featureType": "vgpu"}}, {}, None),
        ({"hostVersion": "570.158.02"}, {}, "vgpu-driver-branches-differ"),
        ({"hostVersion": "595.10"}, {}, None),
        (
            {"licensing": {"secret": "licence"}},
            {"images": {"registry": "mirror.example.com"}},
            "vgpu-licence-out-of-reach",
        ),
        (
            {"licensing": {"secret": "licence", "service": "dls"}},
            {"images": {"registry": "mirror.example.com"}},
            None,
        ),
    ],
)
def test_secret_feature_and_branch(driver: Any, more: Any, code: str | None) -> None:
    assert codes(compiled(driver, **more)) == ({code} if code else set())


def test_the_finding_names_both_branches() -> None:
    result = compiled({"hostVersion": "570.158.02"})
    (finding,) = [f for f in result.findings if f.code == "vgpu-driver-branches-differ"]
    assert "595.58.03" in finding.message
    assert "570.158.02" in finding.message
    assert finding.fix == "use a guest driver of branch 570"
