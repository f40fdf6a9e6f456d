"""A pool of simulated nodes whose GPUs break and are repaired, and what must hold meanwhile."""

import json
import random
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from gpufleet.catalogue import load
from gpufleet.fleet import Fleet
from gpufleet.fleet.acceptance import ACCEPTED_LABEL
from gpufleet.fleet.compile import compile_fleet
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.render.acceptance import (
    NAMESPACE,
    common_objects,
    key_of,
    pool_objects,
    tested,
    verdicts,
)
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet_sandbox.operands.api import Api, ApiError
from gpufleet_sandbox.operands.informer import Informer, Key
from gpufleet_sandbox.operands.sick_gpus import FAULTS_ANNOTATION
from tests.engine.waiting import until

NVSENTINEL_STATE = "dgxc.nvidia.com/nvsentinel-state"
NODES, TAINT = "/api/v1/nodes", "gpufleet.dev/not-accepted"
COUNT, FLOOR = 4, 2
FAULTS: tuple[Mapping[str, object], ...] = (
    {"missingGpus": 1},
    {"ncclGbs": 90},
    {"diagnostics": "Memory"},
    {"inactiveLinks": 2},
    {"xid": 79},
    {"eccErrors": 3},
)
LAG_SECONDS = 3.0
"""Maximum delay after which the scheduler receives a taint."""
_HARDWARE = json.dumps(
    {
        "gpus": [{"product": "NVIDIA H100 80GB HBM3", "memoryMiB": 81559, "count": 8}],
        "cpu": "192",
        "memory": "2Ti",
        "driver": "580.95.05",
    }
)
_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{0}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{0}/configmaps",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{0}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{0}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "DaemonSet": "/apis/apps/v1/namespaces/{0}/daemonsets",
    "Job": "/apis/batch/v1/namespaces/{0}/jobs",
}


def apply(api: Api, document: dict[str, Any]) -> None:
    """Create the object, or change the existing one."""
    metadata = document["metadata"]
    folder = _PATHS[document["kind"]].format(metadata.get("namespace", ""))
    try:
        api.create(folder, document)
    except ApiError as problem:
        if problem.status != 409:
            raise
        api.merge_patch(f"{folder}/{metadata['name']}", document)


def fleet_of(pool: str, rerun: str = "") -> Fleet:
    """One pool of the sandbox with tests, and a floor."""
    spec = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "ml"},
        "addons": {"gpuOperator": {"dcgm": {"enabled": True}}},
        "pools": [
            {
                "name": pool,
                "instanceTypes": ["p5.48xlarge"],
                "nodes": {"min": COUNT, "max": COUNT},
                "intent": "training",
                "health": {"mode": "fence", "floor": {"nodes": FLOOR}},
                "acceptance": {"rerun": rerun},
            }
        ],
    }
    fleet = compile_fleet(FleetSpec.model_validate(spec), load("2026.11"), PLATFORMS)
    assert fleet.deployable, fleet.findings
    return fleet


