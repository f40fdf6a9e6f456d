"""Upgrading virtual hardware, with tasks that are played."""

import dataclasses
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from gpufleet_vcenter import tasks
from gpufleet_vcenter.converge import upgrade
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError
from gpufleet_vcenter.tasks import TaskTimeoutError
from tests.vcenter.test_cluster_node import settings
from tests.vcenter.test_outputs import LIVE


class Machine:
    """Records its arguments."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._moId = "vm-7"

    def UpgradeVM_Task(self, version: str) -> None:
        self.asked.append(version)


def upgraded(monkeypatch: pytest.MonkeyPatch, problem: Exception | None) -> list[str]:
    machine = Machine()

    def run(_session: Any, start: Any, seconds: int) -> None:
        assert seconds == settings().timeouts.reconfigure
        start()
        if problem is not None:
            raise problem

    monkeypatch.setattr(tasks, "run", run)
    session: Any = None
    upgrade(session, settings(), dataclasses.replace(LIVE, reference=machine), 21)
    return machine.asked


@pytest.mark.parametrize("answer", [None, vim.fault.AlreadyUpgraded(), OutcomeUnknownError("lost")])
def test_a_machine_that_has_the_version_is_fine(
    monkeypatch: pytest.MonkeyPatch, answer: Exception | None
) -> None:
    assert upgraded(monkeypatch, answer) == ["vmx-21"]


@pytest.mark.parametrize(
    ("problem", "code", "expected"),
    [
        (
            vmodl.fault.NotSupported(msg="vmx-21 is too new"),
            "vsphere-unsupported",
            "upgrading the virtual hardware of gpu-0 from 20 to 21 failed: vmx-21 is too new",
        ),
        (
            TaskTimeoutError(300, 40, "task-9"),
            "vsphere-timeout",
            "from 20 to 21 was not done after 300 s at 40 % (task-9). gpu-0 exists",
        ),
    ],
)
def test_what_is_told(
    monkeypatch: pytest.MonkeyPatch, problem: Exception, code: str, expected: str
) -> None:
    with pytest.raises(VsphereError) as caught:
        upgraded(monkeypatch, problem)
    assert caught.value.code == code
    assert expected in str(caught.value)
