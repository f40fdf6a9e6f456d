"""Objects of every kind with a policy, made around one pod spec; compliant until changed."""

import copy
from collections.abc import Callable
from typing import Any

GPU = "nvidia.com/gpu"
GPUS = {GPU: "1"}
MEMORY = {"requests": {"cpu": "4", "memory": "16Gi"}}

Case = tuple[str, dict[str, Any]]
"""Rule and an object that breaks exactly it."""


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
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


def container(**changes: Any) -> dict[str, Any]:
    return {
        "name": "main",
        "image": "registry.example.com/server:1",
        "args": ["--serve"],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": dict(GPUS)},
    } | changes


def pod_spec(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containers": list(containers) or [container()], **more}


def _object(api_version: str, kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    name = {"name": "probe", "labels": {"owner": "ml", "cost-center": "1", "environment": "prod"}}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {**name, **metadata},
        "spec": spec,
    }


def _template(spec: Any, metadata: Any = None) -> dict[str, Any]:
    labels = {"labels": {"app": "probe"}}
    return {"metadata": {**labels, **(metadata or {})}, "spec": spec}


def _selected(kind: str) -> Callable[[Any], dict[str, Any]]:
    def make(spec: Any) -> dict[str, Any]:
        selector = {"matchLabels": {"app": "probe"}}
        more = {"serviceName": "probe"} if kind == "StatefulSet" else {}
        return _object("apps/v1", kind, {"selector": selector, "template": _template(spec), **more})

    return make


def _job_spec(spec: Any) -> dict[str, Any]:
    restarting = {"restartPolicy": "Never", **copy.deepcopy(spec)}
    return {
        "template": _template(restarting),
        "activeDeadlineSeconds": 3600,
        "backoffLimit": 3,
        "ttlSecondsAfterFinished": 60,
    }


def _cron_job(spec: Any) -> dict[str, Any]:
    job = {
        "schedule": "0 3 * * *",
        "concurrencyPolicy": "Forbid",
        "jobTemplate": {"spec": _job_spec(spec)},
    }
    return _object("batch/v1", "CronJob", job)


def _job_set(spec: Any) -> dict[str, Any]:
    job = {"name": "w", "replicas": 1, "template": {"spec": _job_spec(spec)}}
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [job]})


def _leader_worker_set(spec: Any) -> dict[str, Any]:
    groups = {"size": 2, "workerTemplate": _template(spec)}
    return _object(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": groups}
    )


def _roles(api_version: str, kind: str, field: str, role: str) -> Callable[[Any], dict[str, Any]]:
    def make(spec: Any) -> dict[str, Any]:
        roles = {role: {"replicas": 1, "template": _template(spec)}}
        policy = {"activeDeadlineSeconds": 3600, "backoffLimit": 3}
        return _object(api_version, kind, {field: roles, "runPolicy": policy})

    return make


def ray_cluster_spec(spec: Any) -> dict[str, Any]:
    head = {"template": _template({"containers": [{"name": "head", "image": "ray"}]})}
    workers = {
        "groupName": "w",
        "replicas": 1,
        "minReplicas": 0,
        "maxReplicas": 2,
        "template": _template(spec),
    }
    return {
        "enableInTreeAutoscaling": True,
        "headGroupSpec": head,
        "workerGroupSpecs": [workers],
    }


def _ray_job(spec: Any) -> dict[str, Any]:
    job = {
        "rayClusterSpec": ray_cluster_spec(spec),
        "shutdownAfterJobFinishes": True,
        "activeDeadlineSeconds": 3600,
        "backoffLimit": 1,
    }
    return _object("ray.io/v1", "RayJob", job)


def _train_job(spec: Any) -> dict[str, Any]:
    """Fields of a pod spec that a TrainJob can set: those of one container."""
    main = spec["containers"][0]
    trainer = {key: main[key] for key in ("image", "command", "args") if key in main}
    job = {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {**trainer, "numNodes": 1, "resourcesPerNode": main.get("resources", {})},
        "activeDeadlineSeconds": 3600,
    }
    return _object("trainer.kubeflow.org/v1alpha1", "TrainJob", job)


