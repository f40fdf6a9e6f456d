"""Causes of pods, their claims and machines: that wait, that cannot start what their node has, and
that hold GPUs for nothing: pods that do not run, do not end, only sleep, or are left.

Sources: kubernetes/autoscaler `cluster-autoscaler/FAQ.md` (NotTriggerScaleUp); NVIDIA, CUDA
Compatibility (a driver runs images of its major version, and of newer ones only with the forward
compatibility package); kubernetes `pkg/scheduler/framework/plugins/dynamicresources` (what is
looked up before any node, what each node must give); kubernetes-sigs/karpenter
`pkg/controllers/nodeclaim/lifecycle` (15 minutes to register), `provisioning/scheduling`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpufleet.documents.shapes import items
from gpufleet_policies.doctor.blockers import Blocker
from gpufleet_policies.doctor.cause import (
    Patient,
    Sighting,
    Sign,
    cause,
    each,
    of_proofs,
    of_waiting,
)
from gpufleet_policies.doctor.devices import requests_of, results, supply_of
from gpufleet_policies.doctor.fit import shown
from gpufleet_policies.doctor.observed import (
    PRODUCT,
    Seen,
    SeenNode,
    SeenPod,
    entries,
    few,
    is_device,
    text,
)
from gpufleet_policies.doctor.pending import VOLUME, WhyPending, claim_specs, missing
from gpufleet_policies.doctor.pools import makes_gpus, template
from gpufleet_policies.doctor.rows import machines, nearest, offers
from gpufleet_policies.doctor.snapshot import Dump, part_of

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


@lru_cache(maxsize=1)
def _offered(patient: Patient) -> set[str]:
    """Accelerators that any node registers, with devices or without, or that are declared."""
    nodes = patient.cluster.nodes.values()
    found = {name for node in nodes for name in (*node.capacity, *node.allocatable)}
    pools = () if patient.fleet is None else patient.fleet.pools
    found |= {name for pool in pools for name in pool.advertised}
    return {name for name in found if is_device(name)}


@of_proofs("pod-gated")
def _gated(patient: Patient, proof: WhyPending) -> Sighting | None:
    own = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
    gate = next((gate for gate in proof.pod.gates if gate not in own), "")
    if not gate or proof.pod.ref in patient.explained:
        return None
    return Sighting(proof, gate=gate, domain=gate.partition("/")[0])


@of_proofs("pod-scheduler-missing")
def _no_scheduler(patient: Patient, proof: WhyPending) -> Sighting | None:
    cluster, name = patient.cluster, proof.pod.scheduler
    if name == "default-scheduler" or proof.pod.conditions.get("PodScheduled"):
        return None
    group = _GROUPS.get(name, name)
    there = any(name in f"{pod.name} {' '.join(pod.images)}" for pod in cluster.pods)
    there |= any(text(one.raw.get("apiVersion")).startswith(group) for one in cluster.seen)
    return None if there else Sighting(proof, name=name)


@of_proofs("pod-volume-missing")
def _no_volume(patient: Patient, proof: WhyPending) -> Sighting | None:
    said = proof.pod.conditions.get("PodScheduled", {})
    volumes = [name for kind, name in missing(patient.cluster, proof.pod) if kind == VOLUME]
    is_volume = VOLUME.lower() in text(said.get("message"))
    # In a dump without claims only a waiting pod that fits shows that one is missing.
    if volumes and (patient.cluster.all(VOLUME) or proof.fits or is_volume):
        return Sighting(proof, volume=volumes[0])
    return None


def _other_name(patient: Patient, name: str, given: set[str]) -> str:
    """Another name under which nodes offer what a pod requests; empty: none."""
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
            return Sighting(proof, nodes, name=name, other=other, count=count)
    return None


def _to_come(patient: Patient) -> bool:
    """Whether a node may offer GPUs that offers none now."""
    nodes, pools = patient.cluster.nodes.values(), patient.cluster.all("NodePool")
    known = (node.ref in patient.explained for node in nodes if node.has_nvidia)
    return any(known) or any(makes_gpus(pool) or template(pool) for pool in pools)


@of_waiting("pod-resource-unknown")
def _unknown(patient: Patient, proof: WhyPending) -> Sighting | None:
    for name in proof.pod.devices:
        if name in (given := _offered(patient)) or (name == _GPU and _to_come(patient)):
            continue
        near = ", ".join(sorted(given))
        nodes = Sign("Node", "status.allocatable", near or "no accelerator at all")
        case = "others" if near else "none"
        return Sighting(proof, nodes, case=case, name=name, near=near)
    return None


@lru_cache(maxsize=16)
def _largest(cluster: Dump, devices: tuple[str, ...], name: str) -> SeenNode | None:
    """The node with the most of a resource, of those with these devices."""
    found = (one for one in cluster.nodes.values() if offers(cluster, one, devices))
    return max(found, key=lambda node: node.allocatable.get(name, 0), default=None)


@of_waiting("pod-request-above-node")
def _above(patient: Patient, proof: WhyPending) -> Sighting | None:
    if proof.pools or proof.before:
        return None
    for name, amount in proof.pod.requests.items():
        largest = _largest(patient.cluster, tuple(proof.pod.devices), name)
        most = amount if largest is None else largest.allocatable.get(name, amount * 0)
        if amount > most and not any(
            node.ref in patient.explained and node.capacity.get(name, 0) >= amount
            for node in patient.cluster.nodes.values()
        ):
            values: dict[str, Any] = {"asked": shown(name, amount), "most": shown(name, most)}
            several = ", and use several pods" if is_device(name) else ""
            return Sighting(proof, name=name, largest=largest, several=several, **values)
    return None


@of_waiting("autoscaler-at-maximum")
def _at_maximum(patient: Patient, proof: WhyPending) -> Sighting | None:
    for reason, said in patient.cluster.events_of(proof.pod):
        found = re.search(r"(\d+) max node group size reached", said)
        if reason == "NotTriggerScaleUp" and found is not None:
            return Sighting(proof, said=found[0], groups=found[1])
    return None


@of_waiting("pod-waits-for-busy-gpus")
def _busy(patient: Patient, proof: WhyPending) -> Sighting | None:
    near = nearest(patient, proof, "NodeResourcesFit")
    if near is None or proof.pod.labels.get("kai.scheduler/queue"):
        return None
    node, name = patient.cluster.nodes[near.name], near.first.about or "pods"
    holders = [p for p in patient.cluster.pods_on.get(node.name, ()) if p.requests.get(name)]
    holders.sort(key=lambda pod: -pod.requests[name])
    named = few([pod.ref.removeprefix("Pod/") for pod in holders])
    signs = (Sign(p.ref, f"requests[{name}]", shown(name, p.requests[name])) for p in holders[:3])
    by = f", held by {named}" if named else ""
    return Sighting(proof, *signs, near=near, node=node, holders=by)


def cuda_of(image: str) -> tuple[int, int] | None:
    """The CUDA release in the name of an image; None without one."""
    found = next(filter(None, (form.search(image) for form in _IN_IMAGE)), None)
    return None if found is None else (int(found[1]), int(found[2]))


def _too_new(patient: Patient, pod: SeenPod, node: SeenNode) -> tuple[str, str] | None:
    """CUDA that an image needs and the place that states it, where the node's driver has less."""
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
            said: dict[str, Any] = {"wanted": wanted, "place": place, "driver": driver}
            said |= {"given": given or "less", "major": major}
            yield Sighting(pod, explains=(f"held:{pod.ref}",), **said)


