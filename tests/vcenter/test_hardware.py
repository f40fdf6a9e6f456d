"""Upgrading virtual hardware, with tasks that are played."""

from typing import Any

import pytest
from pyVmomi import vim, vmodl

from gpufleet_vcenter import tasks
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError
from gpufleet_vcenter.tasks import Begin, TaskTimeoutError, changed_until


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
        assert seconds == 300
        start()
        if problem is not None:
            raise problem

    monkeypatch.setattr(tasks, "run", run)
    session: Any = None

    def lacking() -> Begin | None:
        doing = "upgrading the virtual hardware of gpu-0 from 20 to 21"
        return None if machine.asked else (doing, lambda: machine.UpgradeVM_Task("vmx-21"))

    changed_until(session, machine, lacking, 300, "gpu-0", "machine")
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
            "from 20 to 21 was not done after 300 s at 40 % (task-9). gpu-0 may change yet",
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
