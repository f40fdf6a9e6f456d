"""Karpenter NodeOverlay: the capacity of nodes whose GPUs are cut, shared or parts of one.

Format: kubernetes-sigs/karpenter v1.14.1 `karpenter.sh/v1alpha1`, alpha, behind the feature gate
`NodeOverlay`. It changes what Karpenter expects of a node it has not started; what a node of that
shape costs is not touched. Amounts replace those Karpenter takes from the instance type.
"""

from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.fleet.neuron import is_neuron
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.eks.node_template import modelled_gpus, template_resources
from gpufleet.spec.pool import Provisioner

API_VERSION = "karpenter.sh/v1alpha1"

WEIGHT = 100
"""Above overlays without a weight, so that one someone made for a whole instance family does not
cancel ours: overlays of equal weight that disagree are both ignored. 1 to 10000."""


def node_overlay(pool: Pool) -> dict[str, Any] | None:
    """The overlay of a pool that Karpenter provisions; None where its own model is right.

    It holds for the pool's label and its very instance types: the two A100 sizes share a GPU name,
    an instance type does not. Pools on one instance type, cut differently, are informed apart by
    the label, which the pool's NodePool must put into its template. Neuron devices and their cores
    Karpenter counts by itself.
    """
    if pool.provisioner is not Provisioner.KARPENTER or is_neuron(pool.gpu):
        return None
    capacity = template_resources(pool)
    if capacity == {RESOURCES[pool.gpu.vendor]: modelled_gpus(pool)}:
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
            "capacity": {name: str(amount) for name, amount in capacity.items()},
        },
    }
