"""A group under the real engine while something fails at any call: seeded, and always the declared
machines.

A run makes the group, does operations in any order (grow, shrink, change, replace, nothing, destroy
and make again), and destroys it. In each command the seed chooses one call to vCenter and who fails
there: the machine that runs Pulumi (engine and providers at once), the provider's process alone,
the connection, or vCenter. Then the same command is run again, with a renewed join token. In some
runs another backend has a stack of the same name.
"""

import functools
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpufleet_sandbox.checkpoints import restore_cut_off_checkpoints
from gpufleet_sandbox.stack_repair import release_stale_lock
from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter, inventory, simulated
from tests.engine.vsphere.test_group import PROGRAM, nodes_of
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = [pytest.mark.killed_engines]

SEEDS = 1
CAMPAIGN = 60
CALLS = 60
"""Calls of a command: a later one than there are is not a failure at all, and fine."""
REPEATS = 4
OPERATIONS = 4
"""Operations of each run, after the group is created."""
RIVALS = 0.3
"""Number of runs with another backend that has a stack of the same name."""
LOG = "GPUFLEET_CHAOS_LOG"
"""Names a file that gets a line for each failure that took place."""
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


TIERS = ("first", "second")
"""Labels that nodes register with: another one makes another machine."""
Group = tuple[int, int, str]
"""Machines, processors, and tier."""


def operation(chance: random.Random, now: Group) -> Group | None:
    """The next declaration; None: the group is destroyed, and created again unchanged."""
    nodes, cpus, tier = now
    kind = chance.choice(("grow", "shrink", "change", "replace", "grow and change", "same", "make"))
    if kind == "make":
        return None
    if "grow" in kind:
        nodes = min(nodes + 1, 3)
    if kind == "shrink":
        nodes = max(nodes - 1, 1)
    if "change" in kind:
        cpus = 24 - cpus
    if kind == "replace":
        tier = TIERS[1 - TIERS.index(tier)]
    return nodes, cpus, tier


def declare(
    made: Project,
    cloud: Vcenter,
    group: Group,
    renewed: int,
    name: str = "train",
    *,
    word: bool = False,
) -> None:
    """Write the declaration.

    Args:
        made: The project.
        cloud: The vCenter.
        group: What is declared.
        renewed: How often the join token was renewed.
        name: Of the pool.
        word: Whether machines that run may be replaced. Default: where they have 16 processors.
    """
    nodes, cpus, tier = group
    pool = {
        "name": name,
        "labels": {"tier": tier},
        "gpu": "A100-80GB",
        "nodes": {"min": nodes, "max": nodes},
        "vsphere": {
            "cpus": cpus,
            "memory_gib": 64,
            "template": "gpu-template",
            "update_policy": "replace" if word or cpus != 8 else "restart",
        },
    }
    given = {"pool": pool, "port": cloud.proxy.port, "token": f"{SECRET}-{renewed}"}
    made.write({"given.json": json.dumps(given)})


def kill_engine() -> None:
    """Effect of a power failure on the machine that runs Pulumi."""
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
    """Run the command until it succeeds, as a user does. Returns its output."""
    rule = _rule(chance, cloud)
    cloud.proxy.reset([rule])
    said: list[str] = []
    for attempt in range(REPEATS):
        renew(attempt)
        result = made.run(command, check=False)
        said.append(result.output)
        if not attempt and cloud.proxy.total >= rule.nth:
            _note(command, rule)
        cloud.proxy.reset()
        assert cloud.mortal.failure is None, f"{command} with {rule}: {cloud.mortal.failure}"
        if result.status == 0:
            return said
        restore_cut_off_checkpoints(made.engine.env["PULUMI_BACKEND_URL"], said.append)
        release_stale_lock(made.engine, made.stack)
    raise AssertionError(f"{command} with {rule} never succeeded: {said}")


def _note(command: str, rule: Rule) -> None:
    if LOG in os.environ:
        who = getattr(rule.do, "__name__", "connection").strip("<>")
        with Path(os.environ[LOG]).open("a") as file:
            file.write(json.dumps([command, rule.action.value, who, rule.nth]) + "\n")


def _nodes(made: Project) -> dict[str, Any]:
    """Outputs of each machine that the state has, by name."""
    return {one["name"]: one for one in nodes_of(made).values()}


