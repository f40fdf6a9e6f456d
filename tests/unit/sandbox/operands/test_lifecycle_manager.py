from typing import Any

import pytest

from gpufleet_sandbox.operands.api import ApiError
from gpufleet_sandbox.operands.lifecycle_manager import (
    GROUPS,
    SUBSCRIPTIONS,
    LifecycleOperand,
    status,
)

SPEC = {"name": "nfd", "channel": "stable"}
PINNED = {"name": "gpu", "startingCSV": "gpu.v26.7.0", "channel": "v26.7"}


class FakeApi:
    """Collections by path; patches of a status are kept."""

    def __init__(self) -> None:
        self.items: dict[str, list[dict[str, Any]]] = {}
        self.patched: list[tuple[str, dict[str, Any]]] = []
        self.gone: set[str] = set()

    def get(self, path: str) -> dict[str, Any]:
        return {"items": self.items.get(path, []), "metadata": {"resourceVersion": "1"}}

    def merge_patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path in self.gone:
            raise ApiError(404, path)
        self.patched.append((path, body["status"]))
        return {**self.items[SUBSCRIPTIONS][0], **body}


def within(namespace: str, name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name, "resourceVersion": "1"}, **more}


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    api.items[SUBSCRIPTIONS] = [within("operators", "gpu", spec=PINNED)]
    api.items[GROUPS] = [within("operators", "group")]
    return api


def settled(api: FakeApi) -> list[tuple[str, dict[str, Any]]]:
    operand = LifecycleOperand(api)  # type: ignore[arg-type]
    for informer in operand.informers:
        informer.refresh()
    operand.settle()
    return api.patched


def test_a_subscription_is_installed_at_its_pin(api: FakeApi) -> None:
    ((path, written),) = settled(api)
    assert path == (
        "/apis/operators.coreos.com/v1alpha1/namespaces/operators/subscriptions/gpu/status"
    )
    assert written["installedCSV"] == "gpu.v26.7.0"
    api.items[SUBSCRIPTIONS] = [within("operators", "gpu", spec=PINNED, status=written)]
    assert len(settled(api)) == 1, "nothing is written twice"


def test_nothing_is_installed_without_exactly_one_group(api: FakeApi) -> None:
    for groups in ([], [within("operators", "a"), within("operators", "b")]):
        api.items[GROUPS] = groups
        assert settled(api) == []
    assert status(SPEC, 0) is None
    assert status(SPEC, 2) is None


def test_manual_approval_waits_for_a_person() -> None:
    waiting = status({**PINNED, "installPlanApproval": "Manual"}, 1)
    assert waiting == {"state": "UpgradePending", "currentCSV": "gpu.v26.7.0"}


def test_without_a_pin_the_channel_decides() -> None:
    found = status(SPEC, 1)
    assert found is not None
    assert found["installedCSV"] == "nfd.stable"


def test_one_that_was_removed_meanwhile_is_forgotten(api: FakeApi) -> None:
    api.gone.add(
        "/apis/operators.coreos.com/v1alpha1/namespaces/operators/subscriptions/gpu/status"
    )
    assert settled(api) == []
