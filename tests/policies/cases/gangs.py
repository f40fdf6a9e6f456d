"""Cases of rules/gangs.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, manifest
from tests.policies.cases.workloads import torch
from tests.policies.objects import REMOVE, changed

PYTORCH = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {
        "name": "pretrain",
        "namespace": "ml",
        "labels": {"kueue.x-k8s.io/queue-name": "research"},
    },
    "spec": {
        "runPolicy": {"activeDeadlineSeconds": 86400},
        "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": torch(4)}},
    },
}
QUEUE = manifest(
    {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "research", "namespace": "ml"},
        "spec": {"clusterQueue": "research"},
    }
)
CASES = (
    Case(
        "training-without-queue-or-gang",
        manifest(PYTORCH),
        manifest(changed(PYTORCH, {"metadata.labels": REMOVE})),
        "8 GPUs that are of use only together, and no queue or group of pods",
        Level.ADVISORY,
        alongside=(FLEET, QUEUE),
    ),
)
