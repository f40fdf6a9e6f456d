"""`gpufleet vsphere orphans` against vcsim."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from pyVmomi import vim

from gpufleet.cli.output import UnreadableInputError
from gpufleet.cli.vsphere import command
from tests.engine.vcenter_fixture import LIFE, PASSWORD, Vcenter
from tests.engine.vsphere.direct import created, finished, group_inputs
from tests.engine.vsphere.test_copies import half_made


def asked(cloud: Vcenter, *more: str) -> Result:
    arguments = ["orphans", *more, "--server", "127.0.0.1", "--port", str(cloud.proxy.port)]
    return CliRunner().invoke(command, [*arguments, "--plain-http", "--datacenter", "DC0"])


def state(folder: Path, *declared: dict[str, Any]) -> str:
    ids = {str(number): one for number, one in enumerate(declared)}
    group = {"group": "organisation/project/stack/group", "life": LIFE}
    kind = "gpufleet:vsphere:MachineGroup"
    resources = [{"type": kind, "inputs": group, "outputs": {"ids": ids}}]
    file = folder / "state.json"
    file.write_text(json.dumps({"version": 3, "deployment": {"resources": resources}}))
    return str(file)


def test_what_no_state_declares_is_told_and_left(cloud: Vcenter, tmp_path: Path) -> None:
    declared, orphan = created(cloud.node(1)), created(cloud.node(2, life="gone"))
    created(cloud.node(3, owner="organisation/project/other/group/3", life="else"))
    half_made(cloud, group_inputs(cloud, 4))
    with cloud.machine("gpu-1") as machine, cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        copied = vim.vm.CloneSpec(
            location=vim.vm.RelocateSpec(pool=machine.resourcePool),
            config=vim.vm.ConfigSpec(extraConfig=marks(machine)),
        )
        finished(machine.CloneVM_Task(datacenter.vmFolder, "restored", copied))
    cloud.proxy.reset()
    answer = asked(cloud, state(tmp_path, declared), "--format", "json")
    assert answer.exit_code == 1, answer.output
    found = {row["name"]: row for row in json.loads(answer.output)["machines"]}
    assert {name: row["standing"] for name, row in found.items()} == {
        "gpu-1": "declared",
        "gpu-2": "orphan",
        "gpu-3": "elsewhere",
        "gpu-4": "pending",
        "restored": "copy",
    }
    assert found["gpu-4"]["pending"] is True
    assert found["gpu-2"]["path"] == "/DC0/vm/gpu-2"
    assert cloud.proxy.changing == {}, "it only reads"

    text = asked(cloud, state(tmp_path, declared)).output
    assert (
        f"orphan: /DC0/vm/gpu-2 ({orphan['moRef']}, instance uuid {orphan['instanceUuid']}, "
        "powered on) of organisation/project/stack/group/2"
    ) in text
    assert "5 machines with gpufleet's marks; left: 1 orphan, 1 copy, 1 pending" in text
    finished_removal(cloud)


def marks(machine: Any) -> list[Any]:
    return [
        vim.option.OptionValue(key=entry.key, value=entry.value)
        for entry in machine.config.extraConfig
        if entry.key.startswith("gpufleet.")
    ]


def finished_removal(cloud: Vcenter) -> None:
    with cloud.machine("restored") as machine:
        finished(machine.Destroy_Task())


def test_nothing_is_wrong(cloud: Vcenter, tmp_path: Path) -> None:
    declared = created(cloud.node(1))
    answer = asked(cloud, state(tmp_path, declared))
    assert answer.exit_code == 0, answer.output
    assert "1 machines with gpufleet's marks; left: none" in answer.output
    destroyed = asked(cloud, "--stack", "organisation/project/stack")
    assert destroyed.exit_code == 1


def test_what_was_not_completed_is_left_too(cloud: Vcenter, tmp_path: Path) -> None:
    """After a destroy during a clone, or a reverted growth, only this is visible: the state has the
    id, and vCenter has machines without a resource."""
    inputs = group_inputs(cloud, 4)
    half_made(cloud, inputs)
    file = tmp_path / "state.json"
    owner = {"type": "gpufleet:vsphere:MachineOwner", "id": LIFE}
    group = {"inputs": {"group": inputs["group"]}, **owner}
    file.write_text(json.dumps({"version": 3, "deployment": {"resources": [group]}}))
    answer = asked(cloud, str(file))
    assert answer.exit_code == 1, answer.output
    assert "pending: /DC0/vm/gpu-4 (" in answer.output
    assert "1 machines with gpufleet's marks; left: 1 pending" in answer.output


def test_what_cannot_be_read(cloud: Vcenter, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    for text, expected in (
        ("{", "Expecting property name"),
        ("[]", "it is not an exported state"),
        ("{}", "give the output of `pulumi stack export`"),
    ):
        file.write_text(text)
        problem = asked(cloud, str(file)).exception
        assert isinstance(problem, UnreadableInputError)
        assert expected in str(problem)
        assert PASSWORD not in str(problem)
    absent = asked(cloud, str(tmp_path / "none.json")).exception
    assert isinstance(absent, UnreadableInputError)
    assert "none.json" in str(absent)
