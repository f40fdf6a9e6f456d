"""Requirements of vGPUs on a host: right, wrong, a hint, or unknown."""

from dataclasses import replace
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.inventory import Host, PassthroughState, PhysicalGpu
from gpufleet_vcenter.inventory_report import (
    HostSetup,
    nvidia_packages,
    vgpu_readiness,
)

ADDRESS = "0000:3b:00.0"
GPU = PhysicalGpu(
    address=ADDRESS,
    device_id="20b5",
    name="NVIDIA A100 80GB PCIe",
    memory_mib=81_920,
    passthrough=PassthroughState.ACTIVE,
    label="",
    graphics_type="sharedDirect",
    machines=(),
)
HOST = Host(
    id="host-1",
    name="esx1",
    connected=True,
    maintenance=False,
    memory_mib=524_288,
    reserved_mib=0,
    gpus=(GPU,),
    profiles=("grid_a100d-20c", "grid_a100d-40c"),
    holdings=(),
    datastores=frozenset(),
)
SETUP = HostSetup(
    version="8.0.3",
    default_graphics="sharedDirect",
    licence="VMware vSphere 8 Enterprise Plus",
    packages=("NVD-AIE-800 580.95.02",),
    without_sriov=(),
)
ONLY_SCHEDULER = {"scheduler": "notKnown"}


def states(host: Host = HOST, setup: HostSetup = SETUP, wanted: Any = ()) -> dict[str, str]:
    """The conditions that do not hold."""
    found = vgpu_readiness(host, setup, wanted)
    for one in found:
        assert one["found"]
        needs_none = one["state"] in ("ok", "notKnown")
        assert one["fix"] or needs_none or one["check"] in ("types", "graphicsType")
    return {one["check"]: one["state"] for one in found if one["state"] != "ok"}


def test_a_host_that_is_ready() -> None:
    assert states(wanted=["A100D-20C"]) == ONLY_SCHEDULER
    assert states(wanted=["GRID_A100D-40C"]) == ONLY_SCHEDULER


@pytest.mark.parametrize(
    ("gpu", "host", "setup", "wanted", "expected"),
    [
        ({"graphics_type": "shared"}, {}, {}, (), {"graphicsType": "wrong"}),
        ({"graphics_type": ""}, {}, {}, (), {"graphicsType": "wrong"}),
        ({}, {"gpus": ()}, {}, (), {"graphicsType": "wrong"}),
        ({}, {}, {"default_graphics": "shared"}, (), {"defaultGraphicsType": "hint"}),
        ({}, {}, {"default_graphics": ""}, (), {"defaultGraphicsType": "notKnown"}),
        ({}, {}, {"packages": ()}, (), {"vgpuManager": "wrong"}),
        ({}, {}, {"packages": None}, (), {"vgpuManager": "notKnown"}),
        ({}, {}, {"licence": None}, (), {"licence": "notKnown"}),
        ({}, {"profiles": ()}, {}, ("A100D-20C",), {"types": "wrong"}),
        ({}, {}, {}, ("A100D-10C",), {"types": "wrong"}),
        ({}, {}, {}, ("A100D-3-40C",), {"migMode": "wrong"}),
        ({}, {"profiles": ("grid_a100d-3-40c",)}, {}, ("A100D-20C",), {"migMode": "wrong"}),
        ({"passthrough": PassthroughState.NONE}, {}, {}, (), {"iommu": "hint"}),
        ({}, {}, {"without_sriov": (ADDRESS, "0000:01:00.0")}, (), {"sriov": "hint"}),
        ({}, {}, {"without_sriov": ("0000:01:00.0",)}, (), {}),
    ],
    ids=str,
)
def test_what_is_missing(
    gpu: dict[str, Any],
    host: dict[str, Any],
    setup: dict[str, Any],
    wanted: tuple[str, ...],
    expected: dict[str, str],
) -> None:
    changed = replace(HOST, gpus=(replace(GPU, **gpu),))
    found = states(replace(changed, **host), replace(SETUP, **setup), wanted)
    assert found == {**expected, **ONLY_SCHEDULER}


def test_packages_are_nvidias_by_their_vendor() -> None:
    def package(name: str, vendor: str) -> Any:
        return vim.host.SoftwarePackage(name=name, version="1", vendor=vendor)

    packages = [
        package("NVD-AIE-800", "NVIDIA"),
        package("nvdgpumgmtdaemon", "NVD"),
        package("nvme-pcie", "VMW"),
    ]
    assert nvidia_packages(packages) == ("NVD-AIE-800 1", "nvdgpumgmtdaemon 1")
