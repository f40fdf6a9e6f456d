"""From device plugin to DRA driver and back on the real scheduler, API server and controllers.

Another process makes the steps that `gpufleet change --nodes` prints, and is killed with SIGKILL
before, while and after each of its writes. The API server's record decides the result.
"""

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.cluster_history import Event, lost_pods, recorded, states, violations
from tests.engine.cut_over_runner import make_cut_over
from tests.engine.node_watch import nvidia_resources
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

NODES, GPUS = 2, 2
WHOLE: dict[str, Any] = {"exclusive": {}}
SEVENTHS: dict[str, Any] = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
SLICE = "nvidia.com/mig-1g.10gb"
PROGRAM = """
    import json, pulumi, pulumi_kubernetes as k8s
    from pathlib import Path
    from gpufleet import GpuFleet

    provider = k8s.Provider("cluster")
    fleet = GpuFleet(
        "fleet",
        {"spec": json.loads(Path("fleet.json").read_text())},
        pulumi.ResourceOptions(providers=[provider]),
    )
"""


MOMENTS = ("before", "while", "after")
"""Moment of a write at which its process is killed."""
CUT_EVICTION_SECONDS = 120
"""How long a disruption budget counts a pod as evicted whose eviction was interrupted:
`DeletionTimeout` in pkg/controller/disruption/disruption.go of Kubernetes 1.34."""
PROCESSES = multiprocessing.get_context("forkserver")
"""Each run is a new process, forked from one that has the imports, in its own process group."""
PROCESSES.set_forkserver_preload([make_cut_over.__module__])


@dataclass
class Killer:
    """Starts a process that makes the steps, again and again, and kills it at each write."""

    kubeconfig: str
    declaration: str
    twice: bool
    """Whether each write is killed at two moments, else at one."""
    draw: random.Random = field(default_factory=lambda: random.Random(0))
    kills: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    """Writes so far, as far as they were reported."""
    _left: dict[str, list[str]] = field(default_factory=dict)

    def run(self, timeout: float = 240) -> None:
        """Until a run ends by itself."""
        deadline = time.monotonic() + timeout
        while not self._one():
            cut_off = sum(kill.startswith("while evict") for kill in self.kills)
            assert time.monotonic() < deadline + cut_off * CUT_EVICTION_SECONDS, self.kills

    def _one(self) -> bool:
        ours, its = PROCESSES.Pipe()
        runner = PROCESSES.Process(
            target=make_cut_over, args=(self.kubeconfig, self.declaration, its)
        )
        runner.start()
        its.close()
        assert runner.pid is not None
        try:
            while True:
                when, what = ours.recv()
                if when == "done":
                    return True
                if when == "after":
                    self.done.append(what)
                if self._is_killed(ours, when, what):
                    return False
        finally:
            if runner.is_alive():
                os.kill(runner.pid, signal.SIGKILL)
            runner.join()
            ours.close()

    def _is_killed(self, asked: Any, when: str, what: str) -> bool:
        """Let the runner go on, or kill it: each write before it, and while or after it.

        With one moment, each write has another one. An eviction has none in its middle then, since
        the budget may refuse all others for two minutes after it.
        """
        turn = len(self._left)
        moment = MOMENTS[turn % 3]
        one = ["after" if moment == "while" and what.startswith("evict") else moment]
        two = ["before", ("after", "while")[turn % 2]]
        left = self._left.setdefault(what, two if self.twice else one)
        if left[:1] == [when]:
            self.kills.append(f"{left.pop(0)} {what}")
            return True
        asked.send("go on")
        if left[:1] == ["while"] and when == "before":
            time.sleep(self.draw.uniform(0, 0.02))
            self.kills.append(f"{left.pop(0)} {what}")
            return True
        return False


def spec(prefix: str, namespace: str, sharing: Mapping[str, Any], **pool: Any) -> dict[str, Any]:
    """The pool that is changed, and one that has claims already."""
    common: dict[str, Any] = {"gpu": "A100-80GB", "gpusPerNode": GPUS}
    return {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "sandbox"},
        "namePrefix": prefix,
        "pools": [
            {"name": "cut", **common, "nodes": size(NODES), "sharing": sharing, **pool},
            {"name": "kept", **common, "nodes": size(1), "sharing": claims(namespace)},
        ],
    }


def size(nodes: int) -> dict[str, int]:
    return {"min": nodes, "max": nodes}


def claims(namespace: str, **dra: Any) -> dict[str, Any]:
    return {"dra": {"namespaces": [namespace], **dra}}


