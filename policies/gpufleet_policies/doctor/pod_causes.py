"""Causes of pods that wait, were refused by a kubelet, or were never made.

Sources: kubernetes `pkg/kubelet/cm/devicemanager` (requested number of devices unavailable, no
healthy devices), `pkg/kubelet/cm/topologymanager`, `pkg/kubelet/lifecycle`;
NVIDIA/k8s-device-plugin `internal/plugin/server.go` (requests of shared resources);
kubernetes/autoscaler `cluster-autoscaler/FAQ.md` (NotTriggerScaleUp).
"""

import re
from collections.abc import Iterator

from gpufleet.documents.shapes import items
from gpufleet_policies.doctor.cause import Cause, Patient, Sighting, Sign, cause, each, found_at
from gpufleet_policies.doctor.fit import selector_text, shown
from gpufleet_policies.doctor.observed import PRODUCT, Seen, SeenNode, SeenPod, is_device, text
from gpufleet_policies.doctor.pending import NodeAnswer, WhyPending, missing_volumes
from gpufleet_policies.doctor.pools import makes_gpus

_DEFAULT = "default-scheduler"
_KUEUE_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
_GPU, _SHARED, _MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-"
_GROUPS = {"kai-scheduler": "scheduling.run.ai", "volcano": "scheduling.volcano.sh"}
"""Groups of the objects of schedulers: a dump that has some has the scheduler."""


def waiting(patient: Patient) -> Iterator[WhyPending]:
    """Proofs of pods that the scheduler looks at and that no cause explains yet."""
    for proof in patient.proofs:
        if proof.pod.ref not in patient.explained and not proof.fits and not proof.pod.gates:
            yield proof


of_proofs = each(waiting)
"""Causes of pods that the scheduler looks at."""


def _asked(pod: SeenPod) -> Sign:
    counts = ", ".join(f"{n}: {c}" for n, c in pod.devices.items()) or "claims"
    return Sign(pod.ref, "spec.containers[].resources", counts)


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


@cause("pod-gated")
def _gated(patient: Patient) -> Iterator[Sighting]:
    for proof in patient.proofs:
        gate = next((gate for gate in proof.pod.gates if gate not in _KUEUE_GATES), "")
        if gate and proof.pod.ref not in patient.explained:
            evidence = Sign(proof.pod.ref, "spec.schedulingGates", gate)
            yield found_at(proof, evidence, gate=gate, domain=gate.partition("/")[0])


@cause("pod-scheduler-missing")
def _no_scheduler(patient: Patient) -> Iterator[Sighting]:
    cluster = patient.cluster
    for proof in patient.proofs:
        name = proof.pod.scheduler
        if name == _DEFAULT or proof.pod.conditions.get("PodScheduled"):
            continue
        group = _GROUPS.get(name, name)
        runs = any(name in f"{pod.name} {' '.join(pod.images)}" for pod in cluster.pods)
        if not runs and not any(
            text(s.raw.get("apiVersion")).startswith(group) for s in cluster.seen
        ):
            yield found_at(proof, Sign(proof.pod.ref, "spec.schedulerName", name), name=name)


@cause("pod-volume-missing")
def _no_volume(patient: Patient) -> Iterator[Sighting]:
    for proof in patient.proofs:
        missing = missing_volumes(patient.cluster, proof.pod)
        known = patient.cluster.has("PersistentVolumeClaim")
        said = text(proof.pod.conditions.get("PodScheduled", {}).get("message"))
        # Of a dump without claims only a pod that fits, and waits, says that one is missing.
        if missing and (known or proof.fits or "persistentvolumeclaim" in said):
            place = "spec.volumes[].persistentVolumeClaim"
            yield found_at(proof, Sign(proof.pod.ref, place, missing[0]), volume=missing[0])


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


