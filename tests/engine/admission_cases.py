"""What each admission policy refuses: rule -> offending objects; compliant ones stand beside."""

import copy
from typing import Any

from tests.engine.admission_objects import (
    WITH_PODS,
    autoscaler,
    claim,
    claim_template,
    cluster_queue,
    container,
    kai_queue,
    node_pool,
    pod_spec,
    scaled_object,
)

Case = tuple[str, dict[str, Any]]
"""Rule and an object that breaks exactly it."""

_MEMORY = {"requests": {"cpu": "4", "memory": "16Gi"}}
UNCHECKED = tuple(
    kind
    for kind in WITH_PODS
    if kind not in ("Pod", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Job", "CronJob")
)
"""Kinds whose pod template the API server does not read."""
JOB_KINDS = ("Job", "CronJob", "PyTorchJob", "MPIJob", "RayJob")
RAY_KINDS = ("RayCluster", "RayJob", "RayService")


def _set(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with a value at a dotted path; None removes it."""
    result = copy.deepcopy(document)
    here: Any = result
    *steps, last = path.split("/")
    for step in steps:
        here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
    if value is None:
        here.pop(last, None)
    else:
        here[last] = value
    return result


def _resources(kind: str, **resources: Any) -> dict[str, Any]:
    return WITH_PODS[kind](pod_spec(container(resources={**_MEMORY, **resources})))


def _of_pods() -> list[Case]:
    found: list[Case] = []
    for kind, make in WITH_PODS.items():
        shared = {"limits": {"nvidia.com/gpu.shared": "2"}}
        found += [
            ("shared-gpu-request-over-one", _resources(kind, **shared)),
            (
                "gpu-pod-without-cpu-memory",
                make(pod_spec(container(resources={"limits": {"nvidia.com/gpu": 1}}))),
            ),
            ("gpu-idle-command", make(pod_spec(container(command=["sleep", "infinity"], args=[])))),
            (
                "fraction-with-whole-gpu",
                _set(make(pod_spec()), "metadata/annotations", {"gpu-fraction": "0.5"}),
            ),
            (
                "dra-claim-unused",
                make(
                    pod_spec(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}])
                ),
            ),
        ]
        if kind != "DaemonSet":
            found.append(("gpu-owner-tags-missing", _set(make(pod_spec()), "metadata/labels", {})))
            pinned = pod_spec(
                container(resources=_MEMORY), nodeSelector={"nvidia.com/gpu.present": "true"}
            )
            found.append(("non-gpu-pod-on-gpu-pool", make(pinned)))
        if kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"):
            probe = pod_spec(container(command=["nvidia-smi"], args=[]))
            found.append(("gpu-oneshot-in-deployment", make(probe)))
    for kind in UNCHECKED:
        gpu = "nvidia.com/gpu"
        asked = {"requests": {**_MEMORY["requests"], gpu: "1"}}
        found += [
            ("gpu-request-without-limit", _resources(kind, **asked)),
            ("gpu-request-differs-from-limit", _resources(kind, **asked, limits={gpu: "2"})),
            ("gpu-not-integer", _resources(kind, limits={gpu: "0.5"})),
        ]
    return found


_JOB = {
    "Job": "spec",
    "CronJob": "spec/jobTemplate/spec",
    "PyTorchJob": "spec/runPolicy",
    "MPIJob": "spec/runPolicy",
    "RayJob": "spec",
}
_RAY = {
    "RayCluster": "spec",
    "RayJob": "spec/rayClusterSpec",
    "RayService": "spec/rayClusterConfig",
}


def _of_jobs() -> list[Case]:
    found: list[Case] = []
    for kind, path in _JOB.items():
        good = WITH_PODS[kind](pod_spec())
        found += [
            ("gpu-job-without-deadline", _set(good, f"{path}/activeDeadlineSeconds", None)),
            ("gpu-job-unbounded-retries", _set(good, f"{path}/backoffLimit", 100)),
        ]
    for kind, path in _RAY.items():
        good = WITH_PODS[kind](pod_spec())
        workers = f"{path}/workerGroupSpecs/0"
        same = _set(_set(good, f"{workers}/minReplicas", 2), f"{workers}/maxReplicas", 2)
        found += [
            ("ray-group-maximum-unset", _set(good, f"{workers}/maxReplicas", None)),
            ("autoscaler-min-equals-max", same),
            (
                "scale-down-too-slow",
                _set(good, f"{path}/autoscalerOptions", {"idleTimeoutSeconds": 7200}),
            ),
        ]
    cron_job = _set(WITH_PODS["CronJob"](pod_spec()), "spec/concurrencyPolicy", None)
    endless = _set(cron_job, "spec/jobTemplate/spec/activeDeadlineSeconds", None)
    # Without a deadline it breaks two rules: the other one is set aside.
    aside = {"gpufleet.dev/ignore-gpu-job-without-deadline": "a test; until=2999-12-31"}
    found.append(("gpu-cronjob-overlaps", _set(endless, "metadata/annotations", aside)))
    ray_job = WITH_PODS["RayJob"](pod_spec())
    found.append(
        ("rayjob-cluster-outlives-job", _set(ray_job, "spec/shutdownAfterJobFinishes", None))
    )
    job = WITH_PODS["Job"](pod_spec())
    found.append(("gpu-job-keeps-finished-pods", _set(job, "spec/ttlSecondsAfterFinished", None)))
    eight = pod_spec(container(resources={**_MEMORY, "limits": {"nvidia.com/gpu": "8"}}))
    for kind, path in (
        ("Job", "spec/parallelism"),
        ("JobSet", "spec/replicatedJobs/0/replicas"),
        ("PyTorchJob", "spec/pytorchReplicaSpecs/Worker/replicas"),
        ("MPIJob", "spec/mpiReplicaSpecs/Worker/replicas"),
    ):
        found.append(("training-without-queue-or-gang", _set(WITH_PODS[kind](eight), path, 2)))
    return found


_SERVES = {"gpufleet.dev/mode": "inference"}


def _on_cpu() -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": 70}
    return autoscaler(metrics=[{"type": "Resource", "resource": {"name": "cpu", "target": target}}])


def _of_pools() -> list[Case]:
    limits = {"consolidateAfter": "Never"}
    never = node_pool()
    never["spec"]["template"]["spec"]["expireAfter"] = "Never"
    return [
        ("gpu-pool-unbounded", node_pool(limits={})),
        ("karpenter-never-consolidates", node_pool(disruption=limits)),
        (
            "karpenter-never-consolidates",
            node_pool(disruption={"consolidateAfter": "5m", "budgets": [{"nodes": "0"}]}),
        ),
        ("karpenter-never-expires", never),
        ("karpenter-static-gpu-pool", node_pool(replicas=2)),
        ("karpenter-consolidates-slowly", node_pool(disruption={"consolidateAfter": "4h"})),
        ("gpu-scaled-on-cpu", _set(_on_cpu(), "metadata/annotations", _SERVES)),
        (
            "scale-down-too-slow",
            autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 3600}}),
        ),
        ("scale-down-too-slow", scaled_object(cooldownPeriod=7200)),
        ("autoscaler-min-equals-max", autoscaler(minReplicas=4)),
        ("autoscaler-min-equals-max", scaled_object(minReplicaCount=4)),
        ("idle-replicas-invalid", scaled_object(idleReplicaCount=2, minReplicaCount=2)),
        ("dra-takes-all-devices", claim(allocationMode="All")),
        ("dra-takes-all-devices", claim_template(allocationMode="All")),
        ("queue-without-cap", kai_queue(quota=-1, limit=-1)),
        ("queue-without-cap", cluster_queue()),
    ]


OFFENDING: tuple[Case, ...] = (*_of_pods(), *_of_jobs(), *_of_pools())

COMPLIANT: tuple[dict[str, Any], ...] = (
    *(make(pod_spec()) for make in WITH_PODS.values()),
    node_pool(),
    autoscaler(),
    scaled_object(),
    claim(),
    claim_template(),
    kai_queue(),
    cluster_queue(borrowingLimit=8),
    # Traps: short waits, work after a wait, a wait at no replicas, an agent on GPU nodes.
    WITH_PODS["Pod"](pod_spec(container(command=["sleep", "30"], args=[]))),
    WITH_PODS["Pod"](pod_spec(container(command=["sh", "-c", "sleep 7200; train"], args=[]))),
    _set(
        WITH_PODS["Deployment"](pod_spec(container(command=["sleep", "infinity"], args=[]))),
        "spec/replicas",
        0,
    ),
    WITH_PODS["DaemonSet"](
        pod_spec(container(resources=_MEMORY), nodeSelector={"nvidia.com/gpu.present": "true"})
    ),
    _set(scaled_object(), "spec/minReplicaCount", None),
    # What an autoscaler without our annotation scales is not known.
    _on_cpu(),
)