def _training_runtime(kind: str) -> Callable[[Any], dict[str, Any]]:
    def make(spec: Any) -> dict[str, Any]:
        job = {"name": "node", "template": {"spec": {"template": _template(spec)}}}
        template = {"template": {"spec": {"replicatedJobs": [job]}}}
        return _object("trainer.kubeflow.org/v1alpha1", kind, template)

    return make


WITH_PODS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "Pod": lambda spec: _object("v1", "Pod", spec),
    "Deployment": _selected("Deployment"),
    "StatefulSet": _selected("StatefulSet"),
    "ReplicaSet": _selected("ReplicaSet"),
    "DaemonSet": _selected("DaemonSet"),
    "Job": lambda spec: _object("batch/v1", "Job", _job_spec(spec)),
    "CronJob": _cron_job,
    "JobSet": _job_set,
    "LeaderWorkerSet": _leader_worker_set,
    "PyTorchJob": _roles("kubeflow.org/v1", "PyTorchJob", "pytorchReplicaSpecs", "Worker"),
    "MPIJob": _roles("kubeflow.org/v2beta1", "MPIJob", "mpiReplicaSpecs", "Worker"),
    "TrainJob": _train_job,
    "TrainingRuntime": _training_runtime("TrainingRuntime"),
    "ClusterTrainingRuntime": _training_runtime("ClusterTrainingRuntime"),
    "Notebook": lambda spec: _object("kubeflow.org/v1", "Notebook", {"template": {"spec": spec}}),
    "RayCluster": lambda spec: _object("ray.io/v1", "RayCluster", ray_cluster_spec(spec)),
    "RayJob": _ray_job,
    "RayService": lambda spec: _object(
        "ray.io/v1", "RayService", {"rayClusterConfig": ray_cluster_spec(spec)}
    ),
    "Service": lambda spec: _object(
        "serving.knative.dev/v1", "Service", {"template": _template(spec)}
    ),
}
"""Kind -> a compliant object around a pod spec."""


def node_pool(**changes: Any) -> dict[str, Any]:
    requirement = {
        "key": "karpenter.k8s.aws/instance-gpu-count",
        "operator": "Gt",
        "values": ["0"],
    }
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    machine = {
        "requirements": [requirement],
        "expireAfter": "720h",
        "nodeClassRef": node_class,
    }
    spec = {
        "template": {"spec": machine},
        "limits": {"nvidia.com/gpu": "16"},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
    }
    return _object("karpenter.sh/v1", "NodePool", spec | changes)


def autoscaler(**changes: Any) -> dict[str, Any]:
    metric = {
        "type": "Pods",
        "pods": {
            "metric": {"name": "vllm_num_requests_waiting"},
            "target": {"type": "AverageValue", "averageValue": "5"},
        },
    }
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "probe"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 4, "metrics": [metric]}
    return _object("autoscaling/v2", "HorizontalPodAutoscaler", spec | changes)


def scaled_object(**changes: Any) -> dict[str, Any]:
    trigger = {"type": "prometheus", "metadata": {"query": "sum(vllm:num_requests_waiting)"}}
    spec = {"scaleTargetRef": {"name": "probe"}, "maxReplicaCount": 4, "triggers": [trigger]}
    return _object("keda.sh/v1alpha1", "ScaledObject", spec | changes)


def claim(**request: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1}
    if request.get("allocationMode") == "All":
        del exactly["count"]
    devices = {"requests": [{"name": "gpu", "exactly": exactly | request}]}
    return _object("resource.k8s.io/v1", "ResourceClaim", {"devices": devices})


def claim_template(**request: Any) -> dict[str, Any]:
    spec = {"spec": claim(**request)["spec"]}
    return _object("resource.k8s.io/v1", "ResourceClaimTemplate", spec)


def kai_queue(**gpu: Any) -> dict[str, Any]:
    resources = {"gpu": {"quota": 4, "limit": 8, **gpu}}
    return _object("scheduling.run.ai/v2", "Queue", {"resources": resources})


def cluster_queue(**resource: Any) -> dict[str, Any]:
    gpu = {"name": "nvidia.com/gpu", "nominalQuota": 8, **resource}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "a", "resources": [gpu]}]}
    spec = {"cohortName": "all", "resourceGroups": [group]}
    return _object("kueue.x-k8s.io/v1beta2", "ClusterQueue", spec)