@of_proofs("pod-resource-renamed")
def _renamed(patient: Patient, proof: WhyPending) -> Sighting | None:
    given = _offered(patient)
    for name in proof.pod.devices:
        other = "" if name in given else _other_name(patient, name, given)
        if other:
            nodes = Sign("Node", "status.allocatable", ", ".join(sorted(given)))
            count = proof.pod.devices[name]
            return found_at(proof, _asked(proof.pod), nodes, name=name, other=other, count=count)
    return None


@of_proofs("pod-resource-unknown")
def _unknown(patient: Patient, proof: WhyPending) -> Sighting | None:
    given, cluster = _offered(patient), patient.cluster
    nodes = cluster.nodes.values()
    to_come = any(node.ref in patient.explained for node in nodes if node.has_nvidia)
    to_come |= any(
        makes_gpus(pool) or pool.spec.get("template") for pool in cluster.all("NodePool")
    )
    for name in proof.pod.devices:
        if name in given or (name == _GPU and to_come):
            continue
        near = ", ".join(sorted(given))
        return found_at(
            proof,
            _asked(proof.pod),
            Sign("Node", "status.allocatable", near or "no accelerator at all"),
            name=name,
            help=f"ask for one of {near}" if near else "add nodes with GPUs, and a device plugin",
        )
    return None


@of_proofs("pod-request-above-node")
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
            return found_at(
                proof,
                Sign(proof.pod.ref, f"requests[{name}]", shown(name, amount)),
                Sign(largest.ref, f"status.allocatable[{name}]", shown(name, most)),
                name=name,
                asked=shown(name, amount),
                most=shown(name, most),
                several=", and use several pods" if is_device(name) else "",
            )
    return None


def _nearest(patient: Patient, proof: WhyPending, kind: str) -> tuple[NodeAnswer, SeenNode] | None:
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
        if one.node in nodes and f"Node/{one.node}" not in patient.explained
    ]
    near = min(well, key=lambda one: (one.cost, one.node), default=None)
    if near is None or near.first.filter != kind:
        return None
    return near, patient.cluster.nodes[near.node]


@of_proofs("pod-taint-not-tolerated")
def _taint(patient: Patient, proof: WhyPending) -> Sighting | None:
    near = _nearest(patient, proof, "TaintToleration")
    if near is None:
        return None
    first, count = near[0].first, len(items(proof.pod.spec.get("tolerations")))
    return found_at(
        proof,
        Sign(proof.pod.ref, "spec.tolerations", f"{count} entries, none for it"),
        Sign(near[1].ref, "spec.taints", first.reason),
        change=first.change,
        taint=first.reason.removeprefix("node(s) had untolerated taint "),
    )


@of_proofs("pod-selector-matches-no-node")
def _selector(patient: Patient, proof: WhyPending) -> Sighting | None:
    near = _nearest(patient, proof, "NodeAffinity")
    if near is None:
        return None
    wrong, node = selector_text(proof.pod.spec, near[1]), near[1]
    product = node.labels.get(PRODUCT, "not there")
    return found_at(
        proof,
        Sign(proof.pod.ref, "spec.nodeSelector, spec.affinity", wrong),
        Sign(node.ref, f"metadata.labels[{PRODUCT}]", product),
        change=near[0].first.change,
        wrong=wrong,
    )


@of_proofs("autoscaler-at-maximum")
def _at_maximum(patient: Patient, proof: WhyPending) -> Sighting | None:
    for event in patient.cluster.events_of(proof.pod):
        found = re.search(r"(\d+) max node group size reached", event.message)
        if event.reason == "NotTriggerScaleUp" and found is not None:
            evidence = Sign(proof.pod.ref, "events[NotTriggerScaleUp]", found[0])
            return found_at(proof, evidence, groups=found[1])
    return None


