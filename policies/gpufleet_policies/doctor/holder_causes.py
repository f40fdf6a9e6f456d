"""GPUs that are held for nothing: by pods that do not run, do not end, only sleep, or are left."""

from collections.abc import Iterator

from gpufleet.documents.shapes import items
from gpufleet_policies.doctor.cause import Patient, Sighting, each, found_at
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


@_of_holders("pod-stuck-terminating")
def _terminating(patient: Patient, pod: SeenPod) -> Sighting | None:
    since = patient.cluster.minutes_since(pod.metadata.get("deletionTimestamp"))
    if since is None or since < GRACE_MINUTES:
        return None
    return found_at(pod, minutes=int(since), moment=pod.metadata["deletionTimestamp"])


@_of_holders("gpu-held-by-stuck-pod")
def _stuck(patient: Patient, pod: SeenPod) -> Sighting | None:
    trouble = pod.trouble
    if trouble is None or (trouble.reason == "CrashLoopBackOff" and trouble.restarts < RESTARTS):
        return None
    restarts = f" ({trouble.restarts} restarts)" if trouble.restarts else ""
    return found_at(pod, trouble=trouble, restarts=restarts, owner=pod.owner[0] or "owner")


@_of_holders("gpu-held-by-finished-owner")
def _finished(patient: Patient, pod: SeenPod) -> Sighting | None:
    kind, name = pod.owner
    owner = patient.cluster.get(kind, name, pod.namespace)
    if owner is None or not any(map(owner.holds, ("Complete", "Failed", "Finished"))):
        return None
    return found_at(pod, owner=owner)


@_of_holders("gpu-held-and-idle")
def _idle(patient: Patient, pod: SeenPod) -> Sighting | None:
    for one in pod.containers if pod.trouble is None else ():
        said = [*items(one.get("command")), *items(one.get("args"))]
        words = tuple(" ".join(map(str, said)).split())
        for form in _SLEEPS:
            if words[-len(form) :] == form:
                return found_at(pod, command=" ".join(form))
    return None