@dataclass
class Lab:
    """The cluster of one test."""

    core: Any
    apps: Any
    policy: Any
    namespace: str
    prefix: str

    @property
    def nodes(self) -> list[str]:
        return [f"{self.prefix}-cut-{ordinal}" for ordinal in range(NODES)]

    def replicas(self, name: str, count: int, pool: str, asks: Mapping[str, Any]) -> None:
        """A Deployment whose pods need one device each, and of which one may be away."""
        template = {"metadata": {"labels": {"app": name}}}
        container: dict[str, Any] = {"name": "c", "image": "none"}
        spec: dict[str, Any] = {
            "nodeSelector": {"gpufleet.dev/pool": pool},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
        }
        if claim := asks.get("claim"):
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": claim}]
            container["resources"] = {"claims": [{"name": "gpu"}]}
        else:
            container["resources"] = {"limits": {asks["resource"]: "1"}}
        spec["containers"] = [container]
        selector = {"matchLabels": {"app": name}}
        self.apps.create_namespaced_deployment(
            self.namespace,
            {
                "metadata": {"name": name},
                "spec": {
                    "replicas": count,
                    "selector": selector,
                    "template": {**template, "spec": spec},
                },
            },
        )
        self.policy.create_namespaced_pod_disruption_budget(
            self.namespace,
            {"metadata": {"name": name}, "spec": {"maxUnavailable": 1, "selector": selector}},
        )

    def domains(self) -> dict[str, str]:
        """ComputeDomains, with the claim template of each."""
        kind = ("resource.nvidia.com", "v1beta1", self.namespace, "computedomains")
        found: Any = client.CustomObjectsApi(self.core.api_client).list_namespaced_custom_object(
            *kind
        )
        return {
            one["metadata"]["name"]: one["spec"]["channel"]["resourceClaimTemplate"]["name"]
            for one in found["items"]
        }

    def pods(self, name: str) -> list[Any]:
        return self.core.list_namespaced_pod(self.namespace, label_selector=f"app={name}").items

    def runs(self, name: str, count: int) -> None:
        until(
            lambda: sum(pod.status.phase == "Running" for pod in self.pods(name)) == count,
            lambda: [(pod.metadata.name, pod.status.conditions) for pod in self.pods(name)],
        )


@pytest.fixture
def lab(cluster: Any, namespace: str) -> Iterator[Lab]:
    made = Lab(
        client.CoreV1Api(cluster),
        client.AppsV1Api(cluster),
        client.PolicyV1Api(cluster),
        namespace,
        namespace[-6:],
    )
    yield made
    made.apps.delete_collection_namespaced_deployment(namespace)
    made.core.delete_collection_namespaced_pod(namespace)
    until(lambda: not made.core.list_namespaced_pod(namespace).items, "pods to go")


@pytest.fixture
def deploy(cluster_project: Callable[..., Any]) -> Callable[[dict[str, Any]], Path]:
    project = cluster_project({"__main__.py": PROGRAM, "fleet.json": "{}"})

    def up(data: dict[str, Any]) -> Path:
        declaration: Path = project.folder / "fleet.json"
        declaration.write_text(json.dumps(data))
        project.run("up")
        return declaration

    return up


def killed_at_every_write(lab: Lab, sandbox: Sandbox, declaration: Path, twice: bool) -> None:
    """Make the cut-over; the process is killed at one or two moments of every write."""
    killer = Killer(str(sandbox.kubeconfig), str(declaration), twice)
    killer.run()
    for node in lab.nodes:
        steps = (f"kubectl cordon {node}", f"kubectl label node {node}", f"kubectl uncordon {node}")
        for step in steps:
            times = Counter(kill.partition(" ")[2] for kill in killer.kills if step in kill)
            assert set(times.values()) == {1 + twice}, killer.kills
    assert any("evict" in kill for kill in killer.kills), killer.kills
    assert {kill.split()[0] for kill in killer.kills} == {"before", "while", "after"}
    # What was written is seen by the next one: no command is given twice.
    given = [what for what in killer.done if not what.startswith("evict")]
    assert len(given) == len(set(given)), given


def advertise(lab: Lab, events: list[Event], offers: Mapping[str, str], published: int) -> None:
    """Every node of the pool has its new advertiser, and takes pods."""
    *_, (_, state) = states(events)
    for node in lab.nodes:
        shown = state.objects["Node", "", node]
        held = {name: n for name, n in nvidia_resources(shown).items() if n != "0"}
        assert held == offers
        assert len(state.published(node)) == published
        assert not shown["spec"].get("unschedulable")


WAYS = [
    pytest.param(WHOLE, {}, "nvidia.com/gpu", "cut-gpu", GPUS, False, id="whole"),
    pytest.param(
        SEVENTHS,
        # Pods that request the classic name run on nodes that are done, as whole GPUs do.
        {"devices": "mig", "extendedResource": True, **SEVENTHS["mig"]},
        SLICE,
        "cut-mig-1g-10gb",
        7 * GPUS,
        True,
        id="slices",
        marks=pytest.mark.nightly,
    ),
]


