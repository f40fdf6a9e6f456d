"""The providers in the test's own process: nothing is killed, and every error is an object."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from gpufleet.components_base.resource_plugin import NotReadyError
from gpufleet.platforms.vsphere.vcenter.batch_provider import VsphereGpuNodeBatchProvider
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.provider import VsphereGpuNodeProvider
from tests.engine.vcenter_fixture import PASSWORD, SECRET, Vcenter

Made = Callable[..., Vcenter]
PROVIDER = VsphereGpuNodeProvider()
BATCH = VsphereGpuNodeBatchProvider()
# pyVmomi leaves the connection of a refused login to the collector.
UNCLOSED = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def refused(code: Code, operation: Callable[[], Any]) -> str:
    with pytest.raises((VsphereError, NotReadyError)) as caught:
        operation()
    text = str(caught.value)
    assert text.startswith(f"{code.value}: "), text
    assert PASSWORD not in text
    assert SECRET not in text
    return text


def created(node: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.create(node).outs or {}


def read(outs: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.read(outs["instanceUuid"], outs).outs or {}


def batch_inputs(cloud: Vcenter, *ordinals: int, **more: Any) -> dict[str, Any]:
    """Inputs of a batch with these machines of the group."""
    nodes = [cloud.node(ordinal) for ordinal in ordinals]
    own = ("name", "owner", "generation", "userData")
    common = {**cloud.node(0), **more}
    return {
        "group": "organisation/project/stack/group",
        "width": 16.0,
        "preflight": "preview",
        "common": {key: value for key, value in common.items() if key not in own},
        "nodes": [{key: node[key] for key in own} for node in nodes],
    }


def finished(task: Any) -> None:
    while task.info.state in ("queued", "running"):
        time.sleep(0.01)
    assert task.info.state == "success", task.info.error
