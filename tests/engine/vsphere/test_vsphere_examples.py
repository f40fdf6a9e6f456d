"""The examples for vSphere as they are in the repository, on vcsim."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, PROFILE, SECRET, USER, Vcenter

GPU_MODES = Path(__file__).parents[3] / "examples" / "vsphere-gpu-modes"


@pytest.mark.parametrize("command", ["preview", "up"])
def test_gpu_modes(project: Callable[..., Project], cloud: Vcenter, command: str) -> None:
    made = project({}, name="vsphere-gpu-modes")
    shutil.copy(GPU_MODES / "__main__.py", made.folder)
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    connection = {
        "server": "127.0.0.1",
        "port": cloud.proxy.port,
        "plain_http": True,
        "datacenter": "DC0",
        "compute_cluster": "DC0_C0",
    }
    config = {
        "connection": json.dumps(connection),
        "template": "gpu-template",
        "host": "DC0_C0_H1",
        "pciAddress": "0000:5e:00.0",
        "profile": PROFILE,
        "joinEndpoint": "https://10.0.0.10:9345",
        "joinToken": SECRET,
        "driverRepository": "registry.example.com/nvidia",
    }
    made.run(command, config=config)
    if command == "preview":
        assert cloud.owned() == []
        return
    assert len(cloud.owned()) == 3
    resources = made.engine.state(made.stack)["resources"]
    devices = {
        node["name"]: node["gpuDevices"][0]
        for item in resources
        if item["type"].endswith("vsphere:MachineGroup")
        for node in item["outputs"]["nodes"].values()
    }
    assert {name: found["mode"] for name, found in devices.items()} == {
        "gpu-any-0": "dynamic",
        "gpu-fixed-0": "fixed",
        "gpu-share-0": "vgpu",
    }
    assert devices["gpu-fixed-0"]["what"] == "0000:5e:00.0"
    made.run("destroy", config=config)
    assert cloud.owned() == []