class TestedPool:
    """The nodes of one pool on a real API server, with work that uses all of them."""

    __test__ = False

    def __init__(self, api: Api, name: str, seed: int) -> None:
        self.api, self.name, self.random = api, name, random.Random(seed)
        self.names = [f"{name}-{number}" for number in range(COUNT)]
        self._broken: list[str] = []
        self._tainted: dict[str, list[tuple[int, bool, float]]] = {}
        """Node -> revision of etcd, whether it is tainted from then on, time."""
        self._bound: dict[str, tuple[int, str, float]] = {}
        """Pod -> revision, node, time. The two watches are not in step; the revisions are."""
        self._floor_counts = False
        self._lock = threading.Lock()
        selector = f"?labelSelector=gpufleet.dev/pool%3D{name}"
        self.nodes = Informer(api, f"{NODES}{selector}", self._node_changed)
        self._work = Informer(api, f"/api/v1/pods?labelSelector=work%3D{name}", self._work_changed)

    def __enter__(self) -> "TestedPool":
        for name in self.names:
            self._make_node(name)
        self._make_work()
        for informer in (self.nodes, self._work):
            informer.start()
            informer.synced.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        for informer in (self.nodes, self._work):
            informer.stop()
        for path in (
            f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/acceptance-{self.name}",
            f"/apis/apps/v1/namespaces/default/deployments/work-{self.name}",
            *(f"{NODES}/{name}" for name in self.names),
        ):
            self.api.delete(path)

    def declare(self, rerun: str = "") -> str:
        """Apply the tests; their key."""
        fleet = fleet_of(self.name, rerun)
        ((pool, tests),) = tested(fleet)
        for document in [verdicts(pool), *pool_objects(fleet, pool, tests)]:
            apply(self.api, document)
        return key_of(fleet, tests)

    def fail(self, node: str, fault: Mapping[str, object] | None) -> None:
        """Break a node, or repair it."""
        annotations = {FAULTS_ANNOTATION: None if fault is None else json.dumps(fault)}
        self.api.merge_patch(f"{NODES}/{node}", {"metadata": {"annotations": annotations}})
        count = str(8 - int((fault or {}).get("missingGpus", 0)))  # type: ignore[call-overload]
        self._publish(node, count)

    def fence(self, node: str, *, out: bool) -> None:
        """Steps of NVSentinel: cordon and label, and remove both."""
        state = "quarantined" if out else None
        self.api.merge_patch(
            f"{NODES}/{node}",
            {
                "metadata": {"labels": {NVSENTINEL_STATE: state}},
                "spec": {"unschedulable": out or None},
            },
        )

    def verdict(self, node: str, key: str) -> str | None:
        """`accepted` or `refused` under a key; None without a verdict."""
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/verdicts-{self.name}"
        text = (self.api.get(path).get("data") or {}).get(node)
        entry = {} if text is None else json.loads(text)
        return entry.get("verdict") if entry.get("key") == key else None

    def in_service(self) -> list[str]:
        """Nodes that work may be placed on."""
        return sorted(name for (_, name), item in self.nodes.objects().items() if _serves(item))

    def settle(self, healthy: list[str], key: str) -> None:
        """Wait until exactly the healthy nodes are in service under the key."""

        def settled() -> bool:
            items = {name: item for (_, name), item in self.nodes.objects().items()}
            keys = {items[name]["metadata"]["labels"].get(ACCEPTED_LABEL) for name in healthy}
            rest = set(self.names) - set(healthy)
            done = all(self.verdict(name, key) == "refused" for name in rest)
            return self.in_service() == sorted(healthy) and keys <= {key} and done

        until(settled, lambda: f"{self.name}: {self.in_service()}, wanted {healthy}")

    def broken(self) -> list[str]:
        """Violated conditions, in words."""
        found = list(self._broken)
        with self._lock:
            for revision, node, at in self._bound.values():
                states = [one for one in self._tainted.get(node, []) if one[0] <= revision]
                if states and states[-1][1] and at - states[-1][2] > LAG_SECONDS:
                    found.append(f"work on {node}, which has not passed")
        return found

    def keep_floor(self) -> None:
        """From now on the floor must hold."""
        self._floor_counts = True

    def pods_on(self, node: str) -> list[str]:
        """Names of work on a node."""
        found = self._work.objects().items()
        return [name for (_, name), item in found if item["spec"].get("nodeName") == node]

    def drain(self, node: str) -> None:
        """Delete the work of a node."""
        for name in self.pods_on(node):
            self.api.delete(f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")

    def _node_changed(self, key: Key) -> None:
        item = self.nodes.get(key)
        if item is None:
            return
        with self._lock:
            states = self._tainted.setdefault(key[1], [])
            if not states or states[-1][1] != _tainted(item):
                states.append((_revision(item), _tainted(item), time.time()))
            if self._floor_counts and len(self.in_service()) < FLOOR:
                self._broken.append(f"{len(self.in_service())} nodes in service, floor {FLOOR}")

    def _work_changed(self, key: Key) -> None:
        item = self._work.get(key)
        node = None if item is None else item["spec"].get("nodeName")
        if item is not None and node is not None:
            found = _revision(item), node, _bound_at(item)
            self._bound.setdefault(item["metadata"]["uid"], found)

    def _make_node(self, name: str) -> None:
        taints = [("nvidia.com/gpu", "present"), (TAINT, "new")]
        self.api.create(
            NODES,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": {"gpufleet.dev/pool": self.name, "kubernetes.io/hostname": name},
                    "annotations": {
                        "kwok.x-k8s.io/node": "fake",
                        "sandbox.gpufleet.dev/hardware": _HARDWARE,
                    },
                },
                "spec": {
                    "taints": [{"key": k, "value": v, "effect": "NoSchedule"} for k, v in taints]
                },
            },
        )
        self._publish(name, "8")

    def _publish(self, name: str, gpus: str) -> None:
        there = {"cpu": "192", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": gpus}
        status = {"capacity": there, "allocatable": there}
        self.api.merge_patch(f"{NODES}/{name}/status", {"status": status})

    def _make_work(self) -> None:
        """One pod per node; each leaves one GPU, so that a node in use can be tested."""
        labels = {"work": self.name}
        self.api.create(
            "/apis/apps/v1/namespaces/default/deployments",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": f"work-{self.name}"},
                "spec": {
                    "replicas": COUNT,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {
                            "nodeSelector": {"gpufleet.dev/pool": self.name},
                            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                            "containers": [
                                {
                                    "name": "main",
                                    "image": "registry.example/train:1",
                                    "resources": {"limits": {"nvidia.com/gpu": "6"}},
                                }
                            ],
                        },
                    },
                },
            },
        )


