"""Resources of the platform: the labels that a pool owns on its nodes, and nothing else."""

import pulumi

from gpufleet.components_base.cluster_objects import ManifestObject, NodePatch
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
)
from gpufleet.fleet import Fleet, Pool
from gpufleet.fleet.layout_waves import nodes_before
from gpufleet.platforms.existing.labels import node_feature_rule, node_patches


class ExistingFleet(PlatformFleet):
    """A fleet of nodes that exist."""

    def nodes(
        self, name: str, pool: Pool, opts: pulumi.ResourceOptions
    ) -> pulumi.ComponentResource:
        """Labels of the pool's nodes: destroying them takes away what was written, and no node."""
        component = pulumi.ComponentResource("gpufleet:index:ExistingGpuNodes", name, {}, opts)
        made = list[NodePatch]()
        for i, (node, metadata) in enumerate(node_patches(self.fleet, pool).items()):
            # With a layout change under way a node waits for the nodes of the wave before.
            before = [made[j] for j in nodes_before(pool, i)]
            below = pulumi.ResourceOptions(parent=component, depends_on=before)
            made.append(NodePatch(f"{name}-{node}", metadata, below))
        if (rule := node_feature_rule(self.fleet, pool)) is not None:
            ManifestObject(f"{name}-rule", rule, pulumi.ResourceOptions(parent=component))
        component.register_outputs({"advertised": dict(pool.advertised)})
        return component


def platform_fleet(fleet: Fleet, connection: Connection) -> ExistingFleet:
    """The fleet: a Kubernetes provider is all that it is wired to."""
    del connection
    return ExistingFleet(fleet=fleet)
