"""Objects that many cases start from."""

from typing import Any

from tests.policies.cases.case import Thing, manifest
from tests.policies.objects import DEPLOYMENT, changed

CONTAINER = "spec.template.spec.containers[0]"
LIMITS = f"{CONTAINER}.resources.limits"
REQUESTS = f"{CONTAINER}.resources.requests"
SHARED_MEMORY = {
    f"{CONTAINER}.volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    "spec.template.spec.volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
}
WHOLE = {"nvidia.com/gpu": "1"}


def container(gpus: int | str | None = 1, **more: Any) -> dict[str, Any]:
    """A container that requests whole GPUs and all other resources."""
    limits = {} if gpus is None else {"nvidia.com/gpu": gpus}
    return {
        "name": "worker",
        "image": "registry.example/trainer:1.0",
        "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": limits},
        **more,
    }


def template(gpus: int | str | None = 1, **spec: Any) -> dict[str, Any]:
    """A pod template with one such container."""
    return {"spec": {"containers": [container(gpus)], **spec}}


def torch(gpus: int, **spec: Any) -> dict[str, Any]:
    """A pod template of a PyTorchJob, whose container has the name that its controller requires."""
    return {"spec": {"containers": [{**container(gpus), "name": "pytorch"}], **spec}}


def deployment(changes: dict[str, Any] | None = None) -> Thing:
    """The compliant Deployment of `objects.DEPLOYMENT`, with changes."""
    return manifest(changed(DEPLOYMENT, changes or {}))


JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {
        "activeDeadlineSeconds": 86400,
        "backoffLimit": 2,
        "template": template(restartPolicy="Never"),
    },
}


def job(changes: dict[str, Any] | None = None) -> Thing:
    """A compliant training Job with one GPU, with changes."""
    return manifest(changed(JOB, changes or {}))