def _tainted(item: Mapping[str, Any]) -> bool:
    taints = (item.get("spec") or {}).get("taints") or []
    return any(taint["key"] == TAINT for taint in taints)


def _revision(item: Mapping[str, Any]) -> int:
    return int(item["metadata"]["resourceVersion"])


def _bound_at(pod: Mapping[str, Any]) -> float:
    """When the scheduler placed a pod, in seconds since 1970; the server writes whole seconds."""
    times = [
        datetime.fromisoformat(one["lastTransitionTime"]).timestamp()
        for one in pod["status"].get("conditions") or []
        if one["type"] == "PodScheduled"
    ]
    return times[0] if times else 0.0


def _serves(item: Mapping[str, Any]) -> bool:
    spec = item.get("spec") or {}
    return not _tainted(item) and not spec.get("unschedulable")


def prepared(kubeconfig: Path) -> Api:
    """The cluster, with what all tests share."""
    api = Api.from_kubeconfig(str(kubeconfig))
    for document in common_objects():
        apply(api, document)
    return api


def life(pool: TestedPool) -> None:
    """Nodes join, some broken; they are repaired, break during work, and are tested again."""
    chance = pool.random
    sick = {name: chance.choice(FAULTS) for name in pool.names if chance.random() < 0.5}
    if len(sick) > COUNT - FLOOR:
        sick = dict(list(sick.items())[: COUNT - FLOOR])
    for name, fault in sick.items():
        pool.fail(name, fault)
    key = pool.declare()
    pool.settle([name for name in pool.names if name not in sick], key)
    pool.keep_floor()
    for name in sick:
        if chance.random() < 0.3:  # flapping
            pool.fail(name, None)
            time.sleep(chance.random())
            pool.fail(name, chance.choice(FAULTS))
        pool.fail(name, None)
    pool.settle(pool.names, key)
    _breaks_during_work(pool, key)
    _tested_anew(pool)
    assert pool.broken() == []
    until(lambda: sum(len(pool.pods_on(name)) for name in pool.names) == COUNT, "work is back")


def _breaks_during_work(pool: TestedPool, key: str) -> None:
    """An XID: NVSentinel fences, drains and returns the node, sometimes before it is well."""
    victim, fault = pool.random.choice(pool.names), pool.random.choice(FAULTS)
    pool.fail(victim, fault)
    pool.fence(victim, out=True)
    pool.drain(victim)
    until(lambda: pool.verdict(victim, key) == "refused", f"{victim} is refused")
    rest = [name for name in pool.names if name != victim]
    if pool.random.random() < 0.5:
        pool.fence(victim, out=False)
        pool.settle(rest, key)
        pool.fail(victim, None)
    else:
        pool.fail(victim, None)
        until(lambda: pool.verdict(victim, key) == "accepted", f"{victim} has passed")
        pool.fence(victim, out=False)
    pool.settle(pool.names, key)


def _tested_anew(pool: TestedPool) -> None:
    """Another key: one node at a time, and one that fails costs no more than itself."""
    victim = pool.random.choice(pool.names) if pool.random.random() < 0.5 else None
    if victim is not None:
        pool.fail(victim, pool.random.choice(FAULTS))
    key = pool.declare("again")
    if victim is not None:
        until(lambda: pool.verdict(victim, key) == "refused", f"{victim} is refused")
        pool.fail(victim, None)
    pool.settle(pool.names, key)
