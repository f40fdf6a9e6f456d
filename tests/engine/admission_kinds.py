"""Definitions of custom resources that admission policies see: kinds without a controller here."""

from typing import Any

KINDS = (
    ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    ("kubeflow.org", "v1", "PyTorchJob"),
    ("kubeflow.org", "v2beta1", "MPIJob"),
    ("kubeflow.org", "v1", "Notebook"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime"),
    ("trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime"),
    ("ray.io", "v1", "RayCluster"),
    ("ray.io", "v1", "RayJob"),
    ("ray.io", "v1", "RayService"),
    ("serving.knative.dev", "v1", "Service"),
    ("karpenter.sh", "v1", "NodePool"),
    ("keda.sh", "v1alpha1", "ScaledObject"),
    ("scheduling.run.ai", "v2", "Queue"),
    ("kueue.x-k8s.io", "v1beta2", "ClusterQueue"),
)
"""Group, version, kind of each custom resource with a policy."""

CLUSTER_SCOPED = frozenset({"NodePool", "Queue", "ClusterQueue", "ClusterTrainingRuntime"})


def plural_of(kind: str) -> str:
    return f"{kind.lower()}s"


ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def crd(group: str, version: str, kind: str, schema: dict[str, Any] = ANYTHING) -> dict[str, Any]:
    plural = plural_of(kind)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster" if kind in CLUSTER_SCOPED else "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _many(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "x-kubernetes-list-type": "atomic"}


TEXT, NUMBER = {"type": "string"}, {"type": "integer", "format": "int32"}
LARGE = {"type": "integer", "format": "int64"}
AMOUNTS = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
}
TEMPLATE = _object(
    metadata=_object(
        labels={"type": "object", "additionalProperties": TEXT},
        annotations={"type": "object", "additionalProperties": TEXT},
    ),
    spec=ANYTHING,
)
RUN_POLICY = _object(suspend={"type": "boolean"}, activeDeadlineSeconds=LARGE, backoffLimit=NUMBER)
JOB = _object(spec=_object(template=TEMPLATE, parallelism=NUMBER))
REPLICATED_JOBS = _many(_object(name=TEXT, replicas=NUMBER, template=JOB))
RAY = _object(
    enableInTreeAutoscaling={"type": "boolean"},
    autoscalerOptions=_object(idleTimeoutSeconds=NUMBER),
    headGroupSpec=_object(template=TEMPLATE),
    workerGroupSpecs=_many(
        _object(
            groupName=TEXT,
            replicas=NUMBER,
            minReplicas=NUMBER,
            maxReplicas=NUMBER,
            numOfHosts=NUMBER,
            idleTimeoutSeconds=NUMBER,
            template=TEMPLATE,
        )
    ),
)


def _roles(field: str) -> dict[str, Any]:
    role = _object(replicas=NUMBER, template=TEMPLATE)
    roles = {"type": "object", "additionalProperties": role}
    elastic = _object(maxRestarts=NUMBER)
    return _object(**{field: roles, "runPolicy": RUN_POLICY, "elasticPolicy": elastic})


SPECS = {
    "JobSet": _object(suspend={"type": "boolean"}, replicatedJobs=REPLICATED_JOBS),
    "LeaderWorkerSet": _object(
        replicas=NUMBER,
        leaderWorkerTemplate=_object(size=NUMBER, leaderTemplate=TEMPLATE, workerTemplate=TEMPLATE),
    ),
    "PyTorchJob": _roles("pytorchReplicaSpecs"),
    "MPIJob": _roles("mpiReplicaSpecs"),
    "Notebook": _object(template=TEMPLATE),
    "RayCluster": RAY,
    "RayJob": _object(
        rayClusterSpec=RAY,
        suspend={"type": "boolean"},
        shutdownAfterJobFinishes={"type": "boolean"},
        ttlSecondsAfterFinished=NUMBER,
        activeDeadlineSeconds=NUMBER,
        backoffLimit=NUMBER,
        deletionStrategy=ANYTHING,
        clusterSelector={"type": "object", "additionalProperties": TEXT},
    ),
    "RayService": _object(rayClusterConfig=RAY, serveConfigV2=TEXT),
    "TrainJob": _object(
        runtimeRef=_object(name=TEXT),
        trainer=_object(
            numNodes=NUMBER,
            image=TEXT,
            command=_many(TEXT),
            args=_many(TEXT),
            resourcesPerNode=_object(limits=AMOUNTS, requests=AMOUNTS),
        ),
        suspend={"type": "boolean"},
        activeDeadlineSeconds=LARGE,
    ),
    "TrainingRuntime": _object(template=_object(spec=_object(replicatedJobs=REPLICATED_JOBS))),
    "ClusterTrainingRuntime": _object(
        template=_object(spec=_object(replicatedJobs=REPLICATED_JOBS))
    ),
    "Service": _object(template=TEMPLATE),
}
"""For kinds with pod templates, whose real definitions have types down to the pod: the type
checker must understand the combined expressions of the policies."""

CRDS = tuple(
    crd(group, version, kind, _object(spec=SPECS[kind]) if kind in SPECS else ANYTHING)
    for group, version, kind in KINDS
)
