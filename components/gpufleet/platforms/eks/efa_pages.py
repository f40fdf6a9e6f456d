"""Huge pages of nodes with EFA: autoscalers do not know of them, and pods with EFA ask for them.

Sources: Amazon EKS user guide `node-efa` (the EFA driver of Amazon Linux sets 5128 pages of 2 MiB
aside; Bottlerocket sets none aside and takes the number as a kernel setting; read 2026-11-23);
aws/karpenter-provider-aws#3315 (its model of a machine has no huge pages); kubernetes/autoscaler
1.36 `cluster-autoscaler/cloudprovider/aws` (the template of an empty group has those of its tags).
"""

from gpufleet.fleet.model import Pool
from gpufleet.spec.pool import Fabric

HUGE_PAGES = "hugepages-2Mi"
EFA_PAGES = 5128
"""Pages of 2 MiB on each node with EFA."""


def node_huge_pages(pool: Pool) -> dict[str, str]:
    """The resource and its amount on each node; empty for pools without EFA, and for images that
    are not known to bring its driver."""
    if pool.fabric is not Fabric.EFA or (pool.image is not None and not pool.image.efa):
        return {}
    return {HUGE_PAGES: f"{EFA_PAGES * 2}Mi"}
