"""Karpenter's CapacityBuffer: nodes of a pool that stay free for pods that come.

Format: sigs.k8s.io/karpenter v1.14.1 `pkg/apis/autoscaling/v1beta1`, behind the feature gate
`CapacityBuffer`. Its pods exist in Karpenter's simulation alone: nothing is scheduled and no image
is pulled. The limits of the NodePool hold for them too (`pkg/controllers/provisioning/buffers.go`).
"""

from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.karpenter_node_pool_manifest import karpenter_name
from gpufleet.render.pod_request import pod_spec
from gpufleet.spec.pool import Provisioner

API_VERSION = "autoscaling.x-k8s.io/v1beta1"
NAMESPACE = "kube-system"
"""Namespace of the two objects."""


def has_buffer(pool: Pool) -> bool:
    """Whether Karpenter keeps nodes of the pool free."""
    options = pool.spec.karpenter
    return pool.provisioner is Provisioner.KARPENTER and options is not None and options.buffer


def capacity_buffer(pool: Pool) -> tuple[dict[str, Any], ...]:
    """The PodTemplate of a pod that takes a whole node, and the CapacityBuffer of `nodes.min` such
    pods; empty for pools without one."""
    if not has_buffer(pool) or not pool.advertised:
        return ()
    spec = pod_spec(pool, pool.partition.shares[0])
    (container,) = spec["containers"]
    container["image"] = "registry.k8s.io/pause:3.10"
    whole = {name: str(amount) for name, amount in pool.advertised.items()}
    asked = {**container["resources"].get("limits", {}), **whole}
    # Of a PodTemplate the API server fills in no requests, and Karpenter reads nothing else.
    container["resources"] = {"requests": asked, "limits": asked}
    name = karpenter_name(pool)
    labels = {"app.kubernetes.io/managed-by": "gpufleet", POOL_LABEL: pool.name}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return (
        {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": metadata,
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
        {
            "apiVersion": API_VERSION,
            "kind": "CapacityBuffer",
            "metadata": metadata,
            "spec": {"podTemplateRef": {"name": name}, "replicas": pool.nodes.minimum},
        },
    )
