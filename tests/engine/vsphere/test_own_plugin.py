"""Machines as resources of the package's own plugin, under the real engine: nothing that runs is
lost, whatever the declaration, the engine, or another stack does."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpufleet_sandbox.engine import EngineError
from gpufleet_sandbox.stack_repair import release_stale_lock
from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter
from tests.engine.vsphere.test_engine_chaos import kill_engine
from tests.engine.vsphere.test_group import PROGRAM
from tests.vcenter.fault_proxy import Action, Rule

ROOT = Path(__file__).parents[3]
PLUGIN = "pulumi-resource-gpufleet"
TOKEN_OF_ANOTHER_RESOURCE = PROGRAM.replace(
    'pulumi.Output.secret(given["token"])', 'Token("token").value'
).replace(
    "given = json",
    """
from pulumi.dynamic import CreateResult, Resource, ResourceProvider


class Tokens(ResourceProvider):
    def create(self, props):
        return CreateResult("token", {"value": "made-by-another-resource"})


class Token(Resource):
    value: pulumi.Output[str]

    def __init__(self, name):
        super().__init__(Tokens(), name, {"value": None})


given = json""",
    1,
)
NONE: Mapping[str, str] = {}


class Group:
    """A project with a group of machines, and its settings."""

    def __init__(self, made: Project, cloud: Vcenter) -> None:
        self.made, self.cloud = made, cloud
        made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})

    def declare(
        self, nodes: int, token: str = SECRET, labels: Mapping[str, str] = NONE, **options: Any
    ) -> Project:
        pool = {
            "name": "train",
            "gpu": "A100-80GB",
            "nodes": {"min": nodes, "max": nodes},
            "labels": dict(labels),
            "vsphere": {"cpus": 8, "memory_gib": 64, "template": "gpu-template", **options},
        }
        given = {"pool": pool, "port": self.cloud.proxy.port, "token": token}
        self.made.write({"given.json": json.dumps(given)})
        return self.made

    def resources(self, kind: str) -> list[dict[str, Any]]:
        """Resources of one type that the state has."""
        found = self.made.engine.state(self.made.stack)["resources"]
        return [one for one in found if one["type"] == f"gpufleet:vsphere:{kind}"]

    def uuids(self) -> list[str]:
        """In order of the machines' keys."""
        (group,) = self.resources("MachineGroup")
        return [row["instanceUuid"] for _, row in sorted(group["outputs"]["ids"].items())]


@pytest.fixture
def group(project: Callable[..., Project], cloud: Vcenter) -> Group:
    return Group(project({"__main__.py": PROGRAM}), cloud)


def test_a_token_of_another_resource_is_not_known_in_a_preview(
    project: Callable[..., Project], cloud: Vcenter
) -> None:
    group = Group(project({"__main__.py": TOKEN_OF_ANOTHER_RESOURCE}), cloud)
    made = group.declare(2)
    made.run("preview")
    made.run("up")
    assert len(cloud.owned()) == 2
    assert len(group.uuids()) == 2
    made.run("up", "--expect-no-changes")
    made.run("destroy")
    assert cloud.owned() == []


def test_a_mistake_is_shown_in_the_preview_and_loses_no_machine(
    group: Group, cloud: Vcenter
) -> None:
    group.declare(4).run("up")
    before = group.uuids()
    for wrong in ({"template": "gpu-templat"}, {"memory_gib": 2000, "update_policy": "replace"}):
        made = group.declare(4, **wrong)
        for command in ("preview", "up"):
            with pytest.raises(EngineError) as refused:
                made.run(command)
            assert "Traceback" not in str(refused.value)
        assert len(cloud.owned()) == 4
    group.declare(4).run("up", "--expect-no-changes")
    assert group.uuids() == before
    group.made.run("destroy")


