"""Objects that each admission policy refuses: rule -> offending objects, with compliant ones."""

from typing import Any

from tests.engine.admission_objects import (
    GPU,
    MEMORY,
    WITH_PODS,
    Case,
    autoscaler,
    changed,
    container,
    node_pool,
    pod_spec,
    scaled_object,
)

SELECTED = [
    {"cel": {"expression": "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L4'"}}
]
UNCHECKED = tuple(
    kind
    for kind in WITH_PODS
    if kind not in ("Pod", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Job", "CronJob")
)
"""Kinds whose pod template the API server does not read."""
JOB_KINDS = ("Job", "CronJob", "PyTorchJob", "MPIJob", "RayJob")
_LOOP = "while true; do sleep 30; done"
RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")
"""Templates of TrainJobs: without owner and placement of the work."""
RAY_KINDS = ("RayCluster", "RayJob", "RayService")


def _resources(kind: str, **resources: Any) -> dict[str, Any]:
    return WITH_PODS[kind](pod_spec(container(resources={**MEMORY, **resources})))


def _of_pods() -> list[Case]:
    found: list[Case] = []
    for kind, make in WITH_PODS.items():
        shared = {"limits": {"nvidia.com/gpu.shared": "2"}}
        found += [
            ("shared-gpu-request-over-one", _resources(kind, **shared)),
            ("gpu-idle-command", make(pod_spec(container(command=["sleep", "infinity"], args=[])))),
            ("gpu-idle-command", make(pod_spec(container(command=["sh", "-c"], args=[_LOOP])))),
            (
                "fraction-with-whole-gpu",
                changed(make(pod_spec()), "metadata/annotations", {"gpu-fraction": "0.5"}),
            ),
        ]
        if kind != "DaemonSet" and kind not in RUNTIMES:
            found.append(
                ("gpu-owner-tags-missing", changed(make(pod_spec()), "metadata/labels", {}))
            )
        if kind == "TrainJob":
            continue  # it has no pod spec
        claims = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
        found.append(("dra-claim-unused", make(pod_spec(resourceClaims=claims))))
        if kind != "DaemonSet" and kind not in RUNTIMES:
            pinned = pod_spec(
                container(resources=MEMORY), nodeSelector={"nvidia.com/gpu.present": "true"}
            )
            found.append(("non-gpu-pod-on-gpu-pool", make(pinned)))
        if kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"):
            probe = pod_spec(container(command=["nvidia-smi"], args=[]))
            found.append(("gpu-oneshot-in-deployment", make(probe)))
        # A container uses the claim, so that only the doubling is wrong.
        twice = container(resources={**MEMORY, "limits": {GPU: "1"}, "claims": [{"name": "g"}]})
        entry = {"name": "g", "resourceClaimTemplateName": "whole-gpu"}
        found.append(("gpu-requested-twice", make(pod_spec(twice, resourceClaims=[entry]))))
    for kind in UNCHECKED:
        asked = {"requests": {**MEMORY["requests"], GPU: "1"}}
        found += [
            ("gpu-request-without-limit", _resources(kind, **asked)),
            ("gpu-request-differs-from-limit", _resources(kind, **asked, limits={GPU: "2"})),
            ("gpu-not-integer", _resources(kind, limits={GPU: "0.5"})),
        ]
    return found


_JOB = {
    "Job": "spec",
    "CronJob": "spec/jobTemplate/spec",
    "PyTorchJob": "spec/runPolicy",
    "MPIJob": "spec/runPolicy",
    "RayJob": "spec",
    "TrainJob": "spec",
}


def _of_jobs() -> list[Case]:
    found: list[Case] = []
    for kind, path in _JOB.items():
        good = WITH_PODS[kind](pod_spec())
        found.append(
            ("gpu-job-without-deadline", changed(good, f"{path}/activeDeadlineSeconds", None))
        )
    cron_job = changed(WITH_PODS["CronJob"](pod_spec()), "spec/concurrencyPolicy", None)
    endless = changed(cron_job, "spec/jobTemplate/spec/activeDeadlineSeconds", None)
    # Without a deadline it breaks two rules: the other one is set aside.
    aside = {"gpufleet.dev/ignore-gpu-job-without-deadline": "a test; until=2999-12-31"}
    found.append(("gpu-cronjob-overlaps", changed(endless, "metadata/annotations", aside)))
    ray_job = WITH_PODS["RayJob"](pod_spec())
    found.append(
        ("rayjob-cluster-outlives-job", changed(ray_job, "spec/shutdownAfterJobFinishes", None))
    )
    eight = pod_spec(container(resources={**MEMORY, "limits": {"nvidia.com/gpu": "8"}}))
    for kind, path in (
        ("Job", "spec/parallelism"),
        ("JobSet", "spec/replicatedJobs/0/replicas"),
        ("PyTorchJob", "spec/pytorchReplicaSpecs/Worker/replicas"),
        ("MPIJob", "spec/mpiReplicaSpecs/Worker/replicas"),
        ("RayJob", "spec/rayClusterSpec/workerGroupSpecs/0/replicas"),
        ("TrainJob", "spec/trainer/numNodes"),
    ):
        found.append(("training-without-queue-or-gang", changed(WITH_PODS[kind](eight), path, 2)))
    return found


def _of_pools() -> list[Case]:
    never = node_pool()
    never["spec"]["template"]["spec"]["expireAfter"] = "Never"
    return [
        ("gpu-pool-unbounded", node_pool(limits={})),
        ("karpenter-never-consolidates", node_pool(disruption={"consolidateAfter": "Never"})),
        ("karpenter-never-expires", never),
        (
            "scale-down-too-slow",
            autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 3600}}),
        ),
        ("scale-down-too-slow", scaled_object(cooldownPeriod=7200)),
    ]


