"""A whole fleet on vSphere under the real engine: two pools, and one machine from the middle."""

import json
from collections.abc import Callable
from typing import Any

from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter

PROGRAM = """
import json
from pathlib import Path

import pulumi
from gpufleet import GpuFleet

given = json.loads(Path("given.json").read_text())
fleet = GpuFleet("fleet", {
    "spec": given["spec"],
    "connection": {"vsphere": {
        "server": "127.0.0.1",
        "port": given["port"],
        "plain_http": True,
        "datacenter": "DC0",
        "compute_cluster": "DC0_C0",
        "join": {
            "method": "k3s",
            "endpoint": "https://10.0.0.10:6443",
            "token": pulumi.Output.secret(given["token"]),
        },
    }},
})
pulumi.export("train", fleet.pool("train").nodes.node_names)
"""


def spec(train: int, **options: Any) -> dict[str, Any]:
    machine = {"cpus": 8, "memoryGib": 64, "template": "gpu-template"}
    return {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "addons": {"gpuOperator": {"ownership": "existing"}},
        "pools": [
            {
                "name": "train",
                "gpu": "A100-80GB",
                "nodes": {"min": train, "max": train},
                "vsphere": {**machine, **options},
            },
            {
                "name": "fixed",
                "gpu": "A100-80GB",
                "nodes": {"min": 1, "max": 1},
                "vsphere": {
                    **machine,
                    "attachment": "passthrough",
                    "pciAddresses": ["0000:5e:00.0"],
                },
            },
        ],
    }


def test_a_fleet_comes_loses_one_from_its_middle_and_goes(
    project: Callable[..., Project], cloud: Vcenter
) -> None:
    made = project({"__main__.py": PROGRAM})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    before = cloud.machines()

    def declare(given: dict[str, Any]) -> None:
        values = {"spec": given, "port": cloud.proxy.port, "token": SECRET}
        made.write({"given.json": json.dumps(values)})

    declare(spec(6))
    made.run("up")
    assert made.engine.outputs(made.stack)["train"] == [f"lab-train-{n}" for n in range(6)]
    assert len(cloud.owned()) == 7

    declare(spec(5, exclude=[2]))
    cloud.proxy.reset()
    made.run("up")
    assert made.engine.outputs(made.stack)["train"] == [f"lab-train-{n}" for n in (0, 1, 3, 4, 5)]
    assert sum("fleet-train" in owner for owner in cloud.owned()) == 5
    assert cloud.proxy.changing == {"PowerOffVM_Task": 1, "Destroy_Task": 1}

    state = json.dumps(made.engine.state(made.stack))
    assert SECRET not in state
    assert PASSWORD not in state
    made.run("destroy")
    assert cloud.machines() == before
