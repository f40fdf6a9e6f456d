"""Causes of pods that wait, and of those that cannot start what their node has.

Sources: kubernetes/autoscaler `cluster-autoscaler/FAQ.md` (NotTriggerScaleUp); NVIDIA, CUDA
Compatibility (a driver runs images of its major version, and of newer ones only with the forward
compatibility package).
"""

import re
from collections.abc import Iterator
from typing import Any

from gpufleet.documents.shapes import items
from gpufleet_policies.doctor.cause import (
    Patient,
    Sighting,
    Sign,
    cause,
    found_at,
    of_proofs,
    of_waiting,
)
from gpufleet_policies.doctor.fit import Answer, selector_text, shown
from gpufleet_policies.doctor.observed import PRODUCT, SeenNode, SeenPod, is_device, text
from gpufleet_policies.doctor.pending import WhyPending, missing
from gpufleet_policies.doctor.pools import makes_gpus, template

_GPU, _SHARED, _MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-"
_GROUPS = {"kai-scheduler": "scheduling.run.ai", "volcano": "scheduling.volcano.sh"}
"""Groups of the objects of schedulers: a dump that has some has the scheduler."""
_CUDA, _DRIVER = "nvidia.com/cuda.runtime-version", "nvidia.com/cuda.driver-version"
_UNSATISFIED = re.compile(r"unsatisfied condition: cuda>=(\d+\.\d+)")
_IN_IMAGE = (
    re.compile(r"/cuda:(\d+)\.(\d+)"),
    re.compile(r"(?:^|[^a-z])cuda-?v?(\d{2})\.(\d+)"),
    re.compile(r"(?:^|[-:+_.])cu(\d{2})(\d)(?:\D|$)"),
)


def _offered(patient: Patient) -> set[str]:
    """Accelerators that any node registers, with devices or without, or that are declared."""
    nodes = patient.cluster.nodes.values()
    found = {name for node in nodes for name in (*node.capacity, *node.allocatable)}
    pools = () if patient.fleet is None else patient.fleet.pools
    found |= {name for pool in pools for name in pool.advertised}
    return {name for name in found if is_device(name)}


def _with_devices(patient: Patient, pod: SeenPod) -> list[SeenNode]:
    wanted, nodes = list(pod.devices), patient.cluster.nodes.values()
    return [node for node in nodes if all(node.allocatable.get(name) for name in wanted)]


@of_proofs("pod-gated")
def _gated(patient: Patient, proof: WhyPending) -> Sighting | None:
    own = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
    gate = next((gate for gate in proof.pod.gates if gate not in own), "")
    if not gate or proof.pod.ref in patient.explained:
        return None
    return found_at(proof, gate=gate, domain=gate.partition("/")[0])


@of_proofs("pod-scheduler-missing")
def _no_scheduler(patient: Patient, proof: WhyPending) -> Sighting | None:
    cluster, name = patient.cluster, proof.pod.scheduler
    if name == "default-scheduler" or proof.pod.conditions.get("PodScheduled"):
        return None
    group = _GROUPS.get(name, name)
    there = any(name in f"{pod.name} {' '.join(pod.images)}" for pod in cluster.pods)
    there |= any(text(one.raw.get("apiVersion")).startswith(group) for one in cluster.seen)
    return None if there else found_at(proof, name=name)


@of_proofs("pod-volume-missing")
def _no_volume(patient: Patient, proof: WhyPending) -> Sighting | None:
    kind, said = "PersistentVolumeClaim", proof.pod.conditions.get("PodScheduled", {})
    volumes = [name for one, name in missing(patient.cluster, proof.pod) if one == kind]
    told = kind.lower() in text(said.get("message"))
    # Of a dump without claims only a pod that fits, and waits, says that one is missing.
    if volumes and (patient.cluster.has(kind) or proof.fits or told):
        return found_at(proof, volume=volumes[0])
    return None


def _other_name(patient: Patient, name: str, given: set[str]) -> str:
    """Another name under which nodes offer what a pod asks for; empty: none."""
    slices = sorted(one for one in given if one.startswith(_MIG))
    if name == _GPU and (_SHARED in given or slices):
        return _SHARED if _SHARED in given else slices[0]
    if name.startswith(f"{_GPU}.") and _GPU in given:
        return _GPU
    if name.startswith(_MIG) and _GPU in given and not slices:
        cut = f"-MIG-{name.removeprefix(_MIG)}"
        if any(cut in node.labels.get(PRODUCT, "") for node in patient.cluster.nodes.values()):
            return _GPU
    return f"{name}.shared" if f"{name}.shared" in given else ""


@of_waiting("pod-resource-renamed")
def _renamed(patient: Patient, proof: WhyPending) -> Sighting | None:
    given = _offered(patient)
    for name, count in proof.pod.devices.items():
        other = "" if name in given else _other_name(patient, name, given)
        if other:
            nodes = Sign("Node", "status.allocatable", ", ".join(sorted(given)))
            return found_at(proof, nodes, name=name, other=other, count=count)
    return None


@of_waiting("pod-resource-unknown")
def _unknown(patient: Patient, proof: WhyPending) -> Sighting | None:
    given, cluster = _offered(patient), patient.cluster
    to_come = any(n.ref in patient.explained for n in cluster.nodes.values() if n.has_nvidia)
    to_come |= any(makes_gpus(pool) or template(pool) for pool in cluster.all("NodePool"))
    for name in proof.pod.devices:
        if name in given or (name == _GPU and to_come):
            continue
        near = ", ".join(sorted(given))
        nodes = Sign("Node", "status.allocatable", near or "no accelerator at all")
        case = "others" if near else "none"
        return found_at(proof, nodes, case=case, name=name, near=near)
    return None


