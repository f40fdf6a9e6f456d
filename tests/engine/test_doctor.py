"""The doctor's report on a waiting pod, before the scheduler has seen it, compared with the
scheduler's: generated nodes and pods on the real API server, scheduler and kwok."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet_policies.doctor.blockers import Answer
from gpufleet_policies.doctor.dump import read_live
from gpufleet_policies.doctor.observed import SeenPod
from gpufleet_policies.doctor.pending import WhyPending, prove
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.namespaces import make_namespace
from tests.engine.waiting import until

pytestmark = pytest.mark.sandbox

RESOURCE = ("resource.k8s.io", "v1")
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
TAINTS: list[list[dict[str, str]]] = [
    [],
    [{"key": GPU, "value": "present", "effect": "NoSchedule"}],
    [{"key": "team", "value": "a", "effect": "NoSchedule"}],
    [
        {"key": GPU, "value": "present", "effect": "NoSchedule"},
        {"key": "team", "value": "b", "effect": "NoExecute"},
    ],
    [{"key": "cheap", "value": "yes", "effect": "PreferNoSchedule"}],
]
TOLERATIONS: list[list[dict[str, str]]] = [
    [],
    [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
    [{"key": "team", "value": "a"}, {"key": GPU, "operator": "Exists"}],
    [{"operator": "Exists"}],
]
MEMORY = {"L4": 24, "H100": 80}
CLASS = "doctor-test"
NODES, PODS = 12, 20


class Generated:
    """A cluster of one seed."""

    def __init__(self, seed: int, api: Any, namespace: str) -> None:
        self.seed, self.namespace = seed, namespace
        self.random = random.Random(seed)
        self.core, self.custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
        self.nodes: list[str] = []
        self.marks = 0

    def make(self) -> None:
        """Nodes with devices, and slices that publish some of them."""
        chance = self.random
        for number in range(NODES):
            name = f"doctor-{self.seed}-{number}"
            product, given = chance.choice(sorted(MEMORY)), {"cpu": "16", "memory": "64Gi"}
            devices = chance.choice(["none", "whole", "whole", "cut", "claims"])
            if devices in {"whole", "cut"}:
                given[GPU if devices == "whole" else SLICE] = str(chance.choice([0, 1, 4, 7]))
            given["pods"] = str(chance.choice([2, 110, 110]))
            taints, cordoned = chance.choice(TAINTS), chance.random() < 0.15
            labels = {"product": product, "zone": chance.choice("ab")}
            labels["kubernetes.io/hostname"] = name
            self.core.create_node(
                {
                    "metadata": {"name": name, "labels": labels},
                    "spec": {"taints": taints, "unschedulable": cordoned},
                    "status": {"allocatable": given, "capacity": given},
                }
            )
            self.nodes.append(name)
            if devices == "claims":
                self._publish(name, product, chance.choice([1, 4]))
        self.nodes.append(f"doctor-{self.seed}-mark")
        room = {"pods": "110"}  # for the marks only: every other pod requests a CPU
        status = {"allocatable": room, "capacity": room}
        self.core.create_node({"metadata": {"name": self.nodes[-1]}, "status": status})
        until(self._settled, "the nodes to be ready")
        self._seen()

    def _seen(self) -> None:
        """Wait until the scheduler has seen every change made so far: it binds a pod that was made
        after them to a node that was labelled after them, and its watches are in order."""
        self.marks += 1
        name, number = f"mark-{self.marks}", str(self.marks)
        self.core.patch_node(self.nodes[-1], {"metadata": {"labels": {"mark": number}}})
        spec = {
            "nodeSelector": {"mark": number},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "none"}],
        }
        metadata = {"name": name, "namespace": self.namespace}
        self.core.create_namespaced_pod(self.namespace, {"metadata": metadata, "spec": spec})
        read = self.core.read_namespaced_pod
        until(lambda: read(name, self.namespace).spec.node_name, "the scheduler to bind a mark")

    def _publish(self, node: str, product: str, count: int) -> None:
        device = {
            "attributes": {"productName": {"string": product}},
            "capacity": {"memory": {"value": f"{MEMORY[product]}Gi"}},
        }
        self.custom.create_cluster_custom_object(
            *RESOURCE,
            "resourceslices",
            {
                "apiVersion": "/".join(RESOURCE),
                "kind": "ResourceSlice",
                "metadata": {"name": node},
                "spec": {
                    "driver": "gpu.nvidia.com",
                    "nodeName": node,
                    "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": f"gpu-{n}", **device} for n in range(count)],
                },
            },
        )

    def _settled(self) -> bool:
        found = [one for one in self.core.list_node().items if one.metadata.name in self.nodes]
        return len(found) == len(self.nodes) and not any(
            taint.key == "node.kubernetes.io/not-ready"
            for one in found
            for taint in one.spec.taints or ()
        )

    def pod(self, number: int) -> dict[str, Any]:
        """The next pod."""
        chance = self.random
        limits: dict[str, str] = {"cpu": chance.choice(["1", "1", "12", "40"])}
        spec: dict[str, Any] = {"terminationGracePeriodSeconds": 0}
        wants = chance.choice([GPU, GPU, GPU, SLICE, "claim", ""])
        if wants == "claim":
            entry = {"name": "gpu", "resourceClaimTemplateName": self._template(number)}
            spec["resourceClaims"] = [entry]
        elif wants:
            limits[wants] = str(chance.choice([1, 2, 4, 8]))
        spec["tolerations"] = chance.choice(TOLERATIONS)
        if chance.random() < 0.25:
            spec["nodeSelector"] = {"product": chance.choice(["L4", "H100", "B200"])}
        if chance.random() < 0.25:
            terms = chance.choice(
                [
                    [{"key": "zone", "operator": "In", "values": ["a", "c"]}],
                    [{"key": "zone", "operator": "NotIn", "values": ["a"]}],
                    [{"key": "pool", "operator": "Exists"}],
                ]
            )
            required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
            spec["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        container = {"name": "c", "image": "none", "resources": {"limits": limits}}
        if chance.random() < 0.1:
            container["ports"] = [{"containerPort": 8000, "hostPort": 8000}]
        if wants == "claim":
            container["resources"] = {"limits": limits, "claims": [{"name": "gpu"}]}
        name = f"pod-{number}"
        spec["containers"] = [container]
        return {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }

    def _template(self, number: int) -> str:
        chance = self.random
        exactly: dict[str, Any] = {"deviceClassName": CLASS, "count": chance.choice([1, 1, 2])}
        if chance.random() < 0.5:
            least = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
            exactly["selectors"] = [{"cel": {"expression": least}}]
        name = f"claim-{number}"
        self.custom.create_namespaced_custom_object(
            *RESOURCE,
            self.namespace,
            "resourceclaimtemplates",
            {
                "apiVersion": "/".join(RESOURCE),
                "kind": "ResourceClaimTemplate",
                "metadata": {"name": name},
                "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
            },
        )
        return name

    def schedule(self, pod: dict[str, Any]) -> tuple[str, str]:
        """Create a pod: the node that the scheduler binds it to, or its reasons against all nodes.
        Each pod has its own name, so that no result is that of an earlier one."""
        name = pod["metadata"]["name"]
        self.core.create_namespaced_pod(self.namespace, pod)

        def answer() -> tuple[str, str] | None:
            found = self.core.read_namespaced_pod(name, self.namespace)
            for one in found.status.conditions or ():
                if one.type == "PodScheduled" and one.reason == "Unschedulable":
                    return "", one.message
            return (found.spec.node_name, "") if found.spec.node_name else None

        node, said = until(answer, f"an answer of the scheduler for {name}")
        if node:
            until(
                lambda: (
                    self.core.read_namespaced_pod(name, self.namespace).status.phase == "Running"
                ),
                f"{name} to run",
            )
        return node, said

    def change(self, pod: dict[str, Any], near: Answer) -> bool:
        """Apply the doctor's fix; whether it can be applied to a pod or a node."""
        spec = pod["spec"]
        (container,) = spec["containers"]
        for one in near.blockers:
            match one.filter:
                case "NodeUnschedulable":
                    self.core.patch_node(near.name, {"spec": {"unschedulable": False}})
                case "TaintToleration":
                    wanted = yaml.safe_load("{" + one.change.partition("{")[2])
                    spec["tolerations"] = [*spec["tolerations"], wanted]
                case "NodeAffinity":
                    spec.pop("affinity", None)
                    spec.pop("nodeSelector", None)
                case "NodePorts":
                    container.pop("ports")
                case "NodeResourcesFit" if "at most" in one.change:
                    most = one.change.partition("at most ")[2].split()[0]
                    container["resources"]["limits"][one.about] = most
                    if "and free it" in one.change:
                        self._empty(near.name)
                case "NodeResourcesFit" if one.fits_empty:
                    self._empty(near.name)
                case _:
                    return False
        self._seen()
        return True

    def _empty(self, node: str) -> None:
        for held in self.core.list_namespaced_pod(self.namespace).items:
            if held.spec.node_name == node:
                gone = held.metadata.name
                self.core.delete_namespaced_pod(gone, self.namespace)
                until(lambda gone=gone: not self._there(gone), f"{gone} to be gone")

    def _there(self, name: str) -> bool:
        chosen = f"metadata.name={name}"
        return bool(self.core.list_namespaced_pod(self.namespace, field_selector=chosen).items)

    def remove(self) -> None:
        self.core.delete_collection_namespaced_pod(self.namespace, grace_period_seconds=0)
        for node in self.nodes:
            self.core.delete_node(node)
        for one in self.custom.list_cluster_custom_object(*RESOURCE, "resourceslices")["items"]:
            if one["metadata"]["name"] in self.nodes:
                name = one["metadata"]["name"]
                self.custom.delete_cluster_custom_object(*RESOURCE, "resourceslices", name)