OFFENDING: tuple[Case, ...] = tuple(_of_pods())
"""Refused by the policy of the rule."""

BROKEN: tuple[Case, ...] = (*OFFENDING, *_of_jobs(), *_of_pools())
"""Break a rule whose fix can be made at admission, or are refused."""

COMPLIANT: tuple[dict[str, Any], ...] = (
    *(make(pod_spec()) for make in WITH_PODS.values()),
    # Claims of compute domains and network cards next to GPUs are right.
    *(
        WITH_PODS["Pod"](
            pod_spec(
                container(resources={**MEMORY, "limits": {GPU: "1"}, "claims": [{"name": "c"}]}),
                resourceClaims=[{"name": "c", "resourceClaimTemplateName": name}],
            )
        )
        for name in ("imex-channel", "gpu-rdma-nic", "compute-domain-gpu")
    ),
    # Traps: short waits, work after a wait, a wait at no replicas, an agent on GPU nodes.
    WITH_PODS["Pod"](pod_spec(container(command=["sleep", "30"], args=[]))),
    WITH_PODS["Pod"](pod_spec(container(command=["sh", "-c", "sleep 7200; train"], args=[]))),
    changed(
        WITH_PODS["Deployment"](pod_spec(container(command=["sleep", "infinity"], args=[]))),
        "spec/replicas",
        0,
    ),
    # None of a GPU is not a GPU.
    WITH_PODS["Deployment"](
        pod_spec(container(command=["sleep", "infinity"], resources={"limits": {GPU: 0}}))
    ),
    WITH_PODS["LeaderWorkerSet"](pod_spec(container(resources={"limits": {GPU: "0"}}))),
    WITH_PODS["Pod"](pod_spec(container(command=["sh", "-c", "while :; do sleep 9; go; done"]))),
    WITH_PODS["DaemonSet"](
        pod_spec(container(resources=MEMORY), nodeSelector={"nvidia.com/gpu.present": "true"})
    ),
)