def test_a_first_replacement_that_fails_stops_the_others(group: Group, cloud: Vcenter) -> None:
    group.declare(4).run("up")
    before = group.uuids()
    never = Rule(Action.FAULT, "PowerOnMultiVM_Task", nth=0, fault="NoCompatibleHost")
    cloud.proxy.reset([never])
    made = group.declare(4, labels={"tier": "other"}, update_policy="replace")
    result = made.run("up", check=False)
    assert result.status != 0
    running = {
        name.split()[0] for name, owner in cloud.machines().items() if owner and "next" not in name
    }
    assert {"gpu-train-1", "gpu-train-2", "gpu-train-3"} <= running
    assert set(group.uuids()) <= set(before)
    cloud.proxy.reset()
    made.run("up")
    assert sorted(name.split()[0] for name, owner in cloud.machines().items() if owner) == [
        f"gpu-train-{number}" for number in range(4)
    ]
    made.run("destroy")
    assert cloud.owned() == []


def test_one_more_machine_with_a_renewed_token(group: Group, cloud: Vcenter) -> None:
    group.declare(2, token="first-token").run("up")
    before = group.uuids()
    made = group.declare(3, token="second-token")
    result = made.run("preview")
    assert not [step for step in result.steps if "replace" in step[0]], result.steps
    made.run("up")
    assert group.uuids()[:2] == before
    assert len(cloud.owned()) == 3
    made.run("destroy")


@pytest.mark.nightly
def test_a_second_backend_with_the_same_names(group: Group, cloud: Vcenter, tmp_path: Path) -> None:
    made = group.declare(2)
    made.run("up")
    before = cloud.machines()
    other = tmp_path / "other-backend"
    other.mkdir()
    made.engine.env["PULUMI_BACKEND_URL"] = f"file://{other}"
    made.engine.stack_init(made.stack)
    result = made.run("up", check=False)
    assert "vsphere-name-taken" in result.output
    made.run("destroy")
    assert cloud.machines() == before, "of the first backend"


@pytest.mark.killed_engines
def test_a_kill_and_then_a_destroy(group: Group, cloud: Vcenter) -> None:
    before = cloud.machines()
    made = group.declare(3)
    cloud.proxy.reset([Rule(Action.AFTER, "CloneVM_Task", nth=3, do=kill_engine)])
    assert made.run("up", check=False).status != 0
    cloud.proxy.reset()
    release_stale_lock(made.engine, made.stack)
    assert cloud.owned(), "clones that no state has"
    made.run("destroy")
    assert cloud.machines() == before


@pytest.mark.nightly
def test_a_late_machine_is_recorded_and_waited_for_again(group: Group, cloud: Vcenter) -> None:
    made = group.declare(1, wait_for="tools", timeouts={"address": 2})
    with pytest.raises(EngineError) as late:
        made.run("up")
    assert "runs and stays" in str(late.value)
    (before,) = group.uuids()
    assert group.resources("MachineGroup")[0]["initErrors"]
    made = group.declare(1)
    made.run("up")
    assert group.uuids() == [before]
    assert group.resources("MachineGroup")[0].get("initErrors") is None
    made.run("destroy")
    assert cloud.owned() == []


def test_credentials_of_the_stack_and_a_state_without_secrets(group: Group, cloud: Vcenter) -> None:
    made = group.declare(1)
    for name in ("VSPHERE_USER", "VSPHERE_PASSWORD"):
        del made.engine.env[name]
    made.engine.call(["config", "set", "--stack", made.stack, "vsphere:user", USER])
    made.engine.call(
        ["config", "set", "--stack", made.stack, "--secret", "vsphere:password", PASSWORD]
    )
    made.run("up")
    state = json.dumps(made.engine.state(made.stack))
    assert PASSWORD not in state
    assert SECRET not in state
    made.run("destroy")
    assert cloud.owned() == []


def test_the_plugin_is_found_by_the_projects_file(
    group: Group, cloud: Vcenter, tmp_path: Path
) -> None:
    """In an environment whose PATH does not have it."""
    made = group.declare(1)
    folders = made.engine.env["PATH"].split(os.pathsep)
    (place,) = {folder for folder in folders if (Path(folder) / PLUGIN).exists()}
    own = tmp_path / "venv" / "bin"
    own.mkdir(parents=True)
    (own / PLUGIN).write_text((Path(place) / PLUGIN).read_text())
    (own / PLUGIN).chmod(0o755)
    for name in Path(place).iterdir():
        if name.name != PLUGIN:
            (tmp_path / "bin").mkdir(exist_ok=True)
            (tmp_path / "bin" / name.name).symlink_to(name)
    path = [str(tmp_path / "bin") if folder == place else folder for folder in folders]
    made.engine.env["PATH"] = os.pathsep.join(path)
    providers = f"plugins:\n  providers:\n    - {{name: gpufleet, path: {own}}}\n"
    made.write({"Pulumi.yaml": f"name: demo\nruntime: python\n{providers}"})
    made.run("up")
    assert len(group.uuids()) == 1
    made.run("destroy")