@pytest.fixture
def generated(
    request: pytest.FixtureRequest, cluster: Any, sandbox: Sandbox
) -> Iterator[Generated]:
    seed = request.param
    found = Generated(seed, cluster, f"doctor-{seed}")
    make_namespace(found.core, found.namespace)
    expression = {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}
    body = {
        "apiVersion": "/".join(RESOURCE),
        "kind": "DeviceClass",
        "metadata": {"name": CLASS},
        "spec": {"selectors": [expression]},
    }
    found.custom.create_cluster_custom_object(*RESOURCE, "deviceclasses", body)
    found.make()
    yield found
    found.remove()
    found.custom.delete_cluster_custom_object(*RESOURCE, "deviceclasses", CLASS)
    found.core.delete_namespace(found.namespace)


def reasons(said: str) -> Counter[str]:
    """Reasons of a message of the scheduler and their numbers of nodes."""
    text = said.partition("nodes are available: ")[2].partition(". ")[0].rstrip(".")
    text = re.sub(r"(no new claims to deallocate|still not schedulable),? ?", "", text)
    found: Counter[str] = Counter()
    for part in filter(None, text.split(", ")):
        number, _, reason = part.partition(" ")
        if reason.startswith("node(s) had untolerated taint"):
            reason = "node(s) had untolerated taint(s)"  # 1.36 does not name them any more
        found[reason] += int(number)
    return found


