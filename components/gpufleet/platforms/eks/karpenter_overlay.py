"""Karpenter NodeOverlay: the capacity of nodes whose GPUs are cut, shared or parts of one, and huge
pages of nodes with EFA.

Format: kubernetes-sigs/karpenter v1.14.1 `karpenter.sh/v1alpha1`, alpha, behind the feature gate
`NodeOverlay`. It changes what Karpenter expects of a node it has not started, and the price at
which it compares the node's machine where the pool declares a difference. Amounts replace those
that Karpenter takes from the instance type.
"""

from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.fleet.neuron import is_neuron
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.eks.efa_pages import node_huge_pages
from gpufleet.platforms.eks.node_template import modelled_gpus, template_resources
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Provisioner

API_VERSION = "karpenter.sh/v1alpha1"

WEIGHT = 100
"""Weight of our overlays, 1 to 10000. Karpenter ignores both of two overlays that have the same
weight and disagree. This weight is above the default, so a user's overlay without a weight for a
whole instance family does not cancel ours."""


def node_overlay(pool: Pool) -> dict[str, Any] | None:
    """The overlay of a pool that Karpenter provisions; None where its own model is right.

    The overlay selects the pool's label and its exact instance types. The GPU name is not enough:
    the two A100 sizes share one. The label separates pools that partition the same instance type
    differently; the pool's NodePool must set it in its template. Karpenter counts Neuron devices
    and their cores, and EFA interfaces, without an overlay.
    """
    if pool.provisioner is not Provisioner.KARPENTER:
        return None
    capacity = {**_devices(pool), **node_huge_pages(pool)}
    price = (pool.spec.karpenter or KarpenterPoolOptions()).price_adjustment
    if not capacity and price is None:
        return None
    return {
        "apiVersion": API_VERSION,
        "kind": "NodeOverlay",
        "metadata": {
            "name": f"gpufleet-{pool.name}",
            "labels": {"app.kubernetes.io/managed-by": "gpufleet", POOL_LABEL: pool.name},
        },
        "spec": {
            "weight": WEIGHT,
            "requirements": [
                {"key": POOL_LABEL, "operator": "In", "values": [pool.name]},
                {
                    "key": "node.kubernetes.io/instance-type",
                    "operator": "In",
                    "values": sorted(machine.name for machine in pool.machines),
                },
            ],
            **({"capacity": capacity} if capacity else {}),
            **({} if price is None else {"priceAdjustment": price}),
        },
    }


def _devices(pool: Pool) -> dict[str, str]:
    """Devices of a node, where they differ from what Karpenter counts."""
    resources = template_resources(pool)
    counted = {RESOURCES[pool.gpu.vendor]: modelled_gpus(pool)}
    if is_neuron(pool.gpu) or resources == counted:
        return {}
    return {name: str(amount) for name, amount in resources.items()}
