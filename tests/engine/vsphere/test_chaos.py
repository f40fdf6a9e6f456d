"""Nodes on a vCenter while something fails at every step: seeded, and always the declared machines.

Each run creates a node, changes it and removes it. In each of the three, the seed chooses one call
and its fault: the connection breaks, vCenter refuses, the provider is killed, or vCenter itself is
killed, and comes back with its state. Then the operation is repeated, as a user repeats
`pulumi up`. After each these must be true: exactly the declared machines, none twice, no machine of
others changed, no secret printed.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import vim

from tests.engine.vcenter_fixture import (
    DYNAMIC,
    FIXED,
    PASSWORD,
    SECRET,
    VGPU,
    Vcenter,
    inventory,
    simulated,
    without,
)
from tests.engine.vsphere.direct import group_inputs
from tests.vcenter.fault_proxy import Action, Rule

SEEDS = 8
CAMPAIGN = 300
GROUPS = 1
GROUP_CAMPAIGN = 40
CALLS = 60
"""Calls of the longest operation: a later call than there are is not a failure at all, and fine."""
FAULTS = ("TaskInProgress", "NoDiskSpace", "NotAuthenticated", "ResourceInUse", "InvalidState")
OF_MANY = ("createGroup", "updateGroup", "deleteGroup")
REPEATS = 6
SCRATCH = {"name": "scratch", "sizeGib": 10.0}
MODELS = {"name": "models", "sizeGib": 20.0, "keep": True}
TWO = [{"network": "DC0_DVPG0"}, {"network": "VM Network"}]
DEVICES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({}, {}),
    ({}, {"extraDisks": [SCRATCH, MODELS], "networks": TWO}),
    (
        {"extraDisks": [SCRATCH, MODELS]},
        {"extraDisks": [{**SCRATCH, "sizeGib": 15.0}, {"name": "logs", "sizeGib": 1.0}]},
    ),
    ({"networks": TWO}, {"networks": [{"network": "VM Network", "adapter": "vmxnet3"}]}),
)
"""Disks and adapters of a machine as it is made, and as it is changed."""
FAILURES = (
    *(("connection", action) for action in (Action.DROP_REQUEST, Action.DROP_REPLY)),
    *(("fault", Action.FAULT),),
    *(("provider", action) for action in (Action.BEFORE, Action.AFTER)),
    # The call never arrives; it is done and its response lost; it is done; the response states that
    # it will be done, and it is not.
    *(("vCenter", Action.DROP_REQUEST), ("vCenter", Action.DROP_REPLY)),
    *(("vCenter", Action.AFTER), ("vCenter", Action.FORGET)),
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Vcenter]:
    """A vCenter of this file's own: it dies, and what goes past the proxy sees its other names."""
    with simulated(inventory(hosts=3, gpus=4, machines=2)) as found:
        yield found


def _rule(chance: random.Random, cloud: Vcenter, calls: int) -> Rule:
    nth = chance.randint(1, calls)
    dies, action = chance.choice(FAILURES)
    if action is Action.FAULT:
        return Rule(action, nth=nth, fault=chance.choice(FAULTS))
    if dies == "connection":
        return Rule(action, nth=nth)
    return Rule(action, nth=nth, do=cloud.mortal.die if dies == "vCenter" else cloud.worker.kill)


def _until_done(
    cloud: Vcenter, chance: random.Random, operation: str, **request: Any
) -> dict[str, Any]:
    """Repeat the operation until it succeeds; only the first attempt fails on purpose."""
    calls = CALLS * (4 if operation in OF_MANY else 1)
    rule = _rule(chance, cloud, calls)
    cloud.proxy.reset([rule])
    answers: list[dict[str, Any]] = []
    for _ in range(REPEATS):
        answer = cloud.worker.run(operation, **request)
        answers.append(answer)
        cloud.proxy.reset()
        assert cloud.mortal.failure is None, f"{operation} with {rule}: {cloud.mortal.failure}"
        if "result" in answer:
            return answer["result"]
        if "outs" in answer and operation == "updateGroup":
            request["olds"] = answer["outs"]  # the engine keeps what there is
        assert answer.get("code") != "traceback", f"{operation} with {rule}: {answer['error']}"
    raise AssertionError(f"{operation} with {rule} never succeeded: {answers}")


def on(place: dict[str, Any], devices: dict[str, Any]) -> dict[str, Any]:
    """Inputs of a machine at the place with these devices."""
    networks = {"networks": devices["networks"]} if "networks" in devices else {}
    disks = {"extraDisks": devices["extraDisks"]} if "extraDisks" in devices else {}
    return {**disks, "place": {**place, **networks}}


def counted(devices: dict[str, Any]) -> tuple[int, int]:
    """Disks and adapters that a machine with these devices has, the template's included."""
    return 1 + len(devices.get("extraDisks", ())), len(devices.get("networks", "1"))


def plugged(cloud: Vcenter, name: str) -> tuple[int, int]:
    """Disks and adapters that the machine has."""
    with cloud.machine(name) as machine:
        devices: list[Any] = machine.config.hardware.device
    kinds = (vim.vm.device.VirtualDisk, vim.vm.device.VirtualEthernetCard)
    disks, cards = (sum(isinstance(item, kind) for item in devices) for kind in kinds)
    return disks, cards