@of_waiting("pod-request-above-node")
def _above(patient: Patient, proof: WhyPending) -> Sighting | None:
    nodes = _with_devices(patient, proof.pod)
    if not nodes or proof.pools or proof.before:
        return None
    for name, amount in proof.pod.requests.items():
        largest = max(nodes, key=lambda node: node.allocatable.get(name, 0))
        most = largest.allocatable.get(name, amount * 0)
        broken = any(
            node.ref in patient.explained and node.capacity.get(name, 0) >= amount
            for node in patient.cluster.nodes.values()
        )
        if amount > most and not broken:
            values: dict[str, Any] = {"asked": shown(name, amount), "most": shown(name, most)}
            several = ", and use several pods" if is_device(name) else ""
            return found_at(proof, name=name, largest=largest, several=several, **values)
    return None


def _nearest(patient: Patient, proof: WhyPending, kind: str) -> tuple[Answer, SeenNode] | None:
    """The node with the pod's devices that needs the smallest change, where a filter is what it
    does not pass first; None where another cause explains the nodes, or a pool makes one."""
    if proof.before or any(not one.reason for one in proof.pools):
        return None
    nodes = {node.name for node in _with_devices(patient, proof.pod)}
    if proof.pod.claims and not proof.pod.devices:
        nodes = {name for name in patient.cluster.dra_nodes if name in patient.cluster.nodes}
    well = [
        one
        for one in proof.nodes
        if one.name in nodes and f"Node/{one.name}" not in patient.explained
    ]
    near = min(well, key=lambda one: (one.cost, one.name), default=None)
    if near is None or near.first.filter != kind:
        return None
    return near, patient.cluster.nodes[near.name]


@of_waiting("pod-taint-not-tolerated")
def _taint(patient: Patient, proof: WhyPending) -> Sighting | None:
    near, node = _nearest(patient, proof, "TaintToleration") or (None, None)
    if near is None:
        return None
    taint = near.reason.removeprefix("node(s) had untolerated taint ")
    count = len(items(proof.pod.spec.get("tolerations")))
    return found_at(proof, first=near.first, node=node, taint=taint, count=count)


@of_waiting("pod-selector-matches-no-node")
def _selector(patient: Patient, proof: WhyPending) -> Sighting | None:
    near, node = _nearest(patient, proof, "NodeAffinity") or (None, None)
    if near is None or node is None:
        return None
    wrong = selector_text(proof.pod.spec, node)
    return found_at(proof, change=near.first.change, node=node, wrong=wrong)


@of_waiting("pod-affinity-matches-no-node")
def _affinity(patient: Patient, proof: WhyPending) -> Sighting | None:
    near, node = _nearest(patient, proof, "InterPodAffinity") or (None, None)
    return None if near is None else found_at(proof, near=near, node=node)


@of_waiting("autoscaler-at-maximum")
def _at_maximum(patient: Patient, proof: WhyPending) -> Sighting | None:
    for event in patient.cluster.events_of(proof.pod):
        found = re.search(r"(\d+) max node group size reached", event.message)
        if event.reason == "NotTriggerScaleUp" and found is not None:
            return found_at(proof, said=found[0], groups=found[1])
    return None


@of_waiting("pod-waits-for-busy-gpus")
def _busy(patient: Patient, proof: WhyPending) -> Sighting | None:
    near, node = _nearest(patient, proof, "NodeResourcesFit") or (None, None)
    if near is None or node is None or proof.pod.labels.get("kai.scheduler/queue"):
        return None
    name = near.first.resource or "pods"
    holders = [p for p in patient.cluster.pods_on.get(node.name, ()) if p.requests.get(name)]
    holders.sort(key=lambda pod: -pod.requests[name])
    named = ", ".join(pod.ref.removeprefix("Pod/") for pod in holders[:3])
    signs = (Sign(p.ref, f"requests[{name}]", shown(name, p.requests[name])) for p in holders[:3])
    by = f", held by {named}" if named else ""
    return found_at(proof, *signs, near=near, node=node, holders=by)


def cuda_of(image: str) -> tuple[int, int] | None:
    """The CUDA release that the name of an image says; None: none."""
    found = next(filter(None, (form.search(image) for form in _IN_IMAGE)), None)
    return None if found is None else (int(found[1]), int(found[2]))


def _too_new(patient: Patient, pod: SeenPod, node: SeenNode) -> tuple[str, str] | None:
    """CUDA that an image wants and the place that says so, where the node's driver has less."""
    for place, said in patient.cluster.sayings(pod):
        found = _UNSATISFIED.search(said)
        if found is not None:
            return found[1], place
    given = node.version(_CUDA).split(".")[0]
    for wanted in map(cuda_of, pod.images) if pod.trouble and given.isdigit() else ():
        if wanted is not None and wanted[0] > int(given):
            return f"{wanted[0]}.{wanted[1]}", "spec.containers[].image"
    return None


@cause("cuda-newer-than-driver")
def _cuda(patient: Patient) -> Iterator[Sighting]:
    for pod in patient.cluster.pods:
        node = patient.cluster.nodes.get(pod.node)
        if node is None or not pod.wants_gpus or pod.ended or pod.ref in patient.explained:
            continue
        wanted, place = _too_new(patient, pod, node) or ("", "")
        if wanted:
            driver, given = node.version(_DRIVER) or "version not known", node.version(_CUDA)
            major = given.split(".")[0] or str(int(wanted.split(".")[0]) - 1)
            values: dict[str, Any] = {
                "place": place,
                "driver": driver,
                "given": given or "less",
                "major": major,
            }
            yield found_at(pod, explains=(f"held:{pod.ref}",), wanted=wanted, **values)