Asked = tuple[WhyPending, Seen, dict[str, object]]


def _claims(patient: Patient) -> Iterator[Asked]:
    """Claims without devices of waiting pods, or their templates, and their requests."""
    get = patient.cluster.get
    for proof in patient.proofs:
        pod = proof.pod
        specs = {} if pod.ref in patient.explained else claim_specs(patient.cluster, pod)
        for name, spec in specs.items():
            found = get("ResourceClaim", name, pod.namespace)
            yield proof, found or get("ResourceClaimTemplate", name, pod.namespace) or pod, spec


_of_claims = each(_claims)


@_of_claims("claim-class-missing")
def _no_class(patient: Patient, asked: Asked) -> Sighting | None:
    proof, claim, spec = asked
    there = ", ".join(sorted(one.name for one in patient.cluster.all("DeviceClass"))) or "none"
    for name in (request.device_class for request in requests_of(spec)):
        if name and patient.cluster.get("DeviceClass", name) is None:
            return Sighting(claim, waiting=[proof], name=name, there=there)
    return None


@cause("claim-held-by-finished")
def _held(patient: Patient) -> Iterator[Sighting]:
    pods = {(pod.namespace, pod.name): pod for pod in patient.cluster.pods}
    for claim in patient.cluster.all("ResourceClaim") if pods else ():
        reserved, count = entries(claim.status, "reservedFor"), len(results(claim))
        users = [text(one.get("name")) for one in reserved if one.get("resource") in ("pods", None)]
        found = [pods.get((claim.namespace, name)) for name in users]
        if count and users and all(pod is None or pod.ended for pod in found):
            yield Sighting(claim, gpus=count, devices=count, user=users[0], users=few(users))


