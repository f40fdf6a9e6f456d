"""Schedulers of vGPU hosts and time-slicing of a vGPU: what is promised, rendered and refused.

Values of the registry key: NVIDIA Virtual GPU Software User Guide, RmPVMRL Registry Key.
"""

from fractions import Fraction
from typing import Any

import pytest

from gpufleet.cli.tables import sharing_line
from gpufleet.findings import Finding, Severity
from gpufleet.fleet import Fleet
from gpufleet.partition.vgpu import scheduler_value
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet.render.pod_request import pod_spec
from gpufleet.spec.sharing import VgpuScheduler
from tests.reading import yaml_data

DRIVER = {
    "repository": "registry.example.com/nvidia",
    "image": "vgpu-guest-driver",
    "version": "580.95.05",
}
PLACE = "pools[0].sharing.vgpu"


def compiled(*vgpus: dict[str, Any]) -> tuple[Fleet, list[Finding]]:
    pools = [
        {
            "name": f"guests-{number}",
            "gpu": "A100-80GB",
            "nodes": {"min": 1, "max": 1},
            "sharing": {"vgpu": {"profile": "grid_a100d-20c", "licenseSecret": "nls", **vgpu}},
            "vsphere": {
                "attachment": "vgpu",
                "cpus": 16,
                "memoryGib": 64,
                "template": "ubuntu",
            },
        }
        for number, vgpu in enumerate(vgpus)
    ]
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "c"},
        "addons": {"gpuOperator": {"driver": DRIVER, "imagePullSecret": "private"}},
        "pools": pools,
    }
    result = compile_data(spec)
    assert result.fleet is not None
    return result.fleet, [f for f in result.findings if "vgpu" in f.path]


@pytest.mark.parametrize(
    ("scheduler", "length", "value"),
    [
        ("bestEffort", None, "0x00"),
        ("equalShare", None, "0x01"),
        ("fixedShare", None, "0x11"),
        # 0x00TT0001 and 0x00TT0011, TT in milliseconds.
        ("equalShare", 3, "0x00030001"),
        ("fixedShare", 24, "0x00180011"),
        ("fixedShare", 30, "0x001E0011"),
    ],
)
def test_values_of_the_registry_key(scheduler: str, length: int | None, value: str) -> None:
    assert scheduler_value(VgpuScheduler(scheduler), length) == value
    declared = {"scheduler": scheduler} | ({} if length is None else {"timeSliceMs": length})
    fleet, found = compiled(declared)
    assert [f for f in found if f.severity is Severity.ERROR] == []
    (commands,) = [one.text for one in artefacts(fleet) if one.path == "nvidia/vgpu-scheduler.sh"]
    assert f'"NVreg_RegistryDwords=RmPVMRL={value}"' in commands


@pytest.mark.parametrize(
    ("scheduler", "promised", "words"),
    [
        # Four 20c fit on an A100 80 GB.
        ("fixedShare", Fraction(1, 4), "fixed share: 1/4 of the GPU's time"),
        ("equalShare", Fraction(1, 4), "equal share: at least 1/4 of the GPU's time"),
        ("bestEffort", None, "best effort: no part of the GPU's time is promised"),
        (None, None, ""),
    ],
)
def test_what_a_scheduler_promises(
    scheduler: str | None, promised: Fraction | None, words: str
) -> None:
    fleet, _ = compiled({} if scheduler is None else {"scheduler": scheduler})
    made = fleet.pools[0].partition.vgpu
    assert made is not None
    assert made.promised_time == promised
    assert words in sharing_line(fleet.pools[0])
    if scheduler is None:
        assert "time" not in sharing_line(fleet.pools[0])
        assert "nvidia/vgpu-scheduler.sh" not in {one.path for one in artefacts(fleet)}


def test_containers_take_turns_on_a_vgpu() -> None:
    fleet, found = compiled({"timeSlicing": {"replicas": 4}})
    assert [f for f in found if f.severity is not Severity.INFO] == []
    pool = fleet.pools[0]
    assert pool.advertised == {"nvidia.com/gpu.shared": 4}
    (share,) = pool.partition.shares
    assert share.memory_bytes == 5 << 30
    limits = pod_spec(pool, share)["containers"][0]["resources"]["limits"]
    assert limits == {"nvidia.com/gpu.shared": "1"}
    name = pool.labels["nvidia.com/device-plugin.config"]
    (text,) = [
        one.text for one in artefacts(fleet) if one.path.endswith("gpu-operator/device-plugin.yaml")
    ]
    config = yaml_data(yaml_data(text)["data"][name])
    assert config["sharing"]["timeSlicing"] == {
        "renameByDefault": True,
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
    }
    assert pool.labels["nvidia.com/gpu.deploy.mig-manager"] == "false"


@pytest.mark.parametrize(
    ("vgpu", "code", "field", "severity"),
    [
        (
            {"profile": "grid_a100d-3-40c", "scheduler": "fixedShare"},
            "vgpu-scheduler-of-mig",
            "scheduler",
            Severity.ERROR,
        ),
        ({"timeSliceMs": 5}, "vgpu-time-slice-without-shares", "timeSliceMs", Severity.ERROR),
        (
            {"timeSliceMs": 5, "scheduler": "bestEffort"},
            "vgpu-time-slice-without-shares",
            "timeSliceMs",
            Severity.ERROR,
        ),
        (
            {"profile": "grid_a100d-3-40c", "timeSlicing": {"replicas": 2}},
            "vgpu-time-slicing-not-known",
            "timeSlicing",
            Severity.WARNING,
        ),
        (
            {"timeSlicing": {"replicas": 40}},
            "share-memory-small",
            "timeSlicing.replicas",
            Severity.WARNING,
        ),
    ],
    ids=str,
)
def test_what_does_not_go_together(
    vgpu: dict[str, Any], code: str, field: str, severity: Severity
) -> None:
    _, found = compiled(vgpu)
    assert (code, f"{PLACE}.{field}", severity) in [(f.code, f.path, f.severity) for f in found]


def test_one_gpu_has_one_scheduler() -> None:
    _, found = compiled({"scheduler": "fixedShare"}, {"scheduler": "equalShare"})
    assert [f.path for f in found if f.code == "vgpu-schedulers-differ"] == [
        "pools[1].sharing.vgpu.scheduler"
    ]
    _, found = compiled({"scheduler": "fixedShare"}, {"scheduler": "fixedShare"}, {})
    assert [f for f in found if f.code == "vgpu-schedulers-differ"] == []
