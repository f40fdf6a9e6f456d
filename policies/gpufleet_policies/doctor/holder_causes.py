"""GPUs that are held for nothing: by pods that do not run, do not end, only sleep, or are left."""

from collections.abc import Iterator

from gpufleet.documents.shapes import items
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, each, found_at
from gpufleet_policies.doctor.observed import SeenPod
from gpufleet_policies.doctor.operands import part_of

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


def _held(pod: SeenPod) -> int:
    return sum(pod.devices.values()) or len(pod.claims)


@_of_holders("pod-stuck-terminating")
def _terminating(patient: Patient, pod: SeenPod) -> Sighting | None:
    moment = pod.metadata.get("deletionTimestamp")
    since = patient.cluster.minutes_since(moment)
    if since is None or since < GRACE_MINUTES:
        return None
    evidence = Sign(pod.ref, "metadata.deletionTimestamp", str(moment))
    return found_at(pod, evidence, minutes=int(since), held=_held(pod))


@_of_holders("gpu-held-by-stuck-pod")
def _stuck(patient: Patient, pod: SeenPod) -> Sighting | None:
    trouble = pod.trouble
    if trouble is None or (trouble.reason == "CrashLoopBackOff" and trouble.restarts < RESTARTS):
        return None
    return found_at(
        pod,
        Sign(pod.ref, trouble.place, trouble.reason),
        held=_held(pod),
        trouble=trouble,
        restarts=f" ({trouble.restarts} restarts)" if trouble.restarts else "",
        owner=pod.owner[0] or "owner",
    )


@_of_holders("gpu-held-by-finished-owner")
def _finished(patient: Patient, pod: SeenPod) -> Sighting | None:
    kind, name = pod.owner
    owner = patient.cluster.get(kind, name, pod.namespace)
    ends = ("Complete", "Failed", "Finished")
    if owner is None or not any(owner.conditions.get(e, {}).get("status") == "True" for e in ends):
        return None
    evidence = Sign(owner.ref, "status.conditions", "ended")
    running = Sign(pod.ref, "status.phase", pod.phase)
    return found_at(pod, evidence, running, held=_held(pod), kind=kind, name=name)


@_of_holders("gpu-held-and-idle")
def _idle(patient: Patient, pod: SeenPod) -> Sighting | None:
    for one in pod.containers if pod.trouble is None else ():
        said = [*items(one.get("command")), *items(one.get("args"))]
        words = tuple(" ".join(map(str, said)).split())
        for form in _SLEEPS:
            if words[-len(form) :] == form:
                evidence = Sign(pod.ref, "spec.containers[].command", " ".join(form))
                return found_at(pod, evidence, held=_held(pod))
    return None


CAUSES = (_terminating, _stuck, _finished, _idle)
