"""Builders of the objects of this example."""

from typing import Any

REQUESTS = {"cpu": "2", "memory": "8Gi"}


def container(limits: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A container with GPUs and all other requests."""
    resources = {"requests": REQUESTS, "limits": limits}
    image = "registry.example.com/serve:1"
    return {"name": "main", "image": image, "args": ["serve"], "resources": resources, **changes}


def metadata(name: str, **annotations: str) -> dict[str, Any]:
    """Labels of an object in production."""
    notes = {"gpufleet.dev/environment": "prod", **annotations}
    return {"name": f"wasteful-{name}", "namespace": "default", "annotations": notes}


def pod(name: str, main: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A bare pod."""
    spec = {"restartPolicy": "Never", "containers": [main], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(name), "spec": spec}


def deployment(name: str, main: dict[str, Any]) -> dict[str, Any]:
    """A service of one pod."""
    labels = {"app": f"wasteful-{name}"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [main]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name),
        "spec": spec,
    }


def job(name: str, main: dict[str, Any]) -> dict[str, Any]:
    """A run of one pod that something ends."""
    template = {"spec": {"restartPolicy": "Never", "containers": [main]}}
    spec = {
        "backoffLimit": 2,
        "activeDeadlineSeconds": 7200,
        "ttlSecondsAfterFinished": 600,
        "template": template,
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(name), "spec": spec}


def training(name: str, main: dict[str, Any]) -> dict[str, Any]:
    """A PyTorchJob of one worker. Nothing in the cluster reads its pod template when it is made."""
    named = {**main, "name": "pytorch"}  # the training operator looks for a container of this name
    worker = {"replicas": 1, "template": {"spec": {"containers": [named]}}}
    policy = {"activeDeadlineSeconds": 7200, "backoffLimit": 2}
    spec = {"runPolicy": policy, "pytorchReplicaSpecs": {"Worker": worker}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata(name),
        "spec": spec,
    }


def _ray(main: dict[str, Any], **sizes: int) -> dict[str, Any]:
    head = {"name": "head", "image": "registry.example.com/ray:1"}
    workers = {"groupName": "gpu", "replicas": 1, "minReplicas": 0, **sizes}
    return {
        "enableInTreeAutoscaling": True,
        "headGroupSpec": {"template": {"spec": {"containers": [head]}}},
        "workerGroupSpecs": [{**workers, "template": {"spec": {"containers": [main]}}}],
    }


def ray_cluster(name: str, main: dict[str, Any], **sizes: int) -> dict[str, Any]:
    """A Ray cluster with one group of GPU workers."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": metadata(name),
        "spec": _ray(main, **sizes),
    }


def ray_job(name: str, main: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """A run on its own Ray cluster."""
    cluster = _ray(main, maxReplicas=2)
    spec = {"entrypoint": "python train.py", "activeDeadlineSeconds": 7200, **settings}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": metadata(name),
        "spec": {**spec, "rayClusterSpec": cluster},
    }


def scaled_object(**sizes: int) -> dict[str, Any]:
    """A KEDA autoscaler. The queue is there while no pod is."""
    waiting = 'sum(rabbitmq_queue_messages_ready{queue="prompts"})'
    query = {"serverAddress": "http://prometheus:9090", "query": waiting}
    trigger = {"type": "prometheus", "metadata": {**query, "threshold": "5"}}
    target = {"name": "wasteful-few-gpus"}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": metadata("idle-replicas"),
        "spec": {"scaleTargetRef": target, "maxReplicaCount": 4, "triggers": [trigger], **sizes},
    }


def node_pool(**disruption: str) -> dict[str, Any]:
    """A Karpenter pool of L4 nodes."""
    machine = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"},
        "requirements": [
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6.2xlarge"]}
        ],
        "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
    }
    spec = {
        "template": {"spec": machine},
        "limits": {"nvidia.com/gpu": "8"},
        "disruption": {"consolidationPolicy": "WhenEmpty", **disruption},
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "wasteful-l4"},
        "spec": spec,
    }
