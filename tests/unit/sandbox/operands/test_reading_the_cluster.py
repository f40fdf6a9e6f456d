"""From API objects to views, the policy's status, and the informer against a server that fails."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from gpufleet_sandbox.operands.api import ApiError
from gpufleet_sandbox.operands.informer import Informer, Key
from gpufleet_sandbox.operands.policy_status import policy_status
from gpufleet_sandbox.operands.views import cluster_view, gpu_pod_names, node_view


def named(name: str, namespace: str = "", version: int = 1, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version)}
    return {"metadata": metadata, **fields}


def deployment(name: str, namespace: str, replicas: int = 1) -> dict[str, Any]:
    item = named(name, namespace, spec={"replicas": replicas})
    item["metadata"]["labels"] = {"app.kubernetes.io/name": name}
    return item


def test_a_bare_node() -> None:
    view = node_view({"metadata": {"name": "n"}})
    assert (view.labels, view.annotations, view.capacity, view.uid) == ({}, {}, {}, "")


def test_config_maps_are_those_of_the_operators_namespace() -> None:
    deployments = {
        ("gpu", "o"): deployment("gpu-operator", "gpu"),
        ("gpu", "n"): deployment("node-feature-discovery", "gpu"),
    }
    maps = {("gpu", "a"): named("a", "gpu", data={"k": "v"}), ("x", "b"): named("b", "x")}
    policies = {("", "cluster-policy"): named("cluster-policy", spec={})}
    view = cluster_view(policies, deployments, maps)
    assert view.operator_namespace == "gpu"
    assert view.feature_discovery
    assert view.config_maps == {"a": {"k": "v"}}
    assert view.policy is not None
    assert view.policy.mig_default == "all-disabled"


def test_an_operator_scaled_to_zero_and_a_policy_of_another_name_do_nothing() -> None:
    view = cluster_view(
        {("", "other"): named("other", spec={})},
        {("gpu", "o"): deployment("gpu-operator", "gpu", 0)},
        {},
    )
    assert (view.policy, view.operator_namespace, view.feature_discovery) == (None, None, False)


def pod(name: str, phase: str, **resources: dict[str, str]) -> dict[str, Any]:
    return named(
        name, "d", status={"phase": phase}, spec={"containers": [{"resources": resources}]}
    )


def test_pods_that_hold_gpus() -> None:
    gpu = {"nvidia.com/mig-1g.10gb": "1"}
    pods = [
        pod("a", "Running", limits=gpu),
        pod("b", "Succeeded", limits=gpu),
        pod("c", "Running", requests={"cpu": "1"}),
        pod("d", "Pending", requests=gpu),
    ]
    assert gpu_pod_names(pods) == ["d/a", "d/d"]


def test_pods_of_an_earlier_node_of_the_same_name_hold_no_gpu_of_the_new_one() -> None:
    gpu = {"nvidia.com/mig-1g.10gb": "1"}
    before, same, waiting = (pod(name, "Running", limits=gpu) for name in ("a", "b", "c"))
    before["status"]["startTime"] = "2026-11-21T17:41:43Z"
    same["status"]["startTime"] = "2026-11-21T17:45:56Z"
    assert gpu_pod_names([before, same, waiting], "2026-11-21T17:45:56Z") == ["d/b", "d/c"]


def test_policy_status_is_written_once() -> None:
    now = "2026-11-21T00:00:00Z"
    ready = policy_status({}, "gpu", [], now)
    assert ready is not None
    assert ready["state"] == "ready"
    assert policy_status({"status": ready}, "gpu", [], now) is None
    failing = policy_status({"status": ready}, "gpu", ["a", "b"], now)
    assert failing is not None
    assert failing["state"] == "notReady"
    assert failing["conditions"][0]["message"] == "operands do not run on a, b"
    assert policy_status({"status": failing}, "gpu", ["a", "b"], now) is None


class ScriptedApi:
    """Responds to list calls and watches from two lists; an exception in them is raised."""

    def __init__(self, lists: list[Any], watches: list[Any]) -> None:
        self.lists, self.watches = lists, watches
        self.done = threading.Event()

    def get(self, path: str) -> Any:
        answer = self.lists.pop(0) if self.lists else {"items": [], "metadata": {}}
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self, path: str, resource_version: str, seconds: int) -> Iterator[dict[str, Any]]:
        if not self.watches:
            self.done.set()
            threading.Event().wait(5)
            return
        for event in self.watches.pop(0):
            if isinstance(event, Exception):
                raise event
            yield event


def listing(version: int, *items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


def followed(api: ScriptedApi, monkeypatch: pytest.MonkeyPatch) -> tuple[Informer, list[Key]]:
    monkeypatch.setattr("gpufleet_sandbox.operands.informer.FIRST_PAUSE", 0.01)
    seen: list[Key] = []
    informer = Informer(api, "/things", seen.append)  # type: ignore[arg-type]
    informer.start()
    assert api.done.wait(5)
    informer.stop()
    return informer, seen


def test_the_informer_follows_events(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        {"type": "ADDED", "object": named("b", version=3)},
        {"type": "BOOKMARK", "object": named("", version=4)},
        {"type": "DELETED", "object": named("a", version=5)},
    ]
    informer, seen = followed(ScriptedApi([listing(2, named("a"))], [events]), monkeypatch)
    assert set(informer.objects()) == {("", "b")}
    assert seen == [("", "a"), ("", "b"), ("", "a")]


@pytest.mark.parametrize(
    "failure",
    [
        ApiError(410, "too old resource version"),
        urllib3.exceptions.ProtocolError("connection broken"),
        ConnectionRefusedError("the API server is restarting"),
        {"type": "ERROR", "object": {"code": 410, "message": "expired"}},
    ],
    ids=["gone", "broken", "refused", "error-event"],
)
def test_the_informer_lists_again_after_a_failure(
    failure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = ScriptedApi([listing(2, named("a")), listing(9, named("b", version=8))], [[failure]])
    informer, seen = followed(api, monkeypatch)
    assert set(informer.objects()) == {("", "b")}
    assert seen == [("", "a"), ("", "a"), ("", "b")]


def test_a_collection_that_is_not_served_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    api = ScriptedApi([ApiError(404, "not found"), listing(2, named("a"))], [])
    informer, _ = followed(api, monkeypatch)
    assert informer.synced.is_set()
    assert set(informer.objects()) == {("", "a")}


def test_an_older_event_does_not_undo_our_own_write(monkeypatch: pytest.MonkeyPatch) -> None:
    api = ScriptedApi([], [])
    informer = Informer(api, "/things", lambda key: None)  # type: ignore[arg-type]
    api.lists = [listing(2, named("a", version=2))]
    informer.refresh()
    informer.put(named("a", version=7, mark="ours"))
    informer.put(named("a", version=5, mark="old"))
    found = informer.get(("", "a"))
    assert found is not None
    assert found["mark"] == "ours"
    informer.put(named("gone", version=9))
    assert informer.get(("", "gone")) is None