@pytest.mark.parametrize(("old", "dra", "resource", "template", "units", "twice"), WAYS)
def test_killed_at_every_write(
    lab: Lab,
    deploy: Callable[[dict[str, Any]], Path],
    sandbox: Sandbox,
    cluster: Any,
    old: dict[str, Any],
    dra: dict[str, Any],
    resource: str,
    template: str,
    units: int,
    twice: bool,
) -> None:
    new = claims(lab.namespace, computeDomain=True, **dra)
    per_node = dict.fromkeys(lab.nodes, units)

    def declared(sharing: dict[str, Any], **pool: Any) -> dict[str, Any]:
        return spec(lab.prefix, lab.namespace, sharing, **pool)

    deploy(declared(old))
    lab.replicas("classic", 2, "cut", {"resource": resource})
    lab.replicas("kept", 2, "kept", {"claim": "kept-gpu"})
    lab.runs("classic", 2)
    lab.runs("kept", 2)

    with recorded(cluster) as events:
        declaration = deploy(declared(new, change={"previous": old}))
        assert lab.domains() == {"cut-domain": "cut-channel"}
        lab.replicas("claiming", 1, "cut", {"claim": template})  # waits for the first node
        killed_at_every_write(lab, sandbox, declaration, twice)
        lab.runs("claiming", 1)
        deploy(declared(new))
    assert violations(events, per_node) == []
    assert lost_pods(events) == []
    advertise(lab, events, {}, units)

    # And back: pods with claims leave before their devices do; those of the other pool stay.
    lab.apps.delete_namespaced_deployment("classic", lab.namespace)
    with recorded(cluster) as events:
        declaration = deploy(declared(old, change={"previous": new}))
        killed_at_every_write(lab, sandbox, declaration, twice)
        lab.replicas("again", 2, "cut", {"resource": resource})
        lab.runs("again", 2)
        assert lab.domains() == {"cut-domain": "cut-channel"}
        deploy(declared(old))
    assert lab.domains() == {}
    assert violations(events, per_node) == []
    assert {name.split("-")[0] for name in lost_pods(events)} == {"claiming"}
    advertise(lab, events, {resource: str(units)}, 0)


def event(version: int, kind: str, name: str, **content: Any) -> Event:
    namespace = "" if kind in {"Node", "ResourceSlice"} else "lab"
    metadata = {"name": name, "namespace": namespace, **content.pop("metadata", {})}
    return Event(version, (kind, namespace, name), {"metadata": metadata, **content})


def node(version: int, gpus: int, **labels: str) -> Event:
    status = {"allocatable": {"nvidia.com/gpu": str(gpus)}}
    return event(version, "Node", "n", metadata={"labels": labels}, spec={}, status=status)


def sliced(version: int, *devices: str, generation: int = 1) -> Event:
    pool = {"name": "n", "generation": generation}
    found = [{"name": device} for device in devices]
    content = {"driver": "gpu.nvidia.com", "nodeName": "n", "pool": pool, "devices": found}
    return event(version, "ResourceSlice", f"s{generation}", spec=content)


def holder(version: int, name: str, claim: str | None = None) -> Event:
    limits = {} if claim else {"nvidia.com/gpu": "1"}
    content: dict[str, Any] = {
        "nodeName": "n",
        "containers": [{"resources": {"limits": limits}}],
        "resourceClaims": [{"name": "gpu"}] if claim else [],
    }
    named = [{"resourceClaimName": claim}] if claim else []
    status = {"phase": "Running", "resourceClaimStatuses": named}
    return event(version, "Pod", name, spec=content, status=status)


def allocated(version: int, name: str, device: str) -> Event:
    results = {"devices": {"results": [{"device": device}]}}
    return event(version, "ResourceClaim", name, status={"allocation": results})


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([node(1, 1), sliced(2, "gpu-0")], "offers 1 devices and publishes 1"),
        # Watches may show events out of order; revisions put them right.
        ([sliced(3, "gpu-0"), node(4, 0), node(1, 1)], "offers 1 devices and publishes 1"),
        ([node(1, 0, **{"gpufleet.dev/dra": "true"})], "both advertisers are wanted"),
        ([node(1, 2), *(holder(i, f"p{i}") for i in range(2, 5))], "3 devices of the plugin"),
        (
            [node(1, 0), sliced(2, "gpu-0", "gpu-1"), holder(3, "a"), holder(4, "b"),
             allocated(5, "c", "gpu-0"), holder(6, "d", "c")],
            "2 devices of the plugin and ['gpu-0']",
        ),
        (
            [node(1, 0), sliced(2, "gpu-0"), allocated(3, "c", "gpu-0"), holder(4, "d", "c"),
             sliced(5, generation=2)],
            "pods run with ['gpu-0'], which nobody publishes",
        ),
    ],
)  # fmt: skip
def test_the_observer_sees(events: list[Event], words: str) -> None:
    found = violations(events, {"n": 2})
    assert any(words in text for text in found), found


def test_the_observer_sees_pods_that_are_lost() -> None:
    gone = Event(3, ("Pod", "lab", "a"), None)
    assert lost_pods([holder(1, "a", "c"), holder(2, "b"), gone]) == ["a"]
    assert violations([node(1, 0), sliced(2, "gpu-0", "gpu-1")], {"n": 2}) == []
