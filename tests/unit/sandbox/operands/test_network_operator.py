from typing import Any

import pytest

from gpufleet_sandbox.operands.api import ApiError
from gpufleet_sandbox.operands.network_operator import (
    NAME,
    POLICIES,
    NetworkOperand,
    status,
)


class FakeApi:
    """Collections by path; patches of a status are kept."""

    def __init__(self) -> None:
        self.items: dict[str, list[dict[str, Any]]] = {}
        self.patched: list[dict[str, Any]] = []

    def get(self, path: str) -> dict[str, Any]:
        collection = path.partition("?")[0]
        return {"items": self.items.get(collection, []), "metadata": {"resourceVersion": "1"}}

    def merge_patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path != f"{POLICIES}/{NAME}/status":
            raise ApiError(404, path)
        self.patched.append(body["status"])
        policy = self.items[POLICIES][0]
        return {**policy, **body}


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "1"}, **more}


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    api.items[POLICIES] = [named(NAME, spec={"rdmaSharedDevicePlugin": {}})]
    api.items["/apis/apps/v1/deployments"] = [named("network-operator")]
    return api


def settled(api: FakeApi) -> list[str]:
    operand = NetworkOperand(api)  # type: ignore[arg-type]
    for informer in operand.informers:
        informer.refresh()
    operand.settle()
    return [one["state"] for one in api.patched]


def test_ready_only_while_a_node_has_a_nic(api: FakeApi) -> None:
    assert settled(api) == ["notReady"]
    api.items["/api/v1/nodes"] = [named("n1")]
    assert settled(api) == ["notReady", "ready"]


def test_nobody_acts_without_the_operator(api: FakeApi) -> None:
    api.items["/apis/apps/v1/deployments"] = []
    assert settled(api) == []


def test_other_policies_are_ignored(api: FakeApi) -> None:
    api.items[POLICIES] = [named("mine", spec={})]
    assert settled(api) == []


def test_every_section_has_a_state() -> None:
    spec = {"ofedDriver": {}, "secondaryNetwork": {"multus": {}, "ipoib": {}}}
    found = status(spec, ["n"])
    assert found["appliedStates"] == [
        {"name": "state-OFED", "state": "ready"},
        {"name": "state-multus-cni", "state": "ready"},
        {"name": "state-ipoib-cni", "state": "ready"},
    ]
    assert "pci-15b3" in status(spec, [])["reason"]
