"""The providers in the test's own process: nothing is killed, and every error is an object."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    UpdateResult,
)

from gpufleet.components_base.resource_plugin import NotReadyError
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.group_provider import VsphereGpuNodeGroupProvider
from gpufleet_vcenter.group_run import change, look, make
from gpufleet_vcenter.outputs import inputs_kept
from gpufleet_vcenter.properties import changes, replaces
from gpufleet_vcenter.remove import drop
from gpufleet_vcenter.settings import NodeSettings, normalised, problems_of
from tests.engine.vcenter_fixture import LIFE, PASSWORD, SECRET, Vcenter
from tests.vcenter.test_changes import refusals

Made = Callable[..., Vcenter]
# pyVmomi leaves the connection of a refused login to the collector.
UNCLOSED = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def refused(code: str, operation: Callable[[], Any]) -> str:
    with pytest.raises((VsphereError, NotReadyError)) as caught:
        operation()
    text = str(caught.value)
    assert text.startswith(f"{code}: "), text
    assert PASSWORD not in text
    assert SECRET not in text
    return text


def created(node: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.create(node).outs or {}


def read(outs: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.read(outs["instanceUuid"], outs).outs or {}


def group_inputs(cloud: Vcenter, *ordinals: int, **more: Any) -> dict[str, Any]:
    """Inputs of a group with these machines."""
    nodes = {str(ordinal): {**cloud.node(ordinal), **more} for ordinal in ordinals}
    for node in nodes.values():
        del node["life"]
    boot = {key: {"userData": node.pop("userData")} for key, node in nodes.items()}
    return {
        "group": "organisation/project/stack/group",
        "life": LIFE,
        "names": "gpu-",
        "order": list(nodes),
        "width": 16.0,
        "rolloutWidth": 4.0,
        "preflight": "preview",
        "nodes": nodes,
        "boot": boot,
    }


def owner_inputs(cloud: Vcenter) -> dict[str, Any]:
    """Inputs of the id of the group."""
    own = ("name", "owner", "generation", "life", "userData")
    common = {key: value for key, value in cloud.node(0).items() if key not in own}
    return {"group": "organisation/project/stack/group", "common": common, "width": 16.0}


class Machines:
    """Operations on one machine, as a group does them."""

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        given = normalised(news)
        wrong = problems_of(NodeSettings, given)
        if olds and not wrong:
            wrong = refusals(inputs_kept(normalised(olds)), inputs_kept(given))
        return CheckResult(news, [CheckFailure(path, reason) for path, reason in wrong])

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        found = changes(normalised(olds), inputs_kept(normalised(news)))
        replaced = replaces(found, str(news.get("updatePolicy", "refuse")))
        return DiffResult(bool(found), replaced)

    def create(self, props: dict[str, Any]) -> CreateResult:
        outs, late = make(normalised(props))
        if late is not None:
            raise NotReadyError(str(late), outs["instanceUuid"], outs)
        return CreateResult(outs["instanceUuid"], outs)

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        outs = look(id_, normalised(props))
        return ReadResult("" if outs is None else id_, outs or {})

    def update(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(change(id_, normalised(olds), normalised(news)))

    def delete(self, id_: str, props: dict[str, Any]) -> None:
        drop(id_, normalised(props))


PROVIDER = Machines()
GROUP = VsphereGpuNodeGroupProvider()


def checked(news: dict[str, Any], olds: dict[str, Any] | None = None) -> dict[str, Any]:
    """Inputs as `check` hands them on."""
    found = GROUP.check(olds or {}, news)
    assert found.failures == [], [row.reason for row in found.failures]
    return found.inputs


class Applied:
    """A group, as the engine keeps its inputs and outputs."""

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {}
        self.outs: dict[str, Any] | None = None

    def preview(self, news: dict[str, Any]) -> list[str]:
        """Refused operations."""
        return [row.reason for row in GROUP.check(self.inputs, news).failures]

    def planned(self, news: dict[str, Any]) -> dict[str, str]:
        """Operations to do, by the names of machines."""
        return GROUP.check(self.inputs, news).inputs.get("plan", {})

    def up(self, news: dict[str, Any]) -> dict[str, Any]:
        """Apply it, and return the machines by key."""
        given = checked(news, self.inputs)
        if self.outs is not None and not GROUP.diff("g", self.outs, given).changes:
            self.inputs = given
            return self.outs["nodes"]
        try:
            if self.outs is None:
                self.outs = GROUP.create(given).outs or {}
            else:
                self.outs = GROUP.update("g", self.outs, given).outs or {}
        except NotReadyError as late:
            self.outs, self.inputs = dict(late.outs), given
            raise
        self.inputs = given
        return self.outs["nodes"]

    def killed(self, news: dict[str, Any]) -> None:
        """Apply it in an engine that is killed before it hears of the end."""
        before = (self.inputs, self.outs)
        with contextlib.suppress(VsphereError, NotReadyError):
            self.up(news)
        self.inputs, self.outs = before

    def destroy(self) -> None:
        assert self.outs is not None
        GROUP.delete("g", self.outs)


def finished(task: Any) -> None:
    while task.info.state in ("queued", "running"):
        time.sleep(0.01)
    assert task.info.state == "success", task.info.error
