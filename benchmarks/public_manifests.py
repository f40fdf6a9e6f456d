"""A folder of GPU manifests as people publish them: every kind, many styles, the same every time.

`write_manifests(folder, count)` writes `count` files from a fixed seed. Names, images and numbers
are made up; shapes, defaults left out, comments, quoting and companions (Service, ConfigMap,
autoscaler) follow what public repositories hold.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

SEED = 20261121

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_IMAGES = (
    "vllm/vllm-openai:v0.11.0",
    "nvcr.io/nvidia/tritonserver:25.09-py3",
    "nvcr.io/nvidia/pytorch:25.09-py3",
    "ghcr.io/huggingface/text-generation-inference:3.3.4",
    "rayproject/ray-ml:2.49.0-gpu",
    "nvidia/cuda:13.0.1-base-ubuntu24.04",
    "registry.example.com/team/train:1.4.2",
)
_MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "Qwen/Qwen2.5-72B-Instruct-AWQ",
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
    "google/gemma-2-27b-it",
)
_GPUS = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.10gb",
    "nvidia.com/mig-3g.40gb",
)
_SELECTORS = (
    {"cloud.google.com/gke-accelerator": "nvidia-l4"},
    {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
    {"node.kubernetes.io/instance-type": "g5.12xlarge"},
    {"karpenter.k8s.aws/instance-gpu-name": "h100"},
)


class _Dumper(_Base):
    """Writes as people do: no anchors for what occurs twice, `|` before text of several lines."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_of(document: dict[str, Any]) -> str:
    """One document in the style of people."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110)


def manifests(count: int) -> Iterator[tuple[str, list[dict[str, Any]], str]]:
    """Path, documents and a comment of each file."""
    chance = random.Random(SEED)
    kinds = [kind for kind in _KINDS if kind != "NodePool"]
    for number in range(count):
        # A cluster has a few pools, and a hundred times as many workloads.
        kind = "NodePool" if number % 100 == 50 else kinds[number % len(kinds)]
        make = _KINDS[kind]
        name = f"{kind.lower()}-{number:04d}"
        documents = [make(chance, name)]
        if chance.random() < 0.35:
            documents.append(_service(name))
        if chance.random() < 0.2:
            documents.append(_config_map(chance, name))
        if kind in ("Deployment", "StatefulSet") and chance.random() < 0.4:
            documents.append(_autoscaler(chance, name, kind))
        yield f"team-{number % 12:02d}/{name}.yaml", documents, f"Example {number}: {kind}"


def write_manifests(folder: Path, count: int) -> list[Path]:
    """Write the files below a folder; the paths in order."""
    written: list[Path] = []
    for name, documents, comment in manifests(count):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = [yaml_of(document) for document in documents]
        path.write_text(f"# {comment}\n" + "---\n".join(texts), encoding="utf-8")
        written.append(path)
    return written


def _metadata(chance: random.Random, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "labels": {"app": name}}
    if chance.random() < 0.6:
        found["namespace"] = chance.choice(("default", "ml", "serving", "research"))
    if chance.random() < 0.3:
        found["labels"]["kueue.x-k8s.io/queue-name"] = "team"
    if chance.random() < 0.25:
        found["annotations"] = {
            "gpufleet.dev/mode": chance.choice(("inference", "training", "batch")),
            "gpufleet.dev/model-params-b": chance.choice(("1.1", "8", "70")),
        }
    return found


def _container(chance: random.Random) -> dict[str, Any]:
    limits: dict[str, Any] = {chance.choice(_GPUS): chance.choice((1, "1", 2, 4, 8))}
    requests: dict[str, Any] = {}
    if chance.random() < 0.6:
        requests = {"cpu": chance.choice(("4", "500m", 8)), "memory": "16Gi"}
    if chance.random() < 0.4:
        limits |= {"cpu": "8", "memory": "64Gi"}
    made: dict[str, Any] = {
        "name": chance.choice(("main", "server", "worker", "trainer")),
        "image": chance.choice(_IMAGES),
        "resources": {"limits": limits, **({"requests": requests} if requests else {})},
    }
    style = chance.random()
    if style < 0.45:
        size = chance.choice((1, 2, 4, 8))
        made["args"] = ["--model", chance.choice(_MODELS), f"--tensor-parallel-size={size}"]
    elif style < 0.6:
        made["command"] = ["sh", "-c", "nvidia-smi && sleep infinity"]
    elif style < 0.8:
        made["command"] = ["torchrun", f"--nproc_per_node={chance.choice((1, 2, 8))}", "train.py"]
    if chance.random() < 0.7:
        made["env"] = [
            {"name": "HF_HOME", "value": "/cache"},
            {"name": "NCCL_DEBUG", "value": "INFO"},
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
        ]
    if chance.random() < 0.5:
        made["ports"] = [{"containerPort": 8000, "name": "http"}]
        probe = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}
        made["readinessProbe"] = probe
        made["livenessProbe"] = {**probe, "initialDelaySeconds": 120}
    if chance.random() < 0.6:
        made["volumeMounts"] = [
            {"name": "cache", "mountPath": "/cache"},
            {"name": "shm", "mountPath": "/dev/shm"},
        ]
    return made


def _pod_spec(chance: random.Random, **more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [_container(chance)], **more}
    if chance.random() < 0.2:
        spec["containers"].append({"name": "sidecar", "image": "registry.example.com/log:2"})
    if chance.random() < 0.2:
        spec["initContainers"] = [{"name": "fetch", "image": "busybox", "command": ["true"]}]
    if chance.random() < 0.5:
        spec["nodeSelector"] = dict(chance.choice(_SELECTORS))
    if chance.random() < 0.6:
        spec["tolerations"] = [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
        ]
    if chance.random() < 0.6:
        spec["volumes"] = [
            {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
        ]
    return spec


def _template(chance: random.Random, **more: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "x"}}, "spec": _pod_spec(chance, **more)}


def _made(
    api_version: str, kind: str, spec: Callable[[random.Random], dict[str, Any]]
) -> Callable[[random.Random, str], dict[str, Any]]:
    def make(chance: random.Random, name: str) -> dict[str, Any]:
        metadata = _metadata(chance, name)
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec(chance)}

    return make


def _replicated(chance: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": "x"}},
        "template": _template(chance),
    }
    if chance.random() < 0.8:
        spec["replicas"] = chance.choice((0, 1, 1, 2, 4))
    return spec


def _job(chance: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"template": _template(chance, restartPolicy="Never")}
    if chance.random() < 0.5:
        spec |= {"parallelism": chance.choice((1, 2, 4)), "completions": 4}
    if chance.random() < 0.3:
        spec["activeDeadlineSeconds"] = 7200
    if chance.random() < 0.5:
        spec["backoffLimit"] = chance.choice((0, 4, 100))
    return spec


def _cron_job(chance: random.Random) -> dict[str, Any]:
    return {"schedule": "*/30 * * * *", "jobTemplate": {"spec": _job(chance)}}


def _job_set(chance: random.Random) -> dict[str, Any]:
    job = {"name": "workers", "replicas": 2, "template": {"spec": _job(chance)}}
    return {"replicatedJobs": [job], "failurePolicy": {"maxRestarts": 3}}


def _leader_worker_set(chance: random.Random) -> dict[str, Any]:
    groups = {"size": chance.choice((2, 4)), "workerTemplate": _template(chance)}
    return {"replicas": 1, "leaderWorkerTemplate": groups}


def _pytorch_job(chance: random.Random) -> dict[str, Any]:
    roles = {
        role: {"replicas": count, "restartPolicy": "OnFailure", "template": _template(chance)}
        for role, count in (("Master", 1), ("Worker", chance.choice((1, 3, 7))))
    }
    return {"pytorchReplicaSpecs": roles}


def _mpi_job(chance: random.Random) -> dict[str, Any]:
    launcher = {"containers": [{"name": "launcher", "image": "mpi", "command": ["mpirun"]}]}
    roles = {
        "Launcher": {"replicas": 1, "template": {"spec": launcher}},
        "Worker": {"replicas": 2, "template": _template(chance)},
    }
    return {
        "slotsPerWorker": 8,
        "runPolicy": {"cleanPodPolicy": "Running"},
        "mpiReplicaSpecs": roles,
    }


def _ray(chance: random.Random) -> dict[str, Any]:
    workers: dict[str, Any] = {
        "groupName": "gpu",
        "replicas": chance.choice((1, 2)),
        "minReplicas": chance.choice((0, 1)),
        "rayStartParams": {},
        "template": _template(chance),
    }
    if chance.random() < 0.5:
        workers["maxReplicas"] = 4
    head = {"containers": [{"name": "head", "image": _IMAGES[4]}]}
    return {
        "enableInTreeAutoscaling": chance.random() < 0.5,
        "headGroupSpec": {"rayStartParams": {}, "template": {"spec": head}},
        "workerGroupSpecs": [workers],
    }


def _ray_job(chance: random.Random) -> dict[str, Any]:
    return {"entrypoint": "python train.py", "rayClusterSpec": _ray(chance)}


def _ray_service(chance: random.Random) -> dict[str, Any]:
    return {"serveConfigV2": "applications: []\n", "rayClusterConfig": _ray(chance)}


def _inference_service(chance: random.Random) -> dict[str, Any]:
    model = {
        "modelFormat": {"name": "huggingface"},
        "storageUri": "hf://" + chance.choice(_MODELS),
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    return {"predictor": {"minReplicas": chance.choice((0, 1, 2)), "model": model}}


def _nim_service(chance: random.Random) -> dict[str, Any]:
    return {
        "image": {"repository": "nvcr.io/nim/meta/llama-3.1-8b-instruct", "tag": "1.8"},
        "replicas": chance.choice((1, 2)),
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }


def _notebook(chance: random.Random) -> dict[str, Any]:
    return {"template": _template(chance)}


def _node_pool(chance: random.Random) -> dict[str, Any]:
    requirements = [
        {
            "key": "karpenter.k8s.aws/instance-family",
            "operator": "In",
            "values": ["g5", "g6", "p4d"],
        },
        {
            "key": "karpenter.sh/capacity-type",
            "operator": "In",
            "values": chance.choice((["spot"], ["on-demand"], ["spot", "on-demand"])),
        },
    ]
    spec: dict[str, Any] = {"template": {"spec": {"requirements": requirements}}}
    if chance.random() < 0.5:
        spec["limits"] = {"nvidia.com/gpu": 16}
    if chance.random() < 0.5:
        spec["template"]["spec"]["taints"] = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    if chance.random() < 0.5:
        spec["disruption"] = {"consolidateAfter": chance.choice(("Never", "5m"))}
    return spec


def _claim_template(chance: random.Random) -> dict[str, Any]:
    mode = chance.choice(("ExactCount", "All"))
    request = {"deviceClassName": "gpu.nvidia.com", "allocationMode": mode}
    return {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}}


def _scaled_object(chance: random.Random) -> dict[str, Any]:
    return {
        "scaleTargetRef": {"name": "deployment-0000"},
        "maxReplicaCount": 8,
        "cooldownPeriod": chance.choice((300, 3600)),
        "triggers": [{"type": "prometheus", "metadata": {"query": "vllm:num_requests_waiting"}}],
    }


def _cluster_queue(chance: random.Random) -> dict[str, Any]:
    resource = {"name": "nvidia.com/gpu", "nominalQuota": chance.choice((8, 16))}
    flavor = {"name": "a100", "resources": [resource]}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor]}
    return {"cohortName": "all", "resourceGroups": [group]}


_KINDS: dict[str, Callable[[random.Random, str], dict[str, Any]]] = {
    "Deployment": _made("apps/v1", "Deployment", _replicated),
    "StatefulSet": _made("apps/v1", "StatefulSet", _replicated),
    "Pod": _made("v1", "Pod", _pod_spec),
    "Job": _made("batch/v1", "Job", _job),
    "CronJob": _made("batch/v1", "CronJob", _cron_job),
    "JobSet": _made("jobset.x-k8s.io/v1alpha2", "JobSet", _job_set),
    "LeaderWorkerSet": _made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", _leader_worker_set),
    "PyTorchJob": _made("kubeflow.org/v1", "PyTorchJob", _pytorch_job),
    "MPIJob": _made("kubeflow.org/v2beta1", "MPIJob", _mpi_job),
    "RayCluster": _made("ray.io/v1", "RayCluster", _ray),
    "RayJob": _made("ray.io/v1", "RayJob", _ray_job),
    "RayService": _made("ray.io/v1", "RayService", _ray_service),
    "InferenceService": _made("serving.kserve.io/v1beta1", "InferenceService", _inference_service),
    "NIMService": _made("apps.nvidia.com/v1alpha1", "NIMService", _nim_service),
    "Notebook": _made("kubeflow.org/v1", "Notebook", _notebook),
    "NodePool": _made("karpenter.sh/v1", "NodePool", _node_pool),
    "ResourceClaimTemplate": _made("resource.k8s.io/v1", "ResourceClaimTemplate", _claim_template),
    "ScaledObject": _made("keda.sh/v1alpha1", "ScaledObject", _scaled_object),
    "ClusterQueue": _made("kueue.x-k8s.io/v1beta2", "ClusterQueue", _cluster_queue),
}


def _service(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8000}]},
    }


def _config_map(chance: random.Random, name: str) -> dict[str, Any]:
    text = "".join(f"setting-{i}: {chance.random():.3f}\n" for i in range(10))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"config.yaml": text},
    }


def _autoscaler(chance: random.Random, name: str, kind: str) -> dict[str, Any]:
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
    }
    target = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    sizes = {"minReplicas": chance.choice((1, 2)), "maxReplicas": chance.choice((2, 8))}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, **sizes, "metrics": [metric]},
    }
