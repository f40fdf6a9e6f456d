"""Stacks on vSphere that the recorded tree deployed: this tree replaces no machine, and forgets the
records of single ones. `test_former_state.py` shows that the machines stay."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from kubernetes import client

from tests.engine.recorded_state import RECORDING, Planned, check, which
from tests.engine.sandbox_stack import Stack
from tests.engine.test_recorded_state import files_of, places
from tests.engine.vcenter_fixture import PASSWORD, PROFILE, SECRET, USER, Vcenter
from tests.engine.vsphere.test_lab import guests, keep_secret, lab, running

__all__ = ["lab", "running", "which"]

MEANT = (
    Planned("*gpufleet:vsphere:MachineGroup::*", "the batch is the group, by an alias"),
    Planned("*gpufleet:vsphere:Machine::*", "a record: its machine is the group's", "delete"),
    Planned("*gpufleet:index:GpuFleet::fleet", "the compiled fleet says more of prices and slices"),
    Planned("*pulumi:providers:gpufleet::default", "the package's own plugin", "create"),
)
ALLOWED = dict.fromkeys(("vsphere-gpu-modes", "stacks-vsphere-lab"), MEANT)
"""Steps that are meant, by recording."""


def test_gpu_modes(project: Callable[..., Any], cloud: Vcenter) -> None:
    name = "vsphere-gpu-modes"
    program = {"__main__.py": files_of(name)["__main__.py"]}
    made = project(program, name=name)
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
    found = places(made, port=cloud.proxy.port)
    check(name, made, found, ALLOWED.get(name, ()), config=config)


def test_vsphere_lab(
    lab: Stack,
    running: Any,
    core: client.CoreV1Api,
) -> None:
    name = "stacks-vsphere-lab"
    keep_secret(lab, "gpufleet:joinToken", SECRET)
    lab.save()
    place = lab.config["gpufleet:connection"]["vsphere"]
    found = places(lab.project, port=running.port, thumbprint=place["thumbprintSha256"])
    with guests(running, core) if RECORDING else nullcontext():
        check(name, lab.project, found, ALLOWED.get(name, ()))
