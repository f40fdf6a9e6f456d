"""A group under the real engine while something fails at any call: seeded, and always the declared
machines.

In each of making, growing with a change, replacing, shrinking and destroying, the seed chooses one
call to vCenter and who fails there: the machine that runs Pulumi (engine and providers at once),
the provider's process alone, the connection, or vCenter. Then the same command is run again, with a
renewed join token; at times it is a destroy instead.
"""

import functools
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

from gpufleet_sandbox.checkpoints import restore_cut_off_checkpoints
from gpufleet_sandbox.stack_repair import release_stale_lock
from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter, inventory, simulated
from tests.engine.vsphere.test_group import PROGRAM
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = [pytest.mark.killed_engines]

SEEDS = 1
CAMPAIGN = 12
CALLS = 120
"""Calls of the longest command: a later one than there are is no failure at all, and fine."""
REPEATS = 4
DESTROYS = 0.15
"""How often a life ends after a step."""
NODE = ":Machine"
FAILURES = (
    *(("engine", Action.BEFORE), ("engine", Action.AFTER)),
    *(("provider", Action.BEFORE), ("provider", Action.AFTER)),
    *(("connection", Action.DROP_REQUEST), ("connection", Action.DROP_REPLY)),
    *(("vCenter", Action.DROP_REQUEST), ("vCenter", Action.DROP_REPLY)),
    *(("vCenter", Action.AFTER), ("vCenter", Action.FORGET)),
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Vcenter]:
    """A vCenter of this file's own: it dies, and what goes past the proxy sees its other names."""
    with simulated(inventory(hosts=3, gpus=4, machines=2)) as found:
        yield found


STEPS = (
    (2, 8, "gpu-template"),
    (3, 16, "gpu-template"),
    (3, 16, "/DC0/vm/gpu-template"),
    (1, 16, "/DC0/vm/gpu-template"),
)
"""Machines, processors, and template: another name of one is another machine."""


def declare(
    made: Project, cloud: Vcenter, nodes: int, cpus: int, template: str, renewed: int
) -> None:
    pool = {
        "name": "train",
        "gpu": "A100-80GB",
        "nodes": {"min": nodes, "max": nodes},
        "vsphere": {
            "cpus": cpus,
            "memory_gib": 64,
            "template": template,
            "update_policy": "restart",
        },
    }
    given = {"pool": pool, "port": cloud.proxy.port, "token": f"{SECRET}-{renewed}"}
    made.write({"given.json": json.dumps(given)})


def kill_engine() -> None:
    """What a power cut does to the machine that runs Pulumi."""
    for engine in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if engine.name() == "pulumi":
                _kill([engine, *engine.children(recursive=True)])


def kill_provider() -> None:
    """Only the process that serves the machines."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "gpufleet.hosting" in child.cmdline():
                child.kill()


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _rule(chance: random.Random, cloud: Vcenter) -> Rule:
    who, action = chance.choice(FAILURES)
    nth = chance.randint(1, CALLS)
    if who == "connection":
        return Rule(action, nth=nth)
    victims = {"engine": kill_engine, "provider": kill_provider, "vCenter": cloud.mortal.die}
    return Rule(action, nth=nth, do=victims[who])


def _until_done(
    made: Project,
    cloud: Vcenter,
    chance: random.Random,
    command: str,
    renew: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """Run the command until it succeeds, as a person does. Returns what it said."""
    rule = _rule(chance, cloud)
    cloud.proxy.reset([rule])
    said: list[str] = []
    for attempt in range(REPEATS):
        renew(attempt)
        result = made.run(command, check=False)
        said.append(result.output)
        cloud.proxy.reset()
        assert cloud.mortal.failure is None, f"{command} with {rule}: {cloud.mortal.failure}"
        if result.status == 0:
            return said
        restore_cut_off_checkpoints(made.engine.env["PULUMI_BACKEND_URL"], said.append)
        release_stale_lock(made.engine, made.stack)
    raise AssertionError(f"{command} with {rule} never succeeded: {said}")


def _one_life(made: Project, cloud: Vcenter, seed: int) -> None:
    chance = random.Random(seed)
    cloud.mortal.forget_changes()
    before = cloud.machines()
    said: list[str] = []
    for nodes, cpus, template in STEPS:
        renew = functools.partial(declare, made, cloud, nodes, cpus, template)
        said += _until_done(made, cloud, chance, "up", renew)
        ordinals = [owner.rsplit("/", 1)[1] for owner in cloud.owned()]
        assert ordinals == [str(number) for number in range(nodes)], f"seed {seed}: {nodes} nodes"
        for number in range(nodes):
            with cloud.machine(f"gpu-train-{number}") as machine:
                assert machine.config.hardware.numCPU == cpus, f"seed {seed}"
        state: dict[str, Any] = made.engine.state(made.stack)
        said.append(json.dumps(state))
        nodes_told = [one["outputs"] for one in state["resources"] if one["type"].endswith(NODE)]
        assert {told["powerState"] for told in nodes_told} == {"poweredOn"}, f"seed {seed}"
        assert [told["drifted"] for told in nodes_told] == [{}] * nodes, f"seed {seed}"
        if chance.random() < DESTROYS:
            break
    said += _until_done(made, cloud, chance, "destroy")
    assert cloud.machines() == before, f"seed {seed}: after destroy"
    for secret in (PASSWORD, SECRET):
        assert not any(secret in text for text in said), f"seed {seed}: a secret was said"


def life(project: Callable[..., Project], cloud: Vcenter, seed: int) -> None:
    made = project({"__main__.py": PROGRAM})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    _one_life(made, cloud, seed)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_group_survives_a_failure_of_whatever_makes_it(
    project: Callable[..., Project], cloud: Vcenter, seed: int
) -> None:
    life(project, cloud, seed)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(SEEDS, CAMPAIGN))
def test_campaign_of_engines(project: Callable[..., Project], cloud: Vcenter, seed: int) -> None:
    life(project, cloud, seed)
