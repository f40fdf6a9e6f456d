"""Values of the AWS EFA device plugin's chart: it must run on every node with EFA interfaces.

The chart chooses nodes by a list of instance types that ends where its authors stopped (no p6, no
g7e in v0.5.20), and tolerates no GPU taint: as it comes, no node would advertise
`vpc.amazonaws.com/efa`. Source: aws/eks-charts `stable/aws-efa-k8s-device-plugin`.
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.fleet.model import GPU_TAINT, Pool
from gpufleet.spec.pool import Fabric

CHART = "aws-efa-k8s-device-plugin"


def efa_pools(pools: Sequence[Pool]) -> list[Pool]:
    """Pools whose nodes have EFA interfaces."""
    return [pool for pool in pools if pool.fabric is Fabric.EFA]


def efa_fleet_values(pools: Sequence[Pool]) -> dict[str, Any]:
    """The values for the pools of a fleet that have such interfaces."""
    ours = efa_pools(pools)
    taints = [(taint.key, taint.effect) for pool in ours for taint in pool.taints]
    types = sorted({machine.name for pool in ours for machine in pool.machines})
    return efa_device_plugin_values(types, list(dict.fromkeys(taints)))


def efa_device_plugin_values(
    instance_types: Sequence[str], tolerations: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """The values. `tolerations` are key and effect of taints next to the GPU taint."""
    keys = dict.fromkeys([(GPU_TAINT.key, GPU_TAINT.effect), *tolerations])
    return {
        "supportedInstanceLabels": {
            "keys": ["node.kubernetes.io/instance-type"],
            "values": sorted(set(instance_types)),
        },
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": effect} for key, effect in keys
        ],
    }
