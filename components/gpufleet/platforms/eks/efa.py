"""Values of the AWS EFA device plugin's chart: it must run on every node with EFA interfaces.

The chart selects nodes by a list of instance types that lacks newer types (no p6, no g7e in
v0.5.20), and tolerates no GPU taint: with its defaults no node would advertise
`vpc.amazonaws.com/efa`. Source: aws/eks-charts `stable/aws-efa-k8s-device-plugin`.

Huge pages of nodes with EFA: autoscalers do not know them, and pods with EFA request them.

Sources: Amazon EKS user guide `node-efa` (the EFA driver of Amazon Linux reserves 5128 pages of 2
MiB; Bottlerocket uses the number as a kernel setting; read 2026-11-23). EFA's own script (package
efa-config) counts processors: 110 MiB for each of two endpoints, and one page
(bottlerocket-os/bottlerocket-core-kit PR 141, review); nodes with 96 processors show 21122Mi, with
192 42242Mi. So machines with few processors have less than the user guide states;
aws/karpenter-provider-aws#3315 (its model of a machine has no huge pages); kubernetes/autoscaler
1.36 `cluster-autoscaler/cloudprovider/aws` (the template of an empty group has those of its tags).
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.fleet.model import GPU_TAINT, Pool
from gpufleet.platforms.eks.shape import runs_bottlerocket
from gpufleet.spec.pool import Fabric

CHART = "aws-efa-k8s-device-plugin"


def efa_pools(pools: Sequence[Pool]) -> list[Pool]:
    """Pools whose nodes have EFA interfaces."""
    return [pool for pool in pools if pool.fabric is Fabric.EFA]


def efa_fleet_values(pools: Sequence[Pool]) -> dict[str, Any]:
    """The values for the pools of a fleet with EFA interfaces."""
    ours = efa_pools(pools)
    taints = [(taint.key, taint.effect) for pool in ours for taint in pool.taints]
    types = sorted({machine.name for pool in ours for machine in pool.machines})
    return efa_device_plugin_values(types, list(dict.fromkeys(taints)))


def efa_device_plugin_values(
    instance_types: Sequence[str], tolerations: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """The values. `tolerations` are key and effect of taints besides the GPU taint."""
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


HUGE_PAGES = "hugepages-2Mi"
EFA_PAGES = 5128
"""Pages of 2 MiB on each node with EFA, from the user guide."""
_OF_PROCESSOR = 110
MIB = 2
"""Size of a page."""


def node_huge_pages(pool: Pool) -> dict[str, str]:
    """The resource and its amount on each node; empty for pools without EFA, and for images that
    are not known to contain its driver."""
    if pool.fabric is not Fabric.EFA or (pool.image is not None and not pool.image.efa):
        return {}
    return {HUGE_PAGES: f"{least_pages(pool) * MIB}Mi"}


def least_pages(pool: Pool) -> int:
    """Minimum number of pages of a machine by both sources; Bottlerocket sets this number."""
    if runs_bottlerocket(pool):
        return EFA_PAGES
    counts = [machine.vcpu for machine in pool.machines if machine.vcpu is not None]
    return min([EFA_PAGES, *(_OF_PROCESSOR * count + 1 for count in counts)])
