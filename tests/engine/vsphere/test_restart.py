"""vCenter is killed at each call that changes something, and comes back with what it had."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpufleet_vcenter.errors import VsphereError
from tests.engine.vcenter_fixture import DYNAMIC, FIXED, VGPU, Vcenter, inventory, simulated
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, created, read
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED

DEATHS = (Action.DROP_REQUEST, Action.DROP_REPLY, Action.AFTER, Action.FORGET)


@pytest.fixture(scope="module")
def shared() -> Iterator[Vcenter]:
    """A vCenter of this file's own: it dies, and what goes past the proxy sees its other names."""
    with simulated(inventory(hosts=3, gpus=4, machines=2)) as found:
        yield found


@pytest.fixture
def mortal(cloud: Vcenter) -> Vcenter:
    cloud.mortal.forget_changes()
    return cloud


def dies(cloud: Vcenter, action: Action, method: str) -> None:
    cloud.proxy.reset([Rule(action, method, do=cloud.mortal.die)])


def twice(cloud: Vcenter, operation: Callable[[], Any]) -> Any:
    """Once, and again when the first run requires it."""
    try:
        return operation()
    except VsphereError as failure:
        if "run again" not in str(failure):
            raise
    cloud.proxy.reset()
    return operation()


def came_back(cloud: Vcenter, deaths: int) -> None:
    assert cloud.mortal.failure is None, cloud.mortal.failure
    assert cloud.mortal.deaths == deaths
    cloud.proxy.reset()


@pytest.mark.parametrize("gpu", [DYNAMIC, VGPU, FIXED], ids=["dynamic", "vgpu", "fixed"])
def test_it_comes_back_with_what_it_had(mortal: Vcenter, gpu: dict[str, Any]) -> None:
    before, deaths = mortal.machines(), mortal.mortal.deaths
    first = created(mortal.node(0, gpu))
    with mortal.machine("gpu-0") as machine:
        half = machine.config.hardware.device
    dies(mortal, Action.DROP_REQUEST, "RetrieveServiceContent")
    mortal.mortal.die()
    came_back(mortal, deaths + 1)
    assert read(first) == first, "references and uuids included"
    with mortal.machine("gpu-0") as machine:
        assert [type(device) for device in machine.config.hardware.device] == [
            type(device) for device in half
        ]
    mortal.mortal.die()
    came_back(mortal, deaths + 2)
    assert read(first) == first, "a second time"
    other = created(mortal.node(1))
    assert other["moRef"] != first["moRef"], "no reference is reported twice"
    PROVIDER.delete(first["instanceUuid"], first)
    mortal.mortal.die()
    came_back(mortal, deaths + 3)
    assert mortal.owned() == [other["owner"]], "what is gone stays gone"
    PROVIDER.delete(other["instanceUuid"], other)
    assert mortal.machines() == before


@pytest.mark.parametrize("action", DEATHS, ids=lambda action: action.value)
@pytest.mark.parametrize("method", ["PowerOffVM_Task", "Destroy_Task"])
def test_a_removal_that_vcenter_took_and_forgot_is_not_done(
    mortal: Vcenter, method: str, action: Action
) -> None:
    before, deaths = mortal.machines(), mortal.mortal.deaths
    made = created(mortal.node(0))
    dies(mortal, action, method)
    twice(mortal, lambda: PROVIDER.delete(made["instanceUuid"], made))
    came_back(mortal, deaths + 1)
    assert mortal.machines() == before


@pytest.mark.parametrize("action", DEATHS, ids=lambda action: action.value)
@pytest.mark.parametrize("method", ["CloneVM_Task", "ReconfigVM_Task", "PowerOnMultiVM_Task"])
def test_a_machine_is_made_once(mortal: Vcenter, method: str, action: Action) -> None:
    deaths = mortal.mortal.deaths
    dies(mortal, action, method)
    node = mortal.node(0)
    made = twice(mortal, lambda: created(node))
    came_back(mortal, deaths + 1)
    assert mortal.owned() == [node["owner"]]
    assert made["drifted"] == {}
    assert made["powerState"] == "poweredOn"
    PROVIDER.delete(made["instanceUuid"], made)
    assert mortal.owned() == []