def _validate(made: Project, cloud: Vcenter, group: Group, where: str) -> dict[str, str]:
    """The machines are the declared ones, each once. Returns their uuids by name."""
    nodes, cpus, _ = group
    names = [f"gpu-train-{number}" for number in range(nodes)]
    there = sorted(name.split()[0] for name, owner in cloud.machines().items() if owner)
    assert [name for name in there if not name.startswith("gpu-other")] == names, where
    for name in names:
        with cloud.machine(name) as machine:
            assert machine.config.hardware.numCPU == cpus, where
    known = _nodes(made)
    assert sorted(known) == names, where
    assert {told["powerState"] for told in known.values()} == {"poweredOn"}, where
    assert all(told["drifted"] == {} for told in known.values()), where
    return {name: told["instanceUuid"] for name, told in known.items()}


class Rival:
    """Another backend with a stack of the same project and name: it has its own machine under the
    same owner, and tries to take ours."""

    def __init__(self, project: Callable[..., Project], cloud: Vcenter, like: Project) -> None:
        self._cloud = cloud
        self._made = project({"__main__.py": PROGRAM, "Pulumi.yaml": NAMED}, name="rival")
        backend = self._made.folder / "backend"
        backend.mkdir()
        self._made.engine.env["PULUMI_BACKEND_URL"] = backend.as_uri()
        self._made.stack = like.stack
        self._made.engine.stack_init(like.stack)
        self._made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
        declare(self._made, cloud, (1, 8, TIERS[0]), 0, "other")
        assert self._made.run("up").status == 0
        self._uuid = self._seen()

    def _seen(self) -> str:
        with self._cloud.machine("gpu-other-0") as machine:
            assert machine.config.hardware.numCPU == 8
            return str(machine.config.instanceUuid)

    def attack(self, where: str) -> None:
        """Declare the names of the other stack: nothing is touched."""
        declare(self._made, self._cloud, (2, 16, TIERS[0]), 0)
        result = self._made.run("up", check=False)
        assert result.status != 0, where
        assert "vsphere-name-taken" in result.output, (where, result.output)

    def leave(self, where: str) -> None:
        """Its machine is as it was, and goes with its stack."""
        assert self._seen() == self._uuid, where
        assert self._made.run("destroy").status == 0, where


NAMED = "name: demo\nruntime: python\n"


def _one_life(made: Project, cloud: Vcenter, seed: int, rival: Callable[[], Rival]) -> None:
    chance = random.Random(seed)
    cloud.mortal.forget_changes()
    before = cloud.machines()
    other = rival() if chance.random() < RIVALS else None
    said: list[str] = []
    now: Group = (2, 8, TIERS[0])
    uuids: dict[str, str] = {}
    for step in range(OPERATIONS + 1):
        where = f"seed {seed}, step {step}"
        wanted = operation(chance, now) if step else now
        if wanted is None:
            said += _until_done(made, cloud, chance, "destroy")
            left = [name for name, owner in cloud.machines().items() if owner]
            assert len(left) == (other is not None), f"{where}: {left}"
            uuids = {}
        word = wanted is not None and wanted[2] != now[2]
        if word:
            uuids = {}
        now = wanted or now
        renew = functools.partial(declare, made, cloud, now, word=word)
        said += _until_done(made, cloud, chance, "up", renew)
        after = _validate(made, cloud, now, where)
        kept = {name: uuids[name] for name in uuids.keys() & after.keys()}
        assert kept == {name: after[name] for name in kept}, f"{where}: a machine was made anew"
        uuids = after
        if other is not None and step == 1:
            other.attack(where)
            assert _validate(made, cloud, now, where) == uuids, "the rival touched nothing"
    said.append(json.dumps(made.engine.state(made.stack)))
    said += _until_done(made, cloud, chance, "destroy")
    if other is not None:
        other.leave(f"seed {seed}")
    assert cloud.machines() == before, f"seed {seed}: after destroy"
    for secret in (PASSWORD, SECRET):
        assert not any(secret in text for text in said), f"seed {seed}: a secret was said"


def life(project: Callable[..., Project], cloud: Vcenter, seed: int) -> None:
    made = project({"__main__.py": PROGRAM})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    _one_life(made, cloud, seed, lambda: Rival(project, cloud, made))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_group_survives_a_failure_of_whatever_makes_it(
    project: Callable[..., Project], cloud: Vcenter, seed: int
) -> None:
    life(project, cloud, seed)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(SEEDS, CAMPAIGN))
def test_campaign_of_engines(project: Callable[..., Project], cloud: Vcenter, seed: int) -> None:
    life(project, cloud, seed)