@of_proofs("pod-waits-for-busy-gpus")
def _busy(patient: Patient, proof: WhyPending) -> Sighting | None:
    found = _nearest(patient, proof, "NodeResourcesFit")
    if found is None or proof.pod.labels.get("kai.scheduler/queue"):
        return None
    near, node = found
    name = near.first.resource or "pods"
    holders = [p for p in patient.cluster.pods_on.get(node.name, ()) if p.requests.get(name)]
    holders.sort(key=lambda pod: -pod.requests[name])
    named = ", ".join(pod.ref.removeprefix("Pod/") for pod in holders[:3])
    amounts = (
        Sign(pod.ref, f"requests[{name}]", shown(name, pod.requests[name])) for pod in holders[:3]
    )
    by = f", held by {named}" if named else ""
    return found_at(proof, _asked(proof.pod), *amounts, near=near, node=node, holders=by)


def _refusal(code: str, words: str) -> Cause:
    """A cause of pods that a kubelet refused with certain words."""
    form = re.compile(words)

    def find(patient: Patient) -> Iterator[Sighting]:
        groups: dict[tuple[str, str], list[SeenPod]] = {}
        for pod in patient.cluster.pods:
            found = form.search(text(pod.status.get("message")))
            if found is not None and pod.ref not in patient.explained:
                groups.setdefault((pod.node, found[0]), []).append(pod)
        for (_, said), pods in groups.items():
            yield found_at(
                pods[0],
                Sign(pods[0].ref, "status.reason", text(pods[0].status.get("reason"))),
                Sign(pods[0].ref, "status.message", said.rstrip(".,")),
                gpus=sum(sum(one.devices.values()) for one in pods),
                many=f" (and {len(pods) - 1} pods like it)" if len(pods) > 1 else "",
            )

    return cause(code)(find)


_QUOTA = re.compile(r"exceeded quota: ([\w.-]+), requested: ([^,]+), used: ([^,]+), limited: (\S+)")
_CLASS = re.compile(r'RuntimeClass "([\w.-]+)" not found')


def _not_made(patient: Patient, form: re.Pattern[str]) -> Iterator[tuple[Seen, re.Match[str]]]:
    """Owners whose pods the API server refuses, with the words that say why."""
    for (kind, namespace, name), events in patient.cluster.events.items():
        found = (form.search(one.message) for one in events if one.reason == "FailedCreate")
        first = next((one for one in found if one is not None), None)
        if first is not None:
            metadata = {"name": name, "namespace": namespace}
            owner = patient.cluster.get(kind, name, namespace)
            yield owner or Seen({"kind": kind, "metadata": metadata}), first


@cause("pod-quota-exceeded")
def _quota(patient: Patient) -> Iterator[Sighting]:
    for owner, found in _not_made(patient, _QUOTA):
        name, asked, used, limit = found[1], found[2], found[3], found[4].rstrip(".")
        ref = f"ResourceQuota/{owner.namespace}/{name}"
        evidence = Sign(ref, "status.hard", limit), Sign(ref, "status.used", used)
        yield found_at(owner, *evidence, name=name, limit=limit, used=used, asked=asked)


@cause("pod-runtime-class-missing")
def _no_class(patient: Patient) -> Iterator[Sighting]:
    for owner, found in _not_made(patient, _CLASS):
        place = "spec.template.spec.runtimeClassName"
        yield found_at(owner, Sign(owner.ref, place, found[1]), name=found[1])


CAUSES = (
    _refusal("pod-shared-request-above-one", r"maximum request size for shared resources is 1"),
    _refusal(
        "pod-devices-unavailable",
        r"requested number of devices unavailable for \S+ Requested: \d+, Available: \d+",
    ),
    _refusal(
        "pod-devices-unhealthy",
        r"no healthy devices present; cannot allocate unhealthy devices \S+",
    ),
    _refusal("pod-topology-refused", r"Resources cannot be allocated with Topology locality"),
    *(_quota, _no_class, _gated, _no_scheduler, _no_volume, _renamed, _unknown, _above),
    *(_at_maximum, _taint, _selector, _busy),
)
