"""A copy that an administrator made of a machine has the marks, and is not of the group."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet_vcenter.group_provider import VsphereGpuNodeOwnerProvider
from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter
from tests.engine.vsphere.direct import (
    UNCLOSED,
    Applied,
    created,
    finished,
    group_inputs,
    owner_inputs,
)
from tests.engine.vsphere.test_group import PROGRAM
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
OWNER_PROVIDER = VsphereGpuNodeOwnerProvider()
NAMES = {"gpu-0-debug": "a name that a node can have", "GPU 0 (debug)": "a name that none can have"}


def copy(cloud: Vcenter, name: str, of: str = "gpu-0") -> None:
    """As vCenter clones: with the extra configuration, which vcsim omits."""
    with cloud.machine(of) as machine, cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        marks = [
            vim.option.OptionValue(key=entry.key, value=entry.value)
            for entry in machine.config.extraConfig
            if entry.key.startswith("gpufleet.")
        ]
        spec = vim.vm.CloneSpec(
            location=vim.vm.RelocateSpec(pool=machine.resourcePool),
            config=vim.vm.ConfigSpec(extraConfig=marks),
            powerOn=True,
        )
        finished(machine.CloneVM_Task(datacenter.vmFolder, name, spec))


def names(cloud: Vcenter) -> list[str]:
    return sorted(key.rpartition(" ")[0] for key, owner in cloud.machines().items() if owner)


def group(cloud: Vcenter, *ordinals: int) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Id and state of the owner, and inputs of the group."""
    made = OWNER_PROVIDER.create(owner_inputs(cloud))
    return str(made.id), made.outs or {}, {**group_inputs(cloud, *ordinals), "life": made.id}


@pytest.mark.parametrize("name", NAMES, ids=list(NAMES.values()))
@pytest.mark.parametrize("complete", [True, False])
def test_a_copy_stays_and_is_named(
    cloud: Vcenter, capfd: pytest.CaptureFixture[str], name: str, complete: bool
) -> None:
    life, state, given = group(cloud, 0, 1)
    made = Applied()
    if complete:
        made.up(given)
    else:
        half_made(cloud, given)
    copy(cloud, name)
    if complete:
        made.destroy()
    OWNER_PROVIDER.delete(life, state)
    assert names(cloud) == [name]
    assert cloud.proxy.calls["Destroy_Task"] == 2, "the two machines of ours"
    with cloud.machine(name) as machine:
        uuid = machine.config.instanceUuid
    warned = capfd.readouterr().err
    assert f"warning: {name} (instance uuid {uuid}) stays: it is a copy of a machine" in warned


def half_made(cloud: Vcenter, given: dict[str, Any]) -> None:
    """Machines whose update was interrupted before they were complete."""
    after = sum(1 for _ in given["nodes"])
    cloud.proxy.reset([Rule(Action.AFTER, "CloneVM_Task", nth=after, do=CANCELLED.set)])
    try:
        Applied().killed(given)
    finally:
        CANCELLED.clear()
    cloud.proxy.reset()


def test_the_engine_shows_which_copy_stays(project: Callable[..., Project], cloud: Vcenter) -> None:
    made = project({"__main__.py": PROGRAM})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    machine = {"cpus": 8, "memory_gib": 64, "template": "gpu-template"}
    pool = {"name": "train", "gpu": "A100-80GB", "nodes": {"min": 1, "max": 1}, "vsphere": machine}
    known = {"pool": pool, "port": cloud.proxy.port, "token": SECRET}
    made.write({"given.json": json.dumps(known)})
    made.run("up")
    copy(cloud, "GPU 0 (debug)", "gpu-train-0")
    result = made.run("destroy")
    assert names(cloud) == ["GPU 0 (debug)"]
    (warned,) = [text for text in result.warnings if "GPU 0 (debug)" in text]
    assert "stays: it is a copy of a machine" in warned


def test_a_machine_of_ours_that_was_renamed_goes_with_its_group(cloud: Vcenter) -> None:
    """An administrator may give it a name that no node can have."""
    life, state, _ = group(cloud, 0)
    created(cloud.node(0, life=life))
    with cloud.machine("gpu-0") as machine:
        finished(machine.Rename_Task("GPU 0 (old)"))
    OWNER_PROVIDER.delete(life, state)
    assert names(cloud) == []


def test_machines_with_devices_of_their_own_go_with_their_group(cloud: Vcenter) -> None:
    """The pool names no devices: each of its named machines has its own."""
    given = owner_inputs(cloud)
    given["common"]["gpu"] = {"mode": "fixed", "pciAddresses": []}
    made = OWNER_PROVIDER.create(given)
    half_made(cloud, {**group_inputs(cloud, 0), "life": made.id})
    assert names(cloud) == ["gpu-0"]
    OWNER_PROVIDER.delete(str(made.id), made.outs or {})
    assert names(cloud) == []


def test_a_copy_is_not_cleared_for_a_machine_of_its_name(cloud: Vcenter) -> None:
    """A copy of an incomplete machine, renamed to it once that was removed."""
    life, _, given = group(cloud, 0)
    half_made(cloud, given)
    copy(cloud, "other")
    with cloud.machine("gpu-0") as machine:
        finished(machine.Destroy_Task())
    with cloud.machine("other") as machine:
        finished(machine.Rename_Task("gpu-0"))
    with pytest.raises(Exception, match="vsphere-name-taken"):
        created(cloud.node(0, life=life))
    assert names(cloud) == ["gpu-0"]
