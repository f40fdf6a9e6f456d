"""Resources of the platform: the labels that a pool owns on its nodes, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.components_base.component import GpuPoolComponent, PoolPlan
from gpufleet.components_base.core_objects import NodePatch
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    no_charts,
    no_operators,
)
from gpufleet.fleet import Fleet, Pool
from gpufleet.fleet.layout_waves import nodes_before
from gpufleet.platforms.existing.labels import node_feature_rule, node_patches

platform_operators = no_operators
platform_charts = no_charts


@dataclass(frozen=True, kw_only=True)
class ExistingPoolPlan(PoolPlan):
    """What is written about the nodes of one pool."""

    patches: Mapping[str, Mapping[str, Any]]
    rule: Mapping[str, Any] | None


class ExistingGpuNodes(GpuPoolComponent[ExistingPoolPlan]):
    """Labels of nodes that exist. Destroying it takes away what it wrote, and no node."""

    node_names: pulumi.Output[list[str]]
    """Nodes whose labels it writes by name; empty where a rule or a person does."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its operands have run."""

    def _make(self, name: str, plan: ExistingPoolPlan) -> Mapping[str, object]:
        made = list[NodePatch]()
        for i, (node, metadata) in enumerate(plan.patches.items()):
            before = [made[j] for j in nodes_before(plan.pool, i)]
            opts = pulumi.ResourceOptions(parent=self, depends_on=before)
            made.append(NodePatch(f"{name}-{node}", metadata, opts))
        if plan.rule is not None:
            ManifestObject(f"{name}-rule", plan.rule, pulumi.ResourceOptions(parent=self))
        return {"node_names": list(plan.patches), "advertised": dict(plan.pool.advertised)}


class ExistingFleet(PlatformFleet):
    """A fleet of nodes that exist."""

    def nodes(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> ExistingGpuNodes:
        """The labels of the pool's nodes."""
        plan = ExistingPoolPlan(
            pool=pool,
            patches=node_patches(self.fleet, pool),
            rule=node_feature_rule(self.fleet, pool),
        )
        return ExistingGpuNodes.from_plan(name, plan, opts)


def platform_fleet(fleet: Fleet, connection: Connection) -> ExistingFleet:
    """The fleet: a Kubernetes provider is all that it is wired to."""
    del connection
    return ExistingFleet(fleet=fleet)
