"""Custom resources without a schema: what an admission policy sees of kinds nobody installed."""

from typing import Any

KINDS = (
    ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    ("kubeflow.org", "v1", "PyTorchJob"),
    ("kubeflow.org", "v2beta1", "MPIJob"),
    ("kubeflow.org", "v1", "Notebook"),
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

CLUSTER_SCOPED = frozenset({"NodePool", "Queue", "ClusterQueue"})


def plural_of(kind: str) -> str:
    return f"{kind.lower()}s"


def crd(group: str, version: str, kind: str) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
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
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }


CRDS = tuple(crd(*kind) for kind in KINDS)
