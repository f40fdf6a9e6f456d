"""Manifests as people publish them: every kind that makes pods, with the usual variety.

`manifests(count)` is the same for the same seed, so that counts and outputs can be compared.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "Qwen/Qwen2.5-72B-Instruct-AWQ",
    "deepseek-ai/DeepSeek-R1",
    "acme/embedder",
)
RESOURCES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu",
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.10gb",
    "nvidia.com/mig-3g.40gb",
)
COMMANDS: tuple[list[str] | None, ...] = (
    None,
    ["sleep", "infinity"],
    ["sh", "-c", "nvidia-smi && sleep 3600"],
    ["python", "train.py", "--epochs", "3"],
    ["torchrun", "--nproc_per_node=8", "--nnodes=2", "train.py"],
    ["accelerate", "launch", "--num_processes", "4", "train.py"],
    ["nvidia-smi"],
)
LABELS = (
    {},
    {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
    {"cloud.google.com/gke-accelerator": "nvidia-l4"},
    {"node.kubernetes.io/instance-type": "p5.48xlarge"},
    {"karpenter.k8s.aws/instance-gpu-name": "h100"},
)


def manifests(count: int, seed: int = 11) -> Iterator[dict[str, Any]]:
    """This number of objects, kinds in turn."""
    dice = random.Random(seed)
    makers = list(MAKERS.items())
    for index in range(count):
        (version, kind), maker = makers[index % len(makers)]
        metadata: dict[str, Any] = {"namespace": dice.choice(("ml", "default", "research"))}
        if dice.random() < 0.1:
            metadata["generateName"] = f"{kind.lower()}-"
        else:
            metadata["name"] = f"{kind.lower()}-{index}"
        if dice.random() < 0.3:
            metadata["annotations"] = _annotations(dice)
        if dice.random() < 0.2:
            metadata["labels"] = {"kueue.x-k8s.io/queue-name": "research"}
        yield {"apiVersion": version, "kind": kind, "metadata": metadata, **maker(dice)}


def _annotations(dice: random.Random) -> dict[str, str]:
    choices = {
        "gpufleet.dev/mode": dice.choice(("inference", "training", "interactive", "batch")),
        "gpufleet.dev/model-params-b": dice.choice(("1", "8", "70", "x")),
        "gpufleet.dev/environment": dice.choice(("prod", "dev")),
        "gpu-fraction": "0.5",
        "team": "research",
    }
    return {key: choices[key] for key in dice.sample(sorted(choices), 2)}


def _container(dice: random.Random, *, gpus: bool = True) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if gpus:
        limits[dice.choice(RESOURCES)] = dice.choice((1, "1", 2, 4, 8, "0.5", "${GPUS}", 1.0))
    found: dict[str, Any] = {
        "name": dice.choice(("server", "worker", "main")),
        "image": dice.choice(("vllm/vllm-openai:v0.11.0", "pytorch/pytorch:2.9", "acme/app")),
        "resources": {"limits": limits},
    }
    if dice.random() < 0.7:
        found["resources"]["requests"] = {
            "cpu": dice.choice(("4", "500m", 32, "96")),
            "memory": dice.choice(("16Gi", "400G", "1Ti", 1024)),
        }
    if dice.random() < 0.4:
        found["args"] = ["--model", dice.choice(MODELS), "--tensor-parallel-size", "2"]
    else:
        command = dice.choice(COMMANDS)
        if command is not None:
            found["command"] = command
    if dice.random() < 0.2:
        found["env"] = [{"name": "MODEL_ID", "value": dice.choice(MODELS)}]
    return found


def _spec(dice: random.Random, *, gpus: bool = True) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [_container(dice, gpus=gpus)]}
    if dice.random() < 0.2:
        spec["initContainers"] = [_container(dice, gpus=dice.random() < 0.3)]
    if dice.random() < 0.4:
        spec["nodeSelector"] = dict(dice.choice(LABELS))
    if dice.random() < 0.4:
        spec["tolerations"] = [
            dice.choice(({"operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}))
        ]
    if dice.random() < 0.1:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    return spec


def _template(dice: random.Random, *, gpus: bool = True) -> dict[str, Any]:
    return {"template": {"metadata": {"labels": {"app": "x"}}, "spec": _spec(dice, gpus=gpus)}}


def _replicated(dice: random.Random) -> dict[str, Any]:
    gpus = dice.random() < 0.8
    return {"spec": {"replicas": dice.choice((0, 1, 2, 8)), **_template(dice, gpus=gpus)}}


def _job(dice: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"parallelism": dice.choice((1, 4)), **_template(dice)}
    if dice.random() < 0.5:
        spec |= {"activeDeadlineSeconds": 3600, "backoffLimit": dice.choice((0, 6, 100))}
    return {"spec": spec}


def _cron(dice: random.Random) -> dict[str, Any]:
    schedule = dice.choice(("0 * * * *", "@daily", "*/5 * * * 1-5", "not cron"))
    return {"spec": {"schedule": schedule, "jobTemplate": _job(dice)}}


def _roles(key: str, *roles: str) -> Callable[[random.Random], dict[str, Any]]:
    def make(dice: random.Random) -> dict[str, Any]:
        specs = {role: {"replicas": dice.choice((1, 4)), **_template(dice)} for role in roles}
        return {"spec": {key: specs}}

    return make


def _ray(dice: random.Random) -> dict[str, Any]:
    head = {"rayStartParams": {"num-gpus": dice.choice(("0", "1"))}, **_template(dice)}
    workers = {
        "groupName": "gpu",
        "replicas": 2,
        "minReplicas": 1,
        "maxReplicas": dice.choice((1, 4)),
        **_template(dice),
    }
    return {
        "enableInTreeAutoscaling": dice.random() < 0.5,
        "headGroupSpec": head,
        "workerGroupSpecs": [workers],
    }


def _under(key: str, more: dict[str, Any] | None = None) -> Callable[[random.Random], Any]:
    return lambda dice: {"spec": {**(more or {}), key: _ray(dice)}}


def _job_set(dice: random.Random) -> dict[str, Any]:
    job = {"name": "w", "replicas": 2, "template": {"spec": _template(dice)}}
    return {"spec": {"replicatedJobs": [job], "failurePolicy": {"maxRestarts": 60}}}


def _group(dice: random.Random) -> dict[str, Any]:
    template = {"size": 2, "workerTemplate": {"spec": _spec(dice)}}
    return {"spec": {"replicas": 2, "leaderWorkerTemplate": template}}


def _train_job(dice: random.Random) -> dict[str, Any]:
    container = _container(dice)
    trainer = {"numNodes": 2, "resourcesPerNode": container["resources"], "command": ["torchrun"]}
    return {"spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}}


def _predictor(dice: random.Random) -> dict[str, Any]:
    model = {"modelFormat": {"name": "huggingface"}, **_container(dice)}
    return {"spec": {"predictor": {"minReplicas": dice.choice((0, 1, 2)), "model": model}}}


def _llm(dice: random.Random) -> dict[str, Any]:
    uri = f"hf://{dice.choice(MODELS)}"
    return {"spec": {"model": {"uri": uri}, "replicas": 2, "template": _spec(dice)}}


def _nim(dice: random.Random) -> dict[str, Any]:
    image = {"repository": "nvcr.io/nim/meta/llama-3.1-8b-instruct", "tag": "1.8"}
    return {"spec": {"image": image, "replicas": 1, "resources": _container(dice)["resources"]}}


def _workflow(dice: random.Random) -> dict[str, Any]:
    steps = [{"name": "train", "container": _container(dice)}, {"name": "dag", "dag": {}}]
    return {"spec": {"entrypoint": "dag", "templates": steps}}


def _claim(dice: random.Random) -> dict[str, Any]:
    exactly = {"deviceClassName": dice.choice(("gpu.nvidia.com", "mig.nvidia.com"))}
    if dice.random() < 0.3:
        exactly["allocationMode"] = "All"
    requests = [{"name": "gpu", "exactly": exactly}]
    return {"spec": {"spec": {"devices": {"requests": requests}}}}


def _horizontal(dice: random.Random) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "deployment-0"}
    sizes = {"minReplicas": 2, "maxReplicas": dice.choice((2, 8))}
    return {"spec": {"scaleTargetRef": target, **sizes}}


def _scaled(dice: random.Random) -> dict[str, Any]:
    triggers = [{"type": dice.choice(("prometheus", "cpu", "cron"))}]
    return {"spec": {"scaleTargetRef": {"name": "deployment-0"}, "triggers": triggers}}


MAKERS: dict[tuple[str, str], Callable[[random.Random], dict[str, Any]]] = {
    ("v1", "Pod"): lambda dice: {"spec": _spec(dice)},
    ("apps/v1", "Deployment"): _replicated,
    ("apps/v1", "StatefulSet"): _replicated,
    ("apps/v1", "DaemonSet"): _replicated,
    ("batch/v1", "Job"): _job,
    ("batch/v1", "CronJob"): _cron,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): _job_set,
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): _group,
    ("kubeflow.org/v1", "PyTorchJob"): _roles("pytorchReplicaSpecs", "Master", "Worker"),
    ("kubeflow.org/v2beta1", "MPIJob"): _roles("mpiReplicaSpecs", "Launcher", "Worker"),
    ("kubeflow.org/v1", "Notebook"): lambda dice: {"spec": _template(dice)},
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): _train_job,
    ("ray.io/v1", "RayCluster"): lambda dice: {"spec": _ray(dice)},
    ("ray.io/v1", "RayJob"): _under("rayClusterSpec"),
    ("ray.io/v1", "RayService"): _under("rayClusterConfig"),
    ("serving.kserve.io/v1beta1", "InferenceService"): _predictor,
    ("serving.kserve.io/v1alpha1", "LLMInferenceService"): _llm,
    ("serving.knative.dev/v1", "Service"): lambda dice: {"spec": _template(dice)},
    ("apps.nvidia.com/v1alpha1", "NIMService"): _nim,
    ("argoproj.io/v1alpha1", "Workflow"): _workflow,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): _claim,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): _horizontal,
    ("keda.sh/v1alpha1", "ScaledObject"): _scaled,
    ("v1", "ConfigMap"): lambda dice: {"data": {"seed": str(dice.random())}},
}
"""apiVersion and kind -> what makes the rest of an object."""

VLLM = """\
# the chat service
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {environment: prod}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  namespace: ml
  annotations: {gpufleet.dev/mode: inference}
spec:
  replicas: 4
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: server
          image: docker.io/vllm/vllm-openai:v0.11.0
          resources:
            requests: {cpu: "4", memory: 16Gi}
            limits: {nvidia.com/gpu: 2}
"""