def _lacking(asked: Asked, *, taken: bool) -> Sighting | None:
    """A claim that no node gives now, though one could were nothing taken, or not even then."""
    proof, claim, spec = asked
    found = [
        (node, one)
        for node in proof.nodes
        for one in node.blockers
        if one.filter == "DynamicResources" and one.about == claim.name
    ]
    able = [(node, one) for node, one in found if one.fits_empty]
    if len(found) < len(proof.nodes) or proof.fits or not found or bool(able) is not taken:
        return None

    def size(one: tuple[object, Blocker]) -> int:
        return one[1].cost

    node, lack = min(able or found, key=size)
    asks = " and ".join(f"{one.count or 'all'} of {one.device_class}" for one in requests_of(spec))
    return Sighting(claim, waiting=[proof], node=node, lack=lack, asks=asks)


@_of_claims("claim-unsatisfiable")
def _unsatisfiable(patient: Patient, asked: Asked) -> Sighting | None:
    return _lacking(asked, taken=False) if supply_of(patient.cluster).devices else None


@_of_claims("claim-devices-taken")
def _taken(patient: Patient, asked: Asked) -> Sighting | None:
    return _lacking(asked, taken=True)


RESTARTS = 5
"""Restarts after which the kubelet waits its longest, 5 minutes (10 s doubled; `pkg/kubelet`)."""
GRACE_MINUTES = 10
"""Minutes after its deletion time in which a pod of any usual grace period ends."""
_SLEEPS = (("sleep", "infinity"), ("sleep", "inf"), ("tail", "-f", "/dev/null"))


def _holders(patient: Patient) -> Iterator[SeenPod]:
    """Pods that hold GPUs of nodes with which nothing is wrong."""
    for node, pods in patient.cluster.pods_on.items():
        for pod in pods if f"Node/{node}" not in patient.explained else ():
            known = patient.explained & {pod.ref, f"held:{pod.ref}"}
            if pod.wants_gpus and not known and part_of(pod.name, ()) is None:
                yield pod


_of_holders = each(_holders)


@_of_holders("pod-stuck-terminating")
def _terminating(patient: Patient, pod: SeenPod) -> Sighting | None:
    since = patient.cluster.minutes_since(pod.metadata.get("deletionTimestamp"))
    if since is None or since < GRACE_MINUTES:
        return None
    return Sighting(pod, minutes=int(since), moment=pod.metadata["deletionTimestamp"])


@_of_holders("gpu-held-by-stuck-pod")
def _stuck(patient: Patient, pod: SeenPod) -> Sighting | None:
    trouble = pod.trouble
    if trouble is None or (trouble.reason == "CrashLoopBackOff" and trouble.restarts < RESTARTS):
        return None
    restarts = f" ({trouble.restarts} restarts)" if trouble.restarts else ""
    return Sighting(pod, trouble=trouble, restarts=restarts, owner=pod.owner[0] or "owner")


@_of_holders("gpu-held-by-finished-owner")
def _finished(patient: Patient, pod: SeenPod) -> Sighting | None:
    kind, name = pod.owner
    owner = patient.cluster.get(kind, name, pod.namespace)
    if owner is None or not any(map(owner.holds, ("Complete", "Failed", "Finished"))):
        return None
    return Sighting(pod, owner=owner)


@_of_holders("gpu-held-and-idle")
def _idle(patient: Patient, pod: SeenPod) -> Sighting | None:
    for one in pod.containers if pod.trouble is None else ():
        said = [*items(one.get("command")), *items(one.get("args"))]
        words = tuple(" ".join(map(str, said)).split())
        for form in _SLEEPS:
            if words[-len(form) :] == form:
                return Sighting(pod, command=" ".join(form))
    return None


REGISTER_MINUTES = 15
"""Minutes that Karpenter waits for a node to register before it deletes the NodeClaim."""


@each(machines)("nodeclaim-not-registered")
def _not_registered(patient: Patient, claim: Seen) -> Sighting | None:
    age = patient.cluster.minutes_since(claim.metadata.get("creationTimestamp"))
    young = age is not None and age < REGISTER_MINUTES
    if not claim.holds("Launched") or claim.holds("Registered") or young:
        return None
    return Sighting(claim, minutes=REGISTER_MINUTES, waiting=patient.waiting_for(claim))


@of_waiting("nodepool-cannot-make")
def _cannot_make(patient: Patient, proof: WhyPending) -> Sighting | None:
    if not proof.pools or any(not one.reason for one in proof.pools) or proof.before:
        return None
    if any(all(b.about and b.fits_empty for b in node.blockers) for node in proof.nodes):
        return None  # a node that is full today takes it tomorrow
    if proof.pod.claims and patient.cluster.dra_nodes:
        return None  # nodes that are there publish devices: the cause is in the claim
    signs = (Sign(f"NodePool/{p.name}", "spec.template.spec", p.reason) for p in proof.pools[:4])
    return Sighting(proof, *signs, best=min(proof.pools, key=lambda one: (one.cost, one.name)))
