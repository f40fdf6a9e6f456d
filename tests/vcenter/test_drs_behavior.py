"""DRS permissions for one machine: the change of its cluster's settings."""

from typing import Any

import pytest
from pyVmomi import vim

from gpufleet.spec.platforms.vsphere_devices import DrsBehavior
from gpufleet_vcenter.drs import override_change
from tests.vcenter.test_outputs import LIVE


def row(behavior: str | None, *, enabled: bool = True) -> Any:
    return vim.cluster.DrsVmConfigInfo(key=LIVE.reference, enabled=enabled, behavior=behavior)


@pytest.mark.parametrize(
    ("wanted", "now", "operation"),
    [
        (DrsBehavior.MANUAL, None, "add"),
        (DrsBehavior.MANUAL, row("manual"), None),
        (DrsBehavior.MANUAL, row("fullyAutomated"), "edit"),
        (DrsBehavior.MANUAL, row("manual", enabled=False), "edit"),
        (DrsBehavior.DISABLED, None, "add"),
        (DrsBehavior.DISABLED, row("manual", enabled=False), None),
        (DrsBehavior.DISABLED, row("manual"), "edit"),
        # The simulator does not survive a removal, so only this test has one.
        (None, row("manual"), "remove"),
        (None, None, None),
    ],
)
def test_each_change(wanted: DrsBehavior | None, now: Any, operation: str | None) -> None:
    spec = override_change(wanted, now, LIVE)
    if operation is None or spec is None:
        assert (operation, spec) == (None, None)
        return
    (change,) = spec.drsVmConfigSpec
    assert change.operation == operation
    if wanted is None:
        assert (change.removeKey, change.info) == (LIVE.reference, None)
    else:
        assert change.info.key == LIVE.reference
        assert change.info.enabled is (wanted is not DrsBehavior.DISABLED)
        assert change.info.behavior == (None if wanted is DrsBehavior.DISABLED else wanted.value)