def wrong(proof: WhyPending, node: str, said: str) -> str:
    """Differences of the doctor from the scheduler; empty: none."""
    if node:
        fits = [one.name for one in proof.fits]
        return "" if node in fits else f"bound to {node}, the doctor: {proof.summary}"
    if proof.fits or reasons(said) != reasons(proof.summary):
        return f"scheduler: {said}\n  doctor: {proof.summary} {proof.fits}"
    return ""


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 10))]


@pytest.mark.parametrize("generated", SEEDS, indirect=True)
def test_the_proof_is_what_the_scheduler_says(generated: Generated, sandbox: Sandbox) -> None:
    """Twenty pods, each with the reasons of every node; then the smallest change, after which it
    runs. The doctor reports first."""
    problems: list[str] = []
    changed = waited = 0
    for number in range(PODS):
        pod = generated.pod(number)
        proof = prove(read_live(str(sandbox.kubeconfig), None), SeenPod(pod))
        node, said = generated.schedule(pod)
        if problem := wrong(proof, node, said):
            problems.append(f"pod-{number} {pod['spec']}\n  {problem}")
        if node:
            continue
        waited += 1
        generated.core.delete_namespaced_pod(pod["metadata"]["name"], generated.namespace)
        near = proof.nearest
        if near is None or not generated.change(pod, near):
            continue
        changed += 1
        pod["metadata"]["name"] += "-changed"
        node, said = generated.schedule(pod)
        if not node:
            problems.append(f"pod-{number}: {proof.change}\n  does not help: {said}")
    assert not problems, "\n".join(problems)
    assert waited >= PODS // 3
    assert changed >= waited // 3
