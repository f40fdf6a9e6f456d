"""For any next command after a kill or an interrupt: no machine of the group is left over, no
object of others is changed, no running machine is lost.

A run creates a group, begins a change of it, and at a random call of the change the provider's
process is killed or interrupted. The engine then has the earlier state, or that of the interrupted
update, and vCenter the operations so far. The next command is one of: the same, a destroy, the
earlier declaration, another size, another name of the stack, other names of the same objects, the
same interrupted once more, or a pause and then the same. It must succeed at once.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.identity import PENDING
from gpufleet_vcenter.orphan_report import StateStanding, ask_orphans, declared_by
from tests.engine.vcenter_fixture import PASSWORD, SECRET, Vcenter, inventory, simulated, without
from tests.engine.vsphere.direct import group_inputs, owner_inputs
from tests.engine.vsphere.test_copies import copy
from tests.vcenter.fault_proxy import Action, Rule

SHORT = (*range(17), 21, 22, 23)
"""20 seeds: each next command, each change, killed and interrupted, and no pair of them twice."""
CAMPAIGN = 300
CALLS = 150
"""Calls of a change: a number above the actual one means no failure, which is allowed."""
CLONE_MS = 1500
CHANGES = ("grow", "shrink", "hardware", "replace")
NEXT = ("same", "destroy", "before", "size", "rename", "spelling", "interrupt", "nothing")


@pytest.fixture(scope="module")
def shared() -> Iterator[Vcenter]:
    """A vCenter whose clones take a while, so that a kill leaves some in flight."""
    delays = {"CloneVm": CLONE_MS, "LockHandoff": 0}
    with simulated(inventory(hosts=3, gpus=4, machines=2, method_delay_ms=delays)) as found:
        yield found


@dataclass
class Stack:
    """State of a group in the engine."""

    cloud: Vcenter
    life: str
    owner: dict[str, Any]
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    outs: dict[str, Any] = field(default_factory=dict[str, Any])
    is_interrupted: bool = False
    """Whether the command that runs is one that the test interrupts."""

    def up(self, news: dict[str, Any]) -> bool:
        """Apply it; False: the provider was killed, and the state is the earlier one; or it was
        interrupted, and the state is its result."""
        given = {**news, "life": self.life}
        answer = self.cloud.worker.run("checkGroup", olds=self.inputs, news=given)
        if "killed" in answer:
            return False
        assert "result" in answer, answer
        failures = answer["result"]["failures"]
        if failures and self.is_interrupted:
            assert all("vsphere-interrupted" in text for text in failures), failures
            return False
        assert failures == []
        checked = answer["result"]["inputs"]
        kind = "updateGroup" if self.outs else "createGroup"
        answer = self.cloud.worker.run(kind, id="g", olds=self.outs, news=checked)
        if "killed" in answer:
            return False
        if self.is_interrupted and "error" in answer:
            assert "vsphere-interrupted" in answer["error"], answer
            if "outs" in answer:  # the engine records it with what has failed
                self.inputs, self.outs = checked, answer["outs"]
            return False
        assert "result" in answer, answer
        self.inputs, self.outs = checked, answer["result"]["outs"]
        return True

    def destroy(self) -> None:
        for kind, id_, olds in (
            ("deleteGroup", "g", self.outs),
            ("deleteOwner", self.life, self.owner),
        ):
            answer = self.cloud.worker.run(kind, id=id_, olds=olds)
            assert "result" in answer, answer
        self.inputs, self.outs = {}, {}

    def uuids(self) -> dict[str, str]:
        return {key: row["instanceUuid"] for key, row in self.outs.get("ids", {}).items()}

    def standings(self, *, destroyed: bool = False) -> dict[str, StateStanding]:
        """Result of `gpufleet vsphere orphans` for each machine, by its uuid."""
        group = "gpufleet:vsphere:MachineGroup"
        owner = {"type": "gpufleet:vsphere:MachineOwner", "id": self.life}
        rows = [owner, {"type": group, "inputs": self.inputs, "outputs": self.outs}]
        state = {"deployment": {"resources": [] if destroyed else rows}}
        endpoint = self.cloud.node(0)["endpoint"]
        found = ask_orphans(
            {**endpoint, "port": int(endpoint["port"])},
            "DC0",
            declared_by([state], ["organisation/project/stack"]),
        )
        return {row["instanceUuid"]: StateStanding(row["standing"]) for row in found}


def declaration(cloud: Vcenter, change: str, *, begun: bool) -> dict[str, Any]:
    """The group of before, or as the change makes it."""
    more: dict[str, Any] = {"updatePolicy": "replace" if change == "replace" else "restart"}
    count = 2
    if begun:
        count = {"grow": 4, "shrink": 1}.get(change, 2)
        more |= {"cpus": 16.0} if change == "hardware" else {}
        if change == "replace":
            more |= {"metaData": {"role": "other"}, "generation": "ba9876543210"}
    return group_inputs(cloud, *range(count), **more)


def renamed(news: dict[str, Any]) -> dict[str, Any]:
    """The same after `pulumi stack rename`."""
    group = "organisation/project/renamed/group"
    nodes = {key: {**node, "owner": f"{group}/{key}"} for key, node in news["nodes"].items()}
    return {**news, "group": group, "nodes": nodes}


def respelled(news: dict[str, Any]) -> dict[str, Any]:
    """The same objects by other names."""
    place = {
        "datacenter": "/DC0",
        "cluster": "/DC0/host/DC0_C0",
        "template": "/DC0/vm/gpu-template",
    }
    nodes = {
        key: {**node, "place": place, "endpoint": {**node["endpoint"], "server": "localhost"}}
        for key, node in news["nodes"].items()
    }
    return {**news, "nodes": nodes}


def incomplete(cloud: Vcenter) -> list[str]:
    with cloud.service() as service:
        content = service.RetrieveContent()
        kinds = [vim.VirtualMachine]
        view = content.viewManager.CreateContainerView(content.rootFolder, kinds, True)
        return [
            machine.name
            for machine in view.view
            if machine.name.startswith("gpu-")
            and any(entry.key == PENDING and entry.value for entry in machine.config.extraConfig)
        ]


def names(cloud: Vcenter) -> list[str]:
    return sorted(name.rpartition(" ")[0] for name, own in cloud.machines().items() if own)


def one_life(cloud: Vcenter, seed: int) -> None:
    chance = random.Random(seed)
    change, then = chance.choice(CHANGES), chance.choice(NEXT)
    ends = [chance.choice(("kill", "kill", "interrupt")), *["interrupt"] * (then == "interrupt")]
    where = f"seed {seed}: {change}, {' and '.join(ends)}, {then}"
    foreign = cloud.machines()
    made = cloud.worker.run("createOwner", news=owner_inputs(cloud))["result"]
    stack = Stack(cloud, made["id"], made["outs"])
    before = declaration(cloud, change, begun=False)
    assert stack.up(before), where
    ran = stack.uuids()
    copied = ["copied"] if chance.random() < 0.3 else []
    for name in copied:
        copy(cloud, name)
    begun = declaration(cloud, change, begun=True)
    for end in ends:
        stack.is_interrupted = end == "interrupt"
        do = cloud.worker.interrupt if stack.is_interrupted else cloud.worker.kill
        cloud.proxy.reset([Rule(Action.AFTER, nth=chance.randint(1, CALLS), do=do)])
        stack.up(begun)
        cloud.proxy.reset()
    stack.is_interrupted = False
    seen = stack.standings()
    kinds = {StateStanding.DECLARED, StateStanding.PENDING, StateStanding.COPY}
    assert set(seen.values()) <= kinds, where
    wanted = {
        "before": before,
        "size": group_inputs(cloud, 0, 1, 2, **_more(begun)),
        "rename": renamed(begun),
        "spelling": respelled(begun),
    }.get(then, begun)
    if then == "destroy":
        stack.destroy()
        time.sleep(CLONE_MS / 1000)
        assert names(cloud) == copied, where
    else:
        time.sleep(2 * CLONE_MS / 1000 if then == "nothing" else 0)
        assert stack.up(wanted), where
        time.sleep(CLONE_MS / 1000)
        expected = [node["name"] for node in wanted["nodes"].values()]
        assert names(cloud) == sorted([*expected, *copied]), where
        assert incomplete(cloud) == [], where
        if change != "replace":
            kept = {key: uuid for key, uuid in stack.uuids().items() if key in ran}
            assert kept == {key: ran[key] for key in kept}, f"{where}: a machine was made again"
        told = [kind for kind in stack.standings().values() if kind is not StateStanding.COPY]
        assert told == [StateStanding.DECLARED] * len(expected), where
        assert stack.up(wanted), where
        stack.destroy()
    for name in copied:
        with cloud.machine(name) as machine:
            machine.PowerOffVM_Task()
            time.sleep(0.3)
            machine.Destroy_Task()
            time.sleep(0.3)
    assert cloud.machines() == foreign, where
    assert without(cloud.said, PASSWORD), where
    assert without([row for row in cloud.said if '"inputs"' not in row], SECRET), where


def _more(given: dict[str, Any]) -> dict[str, Any]:
    node = given["nodes"]["0"]
    return {
        key: node[key] for key in ("cpus", "updatePolicy", "metaData", "generation") if key in node
    }


@pytest.mark.parametrize("seed", SHORT)
def test_any_next_command(cloud: Vcenter, seed: int) -> None:
    one_life(cloud, seed)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [seed for seed in range(CAMPAIGN) if seed not in SHORT])
def test_campaign_of_next_commands(cloud: Vcenter, seed: int) -> None:
    one_life(cloud, seed)
