"""Values of Karpenter's chart (1.14.1): gates that pools need, and the queue of its events."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.eks.karpenter_objects import has_buffer, is_static, node_overlay
from gpufleet.platforms.eks.node_repair_rules import repairs
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Provisioner

CHART = "karpenter"
DEFINITIONS = "karpenter-crd"
"""Chart of only the definitions: Helm upgrades them there, but not in the folder `crds` of
`CHART` (aws/karpenter-provider-aws, website `upgrading/upgrade-guide.md`)."""
KEPT: Mapping[str, Any] = {"additionalAnnotations": {"helm.sh/resource-policy": "keep"}}
"""Values of `DEFINITIONS`: removing a definition removes every object of its kind (v1.14.1
`charts/karpenter-crd/values.yaml` and `templates`)."""
SERVICE_ACCOUNT = "karpenter"


@dataclass(frozen=True, slots=True)
class Gates:
    """Feature gates that differ from Karpenter's own defaults."""

    node_overlay: bool = False
    """Alpha: resources of shared, partitioned and partial GPUs."""
    node_repair: bool = False
    """Alpha: replaces nodes whose GPUs are reported broken."""
    static_capacity: bool = False
    """Alpha: keeps the nodes of static pools."""
    capacity_buffer: bool = False
    """Alpha: keeps nodes free."""
    claims: bool = False
    """Alpha from 1.15: makes nodes for claims of whole GPUs (`awsFeatureGates`)."""


def karpenter_pools(pools: Sequence[Pool]) -> list[Pool]:
    """Pools whose nodes Karpenter creates, for us or for a GitOps tool."""
    return [
        pool
        for pool in pools
        if pool.provisioner is Provisioner.KARPENTER and pool.ownership is not Ownership.EXISTING
    ]


def makes_access_entry(fleet: Fleet) -> bool:
    """Whether Karpenter's machines join by an access entry of the fleet.

    EKS creates one for roles of managed node groups, and refuses a second one (Amazon EKS
    user guide, access entries).
    """
    addon = fleet.spec.addons.karpenter
    if not addon.ours:
        return False
    if addon.access_entry is not None:
        return addon.access_entry
    return all(pool.provisioner is Provisioner.KARPENTER for pool in fleet.pools)


def needed_gates(pools: Sequence[Pool], declared_overlay: bool | None = None) -> Gates:
    """The gates that the pools need. `declared_overlay` is `addons.karpenter.nodeOverlay`."""
    ours = karpenter_pools(pools)
    overlay = any(node_overlay(pool) is not None for pool in ours)
    return Gates(
        node_overlay=overlay if declared_overlay is None else declared_overlay,
        node_repair=any(repairs(pool) for pool in ours),
        static_capacity=any(is_static(pool) for pool in ours),
        capacity_buffer=any(has_buffer(pool) for pool in ours),
        claims=any(pool.spec.sharing.dra is not None and not is_static(pool) for pool in ours),
    )


def karpenter_values(gates: Gates) -> dict[str, Any]:
    """The values, without the cluster's name and the queue, which the component adds."""
    needed = {name: on or None for name, on in asdict(gates).items()}
    always = {"node_overlay": gates.node_overlay, "node_repair": gates.node_repair}
    file = Path(__file__).with_name("autoscalers")
    return data_part(file, "karpenter", account=SERVICE_ACCOUNT, **needed | always)
