"""GPUs that are held for nothing: by pods that do not run, do not end, only sleep, or are left over."""

from collections.abc import Iterator

from gpufleet.findings import Severity
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, cause
from gpufleet_policies.doctor.observed import Pod
from gpufleet_policies.doctor.operands import part_of

_LIFE = "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/"
RESTARTS = 5
"""Restarts after which the kubelet waits its longest, 5 minutes (10 s doubled; `pkg/kubelet`)."""
GRACE_MINUTES = 10
"""Minutes after its deletion time in which a pod of any usual grace period ends."""
_SLEEPS = (("sleep", "infinity"), ("sleep", "inf"), ("tail", "-f", "/dev/null"))


def _holders(patient: Patient) -> Iterator[Pod]:
    for pods in patient.cluster.pods_on.values():
        for pod in pods:
            if pod.wants_gpus and part_of(pod.name, ()) is None:
                yield pod


def _held(pod: Pod) -> int:
    return sum(pod.devices.values()) or len(pod.claims)


@cause("pod-stuck-terminating")
def terminating(patient: Patient) -> Iterator[Found]:
    for pod in _holders(patient):
        since = patient.cluster.minutes_since(pod.metadata.get("deletionTimestamp"))
        if since is None or since < GRACE_MINUTES or f"Node/{pod.node}" in patient.explained:
            continue
        yield found_at(
            pod,
            Evidence(pod.ref, "metadata.deletionTimestamp", str(pod.metadata["deletionTimestamp"])),
            gpus=_held(pod),
            a=int(since),
            b=_held(pod),
        )


@cause("gpu-held-by-stuck-pod")
def stuck(patient: Patient) -> Iterator[Found]:
    for pod in _holders(patient):
        trouble = pod.trouble
        if trouble is None or f"held:{pod.ref}" in patient.explained:
            continue
        if pod.ref in patient.explained or f"Node/{pod.node}" in patient.explained:
            continue
        if trouble.reason == "CrashLoopBackOff" and trouble.restarts < RESTARTS:
            continue
        yield found_at(
            pod,
            Evidence(pod.ref, trouble.place, trouble.reason),
            gpus=_held(pod),
            a=_held(pod),
            trouble=trouble,
            b=f" ({trouble.restarts} restarts)" if trouble.restarts else "",
            c=pod.owner[0] or "owner",
        )


@cause("gpu-held-by-finished-owner")
def finished(patient: Patient) -> Iterator[Found]:
    for pod in _holders(patient):
        kind, name = pod.owner
        owner = patient.cluster.get(kind, name, pod.namespace)
        ended = owner is not None and any(
            owner.conditions.get(one, {}).get("status") == "True"
            for one in ("Complete", "Failed", "Finished")
        )
        if not ended or pod.ref in patient.explained or owner is None:
            continue
        yield found_at(
            pod,
            Evidence(owner.ref, "status.conditions", "ended"),
            Evidence(pod.ref, "status.phase", pod.phase),
            gpus=_held(pod),
            a=_held(pod),
            kind=kind,
            name=name,
        )


@cause("gpu-held-and-idle")
def idle(patient: Patient) -> Iterator[Found]:
    for pod in _holders(patient):
        if pod.ref in patient.explained or pod.trouble is not None:
            continue
        for one in pod.containers:
            said = [*(one.get("command") or []), *(one.get("args") or [])]
            words = tuple(" ".join(map(str, said)).split())
            if any(words[-len(form) :] == form for form in _SLEEPS):
                yield found_at(
                    pod,
                    Evidence(
                        pod.ref, "spec.containers[].command", words[-2 if "sleep" in words else -3]
                    ),
                    gpus=_held(pod),
                    a=_held(pod),
                )
                break


CAUSES = (terminating, stuck, finished, idle)
