"""States of the resources from before the group, over running machines: no machine is changed, and
none is left over."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.conftest import Project
from tests.engine.recorded_state import MANIFEST
from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.test_group import PROGRAM
from tests.engine.vsphere.test_own_plugin import Group

GROUP = "gpufleet:vsphere:MachineGroup"


def former(resources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same machines as `tests/recorded/0.1.0/states/vsphere-gpu-modes.json` has them: a batch,
    and a resource for each machine."""
    rows: list[dict[str, Any]] = []
    for one in resources:
        if one["type"] != GROUP:
            rows.append(one)
            continue
        (owner,) = [row for row in resources if row["type"].endswith(":MachineOwner")]
        common = owner["inputs"]["common"]
        given, outs = one["inputs"], one["outputs"]["nodes"]
        own = [
            {k: v for k, v in given["nodes"][key].items() if common.get(k) != v}
            for key in given["order"]
        ]
        kept = {key: given[key] for key in ("group", "life", "width", "preflight")}
        batch = {
            **one,
            "type": "gpufleet:vsphere:MachineBatch",
            "urn": one["urn"].replace(":MachineGroup::pool-machines", ":MachineBatch::pool-batch"),
            "inputs": {**kept, "common": common, "nodes": own},
            "outputs": {**kept, "common": common, "nodes": own},
        }
        rows.append(batch)
        for key in given["order"]:
            machine = {**given["nodes"][key], "life": given["life"]}
            rows.append(
                {
                    **one,
                    "type": "gpufleet:vsphere:Machine",
                    "id": outs[key]["instanceUuid"],
                    "urn": one["urn"].replace(
                        ":MachineGroup::pool-machines", f":Machine::pool-{key}"
                    ),
                    "inputs": machine,
                    "outputs": outs[key],
                    "dependencies": [batch["urn"]],
                }
            )
    return rows


@pytest.fixture
def group(project: Callable[..., Project], cloud: Vcenter) -> Group:
    """Two machines, whose state is that of the former resources."""
    made = Group(project({"__main__.py": PROGRAM}), cloud)
    stack = made.declare(2)
    stack.run("up")
    file = stack.folder.parent / "former.json"
    named = ["--stack", stack.stack, "--file", str(file)]
    stack.engine.call(["stack", "export", "--show-secrets", *named]).checked()
    state = json.loads(file.read_text())["deployment"]
    (settings,) = stack.folder.rglob(f"Pulumi.{stack.stack}.yaml")
    (salt,) = re.findall(r"^encryptionsalt: (\S+)$", settings.read_text(), re.MULTILINE)
    kept = {"type": "passphrase", "state": {"salt": salt}}
    rows = former(state["resources"])
    deployment = {"manifest": MANIFEST, "secrets_providers": kept, "resources": rows}
    file.write_text(json.dumps({"version": 3, "deployment": deployment}))
    stack.engine.call(["stack", "import", *named]).checked()
    assert len(made.resources("Machine")) == 2
    return made


def test_the_group_takes_the_machines_over(group: Group, cloud: Vcenter) -> None:
    before = sorted(one["id"] for one in group.resources("Machine"))
    cloud.proxy.reset()
    result = group.made.run("preview")
    assert not [step for step in result.steps if "replace" in step[0]], result.steps
    group.made.run("up")
    assert cloud.proxy.changing == {}, "no machine is touched"
    assert (
        sorted(group.uuids())
        == before
        == sorted(group.made.engine.outputs(group.made.stack)["uuids"])
    )
    assert group.resources("Machine") == group.resources("MachineBatch") == []
    group.made.run("up", "--expect-no-changes")
    group.made.run("destroy")
    assert cloud.owned() == []


def test_a_destroy_leaves_nothing(group: Group, cloud: Vcenter) -> None:
    group.made.run("destroy")
    assert cloud.owned() == []
