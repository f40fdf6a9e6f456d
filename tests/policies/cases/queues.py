"""Cases of rules/queues.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pools import QUIET, node_group
from tests.policies.cases.workloads import LIMITS, deployment, job, torch
from tests.policies.objects import REMOVE, changed

GPU = "nvidia.com/gpu"


def queue(changes: dict[str, Any] | None = None, name: str = "research") -> Thing:
    """A ClusterQueue with four GPUs in a cohort."""
    document = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name, "labels": {"environment": "prod"}},
        "spec": {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": [GPU],
                    "flavors": [
                        {
                            "name": "l4",
                            "resources": [{"name": GPU, "nominalQuota": 4, "borrowingLimit": 4}],
                        }
                    ],
                }
            ],
        },
    }
    return manifest(changed(document, changes or {}))


RESOURCE = "spec.resourceGroups[0].flavors[0].resources[0]"
ALONE = {"spec.cohortName": REMOVE, f"{RESOURCE}.borrowingLimit": REMOVE}
LOCAL = manifest(
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "research", "namespace": "ml"},
        "spec": {"clusterQueue": "research"},
    }
)
FLAVOR: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "l4"},
    "spec": {"nodeLabels": {"k8s.amazonaws.com/accelerator": "l4"}},
}
READY = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def kueue(configuration: str) -> Thing:
    """Kueue's chart with a configuration."""
    values = {"managerConfig": {"controllerManagerConfigYaml": READY + configuration}}
    return Thing("kubernetes:helm.sh/v3:Release", {"chart": "kueue", "values": values}, "kueue")


def mapped(name: str) -> Thing:
    """Kueue's chart whose configuration counts a class of devices under a name."""
    return kueue(
        "waitForPodsReady: {timeout: 10m}\nresources:\n  deviceClassMappings:\n"
        f"  - {{name: {name}, deviceClassNames: [gpu.nvidia.com]}}\n"
    )


FIRST = (
    Case(
        "kueue-device-class-without-quota",
        mapped("nvidia.com/gpu"),
        mapped("gpus"),
        "gpus is the name of a class of devices, and no ClusterQueue has quota of it",
        Level.ADVISORY,
        alongside=(queue(), LOCAL),
    ),
    Case(
        "quota-exceeds-capacity",
        manifest(FLAVOR),
        manifest(changed(FLAVOR, {"metadata.name": "large"})),
        "queues may admit 400 x nvidia.com/gpu; gpu can have 4 at most",
        Level.ADVISORY,
        alongside=(
            *QUIET,
            node_group(),
            queue(),
            queue(
                {
                    "spec.resourceGroups[0].flavors[0].name": "large",
                    f"{RESOURCE}.nominalQuota": 400,
                },
                "large",
            ),
        ),
    ),
    Case(
        "queue-selects-no-namespace",
        queue(ALONE),
        queue({**ALONE, "spec.namespaceSelector": REMOVE}),
        "no Workload of any namespace is admitted",
        alongside=(),
    ),
)


QUEUED: dict[str, Any] = {
    'metadata.labels."kueue.x-k8s.io/queue-name"': "research",
    LIMITS: {GPU: 4},
}
FOUR: dict[str, Any] = {
    "spec.cohortName": REMOVE,
    "spec.resourceGroups[0]": {
        "coveredResources": ["cpu", "memory", GPU],
        "flavors": [
            {
                "name": "l4",
                "resources": [
                    {"name": "cpu", "nominalQuota": 96},
                    {"name": "memory", "nominalQuota": "512Gi"},
                    {"name": GPU, "nominalQuota": 4},
                ],
            }
        ],
    },
}
"""A separate queue with four GPUs."""


def quota(gpus: int, **further: str) -> Thing:
    """A ResourceQuota of the namespace ml with this number of GPUs, and further limits."""
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ml"},
        "spec": {"hard": {f"requests.{GPU}": str(gpus), **further}},
    }
    return manifest(document)


def _training(workers: int) -> dict[str, Any]:
    roles = {"Master": 1, "Worker": workers}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "ddp", "namespace": "ml"},
        "spec": {
            "runPolicy": {"activeDeadlineSeconds": 86400},
            "pytorchReplicaSpecs": {
                role: {"replicas": pods, "template": torch(1)} for role, pods in roles.items()
            },
        },
    }


ONE = {GPU: "1", "cpu": "4", "memory": "16Gi"}
SERVED: dict[str, Any] = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {
        "name": "qwen",
        "namespace": "ml",
        "annotations": {"serving.kserve.io/deploymentMode": "Standard"},
    },
    "spec": {
        "predictor": {
            "minReplicas": 1,
            "maxReplicas": 1,
            "model": {"modelFormat": {"name": "huggingface"}, "resources": {"limits": ONE}},
        }
    },
}

CASES = (
    *FIRST,
    Case(
        "gpu-quota-never-admits",
        deployment({LIMITS: {GPU: 1}, "spec.replicas": 2, "spec.strategy": {"type": "Recreate"}}),
        deployment({LIMITS: {GPU: 1}, "spec.replicas": 2}),
        "requests 2 x nvidia.com/gpu, and 1 more during a rollout; the quota of namespace ml is 2",
        Level.ADVISORY,
        alongside=(quota(2),),
    ),
    Case(
        "gpu-quota-never-admits",
        deployment({LIMITS: {GPU: 1}, "spec.replicas": 1}),
        deployment({LIMITS: {GPU: 4}, "spec.replicas": 1}),
        "requests 4 x nvidia.com/gpu; the quota of namespace ml is 2: the API server refuses its "
        "pods",
        # The API server counts extended resources under `requests.` alone.
        alongside=(quota(2, **{GPU: "0", f"limits.{GPU}": "0"}),),
    ),
    Case(
        "gpu-quota-never-admits",
        deployment({LIMITS: {GPU: 1}, "spec.replicas": 1}),
        deployment({LIMITS: {GPU: 1}, "spec.replicas": 3}),
        "requests 3 x nvidia.com/gpu; the quota of namespace ml is 2: the API server refuses the "
        "others",
        Level.ADVISORY,
        alongside=(quota(2),),
    ),
    # kobrien-data/gpu-aas-kueue-demo pytorchjob.yaml: a master and two workers.
    Case(
        "gpu-quota-never-admits",
        manifest(_training(1)),
        manifest(_training(2)),
        "requests 3 x nvidia.com/gpu; the quota of namespace ml is 2: the API server refuses the "
        "others",
        Level.ADVISORY,
        alongside=(quota(2),),
    ),
    # toby0622/ML-Platform-Blueprint: one replica, and a quota of one GPU for its tenant.
    Case(
        "gpu-quota-never-admits",
        manifest(changed(SERVED, {"spec.predictor.deploymentStrategy": {"type": "Recreate"}})),
        manifest(SERVED),
        "requests 1 x nvidia.com/gpu, and 1 more during a rollout; the quota of namespace ml is 1",
        Level.ADVISORY,
        alongside=(quota(1),),
    ),
    Case(
        "gpu-quota-never-admits",
        job(QUEUED),
        job({**QUEUED, LIMITS: {GPU: 8}}),
        "requests 8 x nvidia.com/gpu in queue research; its nominal quota is 4, and it has no "
        "cohort to borrow from",
        alongside=(LOCAL, queue(FOUR)),
    ),
    Case(
        "gpu-quota-counts-nothing",
        quota(4),
        manifest(
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "gpus", "namespace": "ml"},
                "spec": {"hard": {GPU: "4"}},
            }
        ),
        "limits nvidia.com/gpu; for extended resources a quota counts only requests.NAME",
    ),
)
