"""VsphereGpuNodeGroup under the real engine, in the real dynamic-provider process, on vcsim."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gpufleet_sandbox.engine import EngineError
from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import (
    PASSWORD,
    PROFILE,
    SECRET,
    USER,
    Vcenter,
)
from tests.engine.vsphere.direct import finished
from tests.vcenter.fault_proxy import Action, Rule

PROGRAM = """
import json
from pathlib import Path

import pulumi
from gpufleet import VsphereGpuNodeGroup

given = json.loads(Path("given.json").read_text())
group = VsphereGpuNodeGroup(
    "pool",
    {
        "catalogue": "2026.11",
        "pool": given["pool"],
        "connection": {
            "server": "127.0.0.1",
            "port": given["port"],
            "plain_http": True,
            "datacenter": "DC0",
            "compute_cluster": "DC0_C0",
            "join": {
                "method": "rke2",
                "endpoint": "https://10.0.0.10:9345",
                "token": pulumi.Output.secret(given["token"]),
            },
        },
    },
)
pulumi.export("names", group.node_names)
pulumi.export("uuids", group.instance_uuids)
"""


@pytest.fixture
def group(project: Callable[..., Project], cloud: Vcenter) -> Callable[..., Project]:
    """Makes the project; `group(nodes=3, cpus=8)` writes other settings."""
    made = project({"__main__.py": PROGRAM})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})

    def settings(nodes: int = 2, **options: Any) -> Project:
        pool = {
            "name": "train",
            "gpu": "A100-80GB",
            "disk": {"size_gib": 200},
            "nodes": {"min": nodes, "max": nodes},
            "vsphere": {
                "cpus": 8,
                "memory_gib": 64,
                "template": "gpu-template",
                "update_policy": "restart",
                **options,
            },
        }
        made.write(
            {"given.json": json.dumps({"pool": pool, "port": cloud.proxy.port, "token": SECRET})}
        )
        return made

    return settings


def test_up_again_scale_change_refresh_and_destroy(
    group: Callable[..., Project], cloud: Vcenter
) -> None:
    before = cloud.machines()
    made = group()
    made.run("up")
    outputs = made.engine.outputs(made.stack)
    assert outputs["names"] == ["gpu-train-0", "gpu-train-1"]
    assert len(cloud.owned()) == 2

    cloud.proxy.reset()
    made.run("up", "--expect-no-changes")
    made.run("preview", "--refresh", "--expect-no-changes")
    assert cloud.proxy.changing == {}, "nothing differs: no request to vCenter"

    group(nodes=3).run("up")
    assert made.engine.outputs(made.stack)["uuids"][:2] == outputs["uuids"]
    group(nodes=1).run("up")
    assert [owner.rsplit("/", 1)[1] for owner in cloud.owned()] == ["0"]

    group(nodes=1, cpus=16).run("up")
    assert made.engine.outputs(made.stack)["uuids"] == outputs["uuids"][:1]

    state = json.dumps(made.engine.state(made.stack))
    assert SECRET not in state
    assert PASSWORD not in state

    made.run("destroy")
    assert cloud.machines() == before


@pytest.mark.nightly
def test_as_many_are_removed_at_once_as_there_are_lanes(
    group: Callable[..., Project], cloud: Vcenter
) -> None:
    """Up to four: the SDK calls a dynamic provider no more often at a time."""
    before = cloud.machines()
    made = group(nodes=7, rollout_width=6)
    made.run("up", "--parallel", "12")
    together = threading.Barrier(3)
    rule = Rule(Action.BEFORE, "Destroy_Task", nth=0, do=lambda: together.wait(60) and None)
    cloud.proxy.reset([rule])
    group(nodes=1, rollout_width=6).run("up", "--parallel", "12")
    assert not together.broken, "three machines were destroyed at the same time, twice"
    assert [owner.rsplit("/", 1)[1] for owner in cloud.owned()] == ["0"]
    cloud.proxy.reset()
    made.run("destroy")
    assert cloud.machines() == before


def _node(made: Project) -> dict[str, Any]:
    (node,) = nodes_of(made).values()
    return node


def nodes_of(made: Project) -> dict[str, dict[str, Any]]:
    """Outputs of each machine that the state has, by key."""
    (found,) = [
        resource
        for resource in made.engine.state(made.stack)["resources"]
        if resource["type"] == "gpufleet:vsphere:MachineGroup"
    ]
    return found["outputs"]["nodes"]


def test_drift_is_shown_and_mended(group: Callable[..., Project], cloud: Vcenter) -> None:
    made = group(nodes=1)
    made.run("up")
    with cloud.machine("gpu-train-0") as machine:
        finished(machine.PowerOffVM_Task())
    made.run("refresh")
    assert _node(made)["drifted"] == {"powerState": "poweredOff"}
    made.run("up")
    assert _node(made)["powerState"] == "poweredOn"
    assert _node(made)["drifted"] == {}
    cloud.remove_owned()
    made.run("up", "--refresh")
    assert len(cloud.owned()) == 1
    made.run("destroy")


@pytest.mark.nightly
def test_what_people_read_of_a_machine_is_followed_while_it_runs(
    group: Callable[..., Project], cloud: Vcenter
) -> None:
    made = group(nodes=1, annotation="of the ML team", guest_id="otherGuest")
    made.run("up")
    uuids = made.engine.outputs(made.stack)["uuids"]
    with cloud.machine("gpu-train-0") as machine:
        assert machine.config.annotation == "of the ML team"
    cloud.proxy.reset()
    group(nodes=1, annotation="lent", guest_id="otherGuest").run("up")
    assert cloud.proxy.changing == {"ReconfigVM_Task": 1}
    assert made.engine.outputs(made.stack)["uuids"] == uuids
    with pytest.raises(EngineError) as refused:
        group(nodes=1, annotation="lent", guest_id="ubuntu64Guest").run("preview")
    assert "'otherGuest' cannot become 'ubuntu64Guest'" in str(refused.value)
    group(nodes=1, annotation="lent", guest_id="otherGuest").run("up", "--expect-no-changes")
    made.run("destroy")


def test_a_change_that_needs_power_off_is_refused_before_anything_happens(
    group: Callable[..., Project], cloud: Vcenter
) -> None:
    made = group(nodes=1, update_policy="refuse")
    made.run("up")
    cloud.proxy.reset()
    with pytest.raises(EngineError) as refused:
        group(nodes=1, update_policy="refuse", cpus=16).run("preview")
    assert "8 becomes 16 only while the machine is off" in str(refused.value)
    assert cloud.proxy.changing == {}
    group(nodes=1, update_policy="refuse")
    made.run("destroy")


def test_one_failing_node_leaves_the_others_and_the_next_up_makes_it(
    group: Callable[..., Project], cloud: Vcenter
) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "CloneVM_Task", nth=2, fault="NoDiskSpace")])
    with pytest.raises(EngineError) as failed:
        group(nodes=3).run("up", "--continue-on-error")
    text = str(failed.value)
    assert "vsphere-datastore-full: cloning gpu-train-" in text
    assert PASSWORD not in text
    assert SECRET not in text
    assert len(cloud.owned()) == 2
    cloud.proxy.reset()
    made = group(nodes=3)
    made.run("up")
    assert len(cloud.owned()) == 3
    made.run("destroy")
    assert cloud.owned() == []


@pytest.mark.nightly
def test_no_room_names_each_host(group: Callable[..., Project], cloud: Vcenter) -> None:
    made = group(nodes=1, hosts=["DC0_C0_H1"], memory_gib=1024)
    with pytest.raises(EngineError) as refused:
        made.run("up")
    assert "DC0_C0_H1 0 (524288 MiB of memory unreserved, a machine reserves 1048576)" in str(
        refused.value
    )
    assert "DC0_C0_H0 0 (not among the allowed hosts; 524288 MiB" in str(refused.value)
    assert cloud.owned() == []
    assert PROFILE not in str(refused.value)
    made.run("destroy")