def test_more_than_four_at_a_time(group: Group, cloud: Vcenter) -> None:
    """The plugin serves as many calls as the engine makes."""
    made = group.declare(9, rollout_width=8)
    made.run("up", "--parallel", "12")
    together = threading.Barrier(8)
    cloud.proxy.reset(
        [Rule(Action.BEFORE, "Destroy_Task", nth=0, do=lambda: together.wait(60) and None)]
    )
    group.declare(1, rollout_width=8).run("up", "--parallel", "12")
    assert not together.broken, "eight machines were destroyed at the same time"
    cloud.proxy.reset()
    made.run("destroy")


def test_a_group_in_a_yaml_program(
    project: Callable[..., Project], cloud: Vcenter, engine_layout: Any
) -> None:
    if not (engine_layout.bin / "pulumi-language-yaml").exists():
        pytest.skip("pulumi-language-yaml is not made yet; run `gpufleet sandbox programs`")
    text = f"""\
name: yaml-group
runtime: yaml
packages:
  gpufleet: {ROOT / "components"}
resources:
  pool:
    type: gpufleet:VsphereGpuNodeGroup
    properties:
      catalogue: "2026.11"
      pool:
        name: train
        gpu: A100-80GB
        nodes: {{min: 2, max: 2}}
        vsphere: {{cpus: 8, memoryGib: 64, template: gpu-template}}
      connection:
        server: 127.0.0.1
        port: {cloud.proxy.port}
        plainHttp: true
        datacenter: DC0
        computeCluster: DC0_C0
        join:
          method: rke2
          endpoint: https://10.0.0.10:9345
          token:
            fn::secret: {SECRET}
outputs:
  names: ${{pool.nodeNames}}
  uuids: ${{pool.instanceUuids}}
"""
    made = project({"Pulumi.yaml": text}, name="yaml-group", runtime="yaml")
    group = Group(made, cloud)
    made.run("preview")
    made.run("up")
    outputs = made.engine.outputs(made.stack)
    assert outputs["names"] == ["gpu-train-0", "gpu-train-1"]
    assert outputs["uuids"] == group.uuids()
    assert len(cloud.owned()) == 2
    assert SECRET not in json.dumps(made.engine.state(made.stack))
    made.run("up", "--expect-no-changes")
    made.run("destroy")
    assert cloud.owned() == []


@pytest.mark.killed_engines
def test_a_killed_growth_that_is_taken_back_leaves_nothing(group: Group, cloud: Vcenter) -> None:
    group.declare(2).run("up")
    before = group.uuids()
    made = group.declare(4)
    cloud.proxy.reset([Rule(Action.AFTER, "PowerOnMultiVM_Task", nth=2, do=kill_engine)])
    assert made.run("up", check=False).status != 0
    cloud.proxy.reset()
    release_stale_lock(made.engine, made.stack)
    assert len(cloud.owned()) == 4, "two that no state has"
    result = group.declare(2).run("preview", "--diff")
    assert "gpu-train-2" in result.output
    assert "nothing declares it" in result.output
    made.run("up")
    assert len(cloud.owned()) == 2
    assert group.uuids() == before
    made.run("up", "--expect-no-changes")
    made.run("destroy")
    assert cloud.owned() == []


def test_another_name_of_the_stack_or_of_objects_touches_no_machine(
    group: Group, cloud: Vcenter
) -> None:
    made = group.declare(2)
    made.run("up")
    before = group.uuids()
    made.engine.call(["stack", "rename", "renamed", "--stack", made.stack]).checked()
    made.stack = "renamed"
    cloud.proxy.reset()
    made.run("up")
    group.declare(2, template="/DC0/vm/gpu-template").run("up")
    assert cloud.proxy.changing == {}
    assert group.uuids() == before
    group.declare(3, template="/DC0/vm/gpu-template").run("up")
    assert group.uuids()[:2] == before
    made.run("destroy")
    assert cloud.owned() == []
