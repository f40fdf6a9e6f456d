"""Cases of rules/pool_fit.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pools import QUIET, SMALL, node_group
from tests.policies.cases.workloads import LIMITS, REQUESTS, deployment, job, torch
from tests.policies.objects import changed

OPEN = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
PLAIN = {
    "metadata.labels": {"kueue.x-k8s.io/queue-name": "research", "owner": "ml"},
    "spec.template.spec.tolerations": OPEN,
    REQUESTS: SMALL,
    "spec.ttlSecondsAfterFinished": 600,
}
TRAIN: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {
        "name": "train",
        "namespace": "ml",
        "labels": {"kueue.x-k8s.io/queue-name": "research", "owner": "ml"},
        "annotations": {"cost-center": "1", "environment": "prod"},
    },
    "spec": {
        "runPolicy": {"activeDeadlineSeconds": 86400},
        "pytorchReplicaSpecs": {
            "Worker": {
                "replicas": 2,
                "template": torch(8, tolerations=OPEN),
            }
        },
    },
}
WORKER = "spec.pytorchReplicaSpecs.Worker.template.spec"
EFA = {f'{WORKER}.containers[0].resources.limits."vpc.amazonaws.com/efa"': 32}
ONE: dict[str, Any] = {**PLAIN, LIMITS: {"nvidia.com/gpu": 8}}
IGNORED = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
MAY_STOP = 'metadata.annotations."gpufleet.dev/interruptible"'
CHECKPOINTS = {'metadata.annotations."gpufleet.dev/checkpoint-seconds"': "600"}
TEMPLATE = Thing(
    "aws:ec2/launchTemplate:LaunchTemplate",
    {
        "name": "efa",
        "networkInterfaces": [{"interfaceType": "efa"}],
        "placement": {"groupName": "cluster"},
    },
    "efa",
)


def training(changes: dict[str, Any] | None = None) -> Thing:
    """Two pods of eight GPUs that train together."""
    return manifest(changed(TRAIN, changes or {}))


def h100(changes: dict[str, Any]) -> Thing:
    """A node group of eight H100s, its machines in the launch template with EFA."""
    return node_group(
        {"instanceTypes": ["p5.48xlarge"], "launchTemplate": {"name": "efa"}, **changes}, "h100"
    )


SPOT = h100({"capacityType": "SPOT"})
DEAR = node_group({"instanceTypes": ["g6e.xlarge"], "nodeGroupName": "dear"}, "dear")

FIRST = (
    Case(
        "interruptible-work-on-demand",
        job({**PLAIN, MAY_STOP: "false"}),
        job({**PLAIN, MAY_STOP: "true"}),
        "may be stopped, and gpu buy(s) g6.xlarge on demand only, at 0.80 USD/h",
        Level.ADVISORY,
        alongside=(*QUIET, node_group()),
    ),
    Case(
        "spot-for-tightly-coupled-training",
        training({**EFA, **CHECKPOINTS}),
        training(EFA),
        "2 pods of 8 GPU(s) train together on gpu, spot only, and no checkpoint is declared",
        Level.ADVISORY,
        alongside=(*QUIET, SPOT, TEMPLATE),
    ),
    # jordann6/gpu-platform gpu-job.yaml: Jobs without retries on nodes that are bought as spot.
    Case(
        "spot-for-tightly-coupled-training",
        job({**ONE, "spec.podFailurePolicy": IGNORED, "spec.backoffLimit": 0}),
        job({**ONE, "spec.backoffLimit": 0}),
        "runs on gpu, spot only, with backoffLimit 0; each interruption ends the work",
        Level.ADVISORY,
        alongside=(*QUIET, SPOT, TEMPLATE),
    ),
)


ON_DEMAND = h100({})
SPREAD = Thing(
    "aws:ec2/launchTemplate:LaunchTemplate",
    {"name": "spread", "networkInterfaces": [{"interfaceType": "efa"}]},
    "spread",
)
ZONES = node_group(
    {
        "instanceTypes": ["p4d.24xlarge"],
        "subnetIds": ["subnet-a", "subnet-b"],
        "launchTemplate": {"name": "spread"},
    },
    "zones",
)

CASES = (
    *FIRST,
    Case(
        "multi-zone-training-group",
        training({**EFA, f'{WORKER}.nodeSelector."topology.kubernetes.io/zone"': "us-east-1a"}),
        training(EFA),
        "2 training pods of 8 GPU(s) on gpu, which spans 2 zones",
        Level.ADVISORY,
        alongside=(*QUIET, ZONES, SPREAD),
    ),
    Case(
        "multi-node-without-fabric",
        training(EFA),
        training(),
        "and do not request vpc.amazonaws.com/efa",
        Level.ADVISORY,
        alongside=(*QUIET, ON_DEMAND, TEMPLATE),
    ),
)


def trainer(gpus: int, cpu: str, memory: str = "100Gi", replicas: int = 2):
    """A server with whole GPUs of p5.48xlarge: 192 cores, 2 TiB and 8 GPUs."""
    return deployment(
        {
            "spec.replicas": replicas,
            "spec.strategy": {"type": "Recreate"},
            LIMITS: {"nvidia.com/gpu": gpus},
            REQUESTS: {"cpu": cpu, "memory": memory},
        }
    )


PACKING = (
    Case(
        "pod-strands-node-gpus",
        trainer(2, "40"),
        trainer(2, "80"),
        "2 of 4 pods fit; 4 GPUs of every node stay empty",
    ),
    Case(
        "gpu-count-does-not-divide-node",
        trainer(4, "40"),
        trainer(3, "40"),
        "each pod requests 3 of 8 GPUs of a p5.48xlarge of pool training",
        Level.ADVISORY,
    ),
)

CASES = (*CASES, *PACKING)