def _one_life(cloud: Vcenter, seed: int) -> None:
    chance = random.Random(seed)
    cloud.mortal.forget_changes()
    before = cloud.machines()
    gpu = chance.choice([DYNAMIC, VGPU, FIXED])
    devices, more = chance.choice(DEVICES)
    place = cloud.node(seed)["place"]
    node = cloud.node(seed, gpu, updatePolicy="restart", **on(place, devices))
    made = _until_done(cloud, chance, "create", news=node)
    assert cloud.owned() == [node["owner"]], f"seed {seed}: after create"
    assert made["outs"]["drifted"] == {}, f"seed {seed}"
    assert made["outs"]["powerState"] == "poweredOn", f"seed {seed}"

    assert plugged(cloud, node["name"]) == counted(devices), f"seed {seed}: after create"

    extra = {"cpus": 16.0, "extraConfig": {"example.key": str(seed)}}
    larger = {**node, **extra, **on(place, more)}
    changed = _until_done(cloud, chance, "update", id=made["id"], olds=made["outs"], news=larger)
    assert changed["outs"]["cpus"] == 16, f"seed {seed}"
    assert changed["outs"]["drifted"] == {}, f"seed {seed}"
    assert cloud.owned() == [node["owner"]], f"seed {seed}: after update"
    assert plugged(cloud, node["name"]) == counted(more), f"seed {seed}: after update"
    seen = cloud.worker.run("read", id=made["id"], olds=changed["outs"])["result"]
    assert seen["outs"] == changed["outs"], f"seed {seed}: a second look sees the same"

    _until_done(cloud, chance, "delete", id=made["id"], olds=changed["outs"])
    assert cloud.machines() == before, f"seed {seed}: after delete"
    assert without(cloud.said, PASSWORD), f"seed {seed}: the password was said"
    assert without(cloud.said, SECRET), f"seed {seed}: user data was said"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_node_survives_a_failure_at_any_step(cloud: Vcenter, seed: int) -> None:
    _one_life(cloud, seed)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(SEEDS, CAMPAIGN))
def test_campaign(cloud: Vcenter, seed: int) -> None:
    _one_life(cloud, seed)


def _one_group(cloud: Vcenter, seed: int) -> None:
    """A group that is made, grows or shrinks while it changes, and goes."""
    chance = random.Random(seed)
    cloud.mortal.forget_changes()
    before = cloud.machines()
    group = "organisation/project/stack/group"
    ordinals = [seed * 10 + number for number in range(4)]
    disks: dict[str, Any] = {"extraDisks": [SCRATCH], "updatePolicy": "restart"}
    first, then = (ordinals[: chance.randint(1, 4)] for _ in range(2))
    made = _until_done(cloud, chance, "createGroup", news=group_inputs(cloud, *first, **disks))
    assert cloud.owned() == [f"{group}/{number}" for number in first], f"seed {seed}: made"
    wanted = group_inputs(cloud, *then, **disks, cpus=chance.choice([8.0, 16.0]))
    kept = _until_done(cloud, chance, "updateGroup", id=group, olds=made["outs"], news=wanted)
    assert cloud.owned() == [f"{group}/{number}" for number in then], f"seed {seed}: changed"
    for number in then:
        assert plugged(cloud, f"gpu-{number}") == (2, 1), f"seed {seed}: a disk, once"
    assert all(node["drifted"] == {} for node in kept["outs"]["nodes"].values()), f"seed {seed}"
    _until_done(cloud, chance, "deleteGroup", id=group, olds=kept["outs"])
    assert cloud.machines() == before, f"seed {seed}: after all"
    assert without(cloud.said, PASSWORD), f"seed {seed}: the password was said"
    assert without(cloud.said, SECRET), f"seed {seed}: user data was said"


@pytest.mark.parametrize("seed", range(GROUPS))
def test_a_group_survives_a_failure_at_any_step(cloud: Vcenter, seed: int) -> None:
    _one_group(cloud, seed)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(GROUPS, GROUP_CAMPAIGN))
def test_campaign_of_groups(cloud: Vcenter, seed: int) -> None:
    _one_group(cloud, seed)


def test_the_proxy_sees_what_changes(cloud: Vcenter) -> None:
    """The failures above hit real calls: a run without failure makes each kind of change once."""
    cloud.proxy.reset()
    node = cloud.node(1000, DYNAMIC)
    made = cloud.worker.run("create", news=node)["result"]
    assert cloud.proxy.changing == {
        "CloneVM_Task": 1,
        "ReconfigVM_Task": 2,
        "PowerOnMultiVM_Task": 1,
    }, json.dumps(cloud.proxy.calls)
    assert cloud.proxy.total <= CALLS
    cloud.proxy.reset()
    cloud.worker.run("update", id=made["id"], olds=made["outs"], news=node)
    assert cloud.proxy.changing == {}, "nothing differs, so nothing is changed"
    cloud.worker.run("delete", id=made["id"], olds=made["outs"])
    assert cloud.owned() == []
