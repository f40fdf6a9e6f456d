"""Resources of the platform: only the labels that a pool owns on its nodes."""

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
    """A fleet of existing nodes."""

    def nodes(
        self, name: str, pool: Pool, opts: pulumi.ResourceOptions
    ) -> pulumi.ComponentResource:
        """Labels of the pool's nodes: destroying them removes the labels, not the nodes."""
        component = pulumi.ComponentResource("gpufleet:index:ExistingGpuNodes", name, {}, opts)
        made = list[NodePatch]()
        for i, (node, metadata) in enumerate(node_patches(self.fleet, pool).items()):
            # During a layout change a node waits for the nodes of the previous wave.
            before = [made[j] for j in nodes_before(pool, i)]
            below = pulumi.ResourceOptions(parent=component, depends_on=before)
            made.append(NodePatch(f"{name}-{node}", metadata, below))
        if (rule := node_feature_rule(self.fleet, pool)) is not None:
            ManifestObject(f"{name}-rule", rule, pulumi.ResourceOptions(parent=component))
        component.register_outputs({"advertised": dict(pool.advertised)})
        return component


def platform_fleet(fleet: Fleet, connection: Connection) -> ExistingFleet:
    """The fleet: its only connection is a Kubernetes provider."""
    del connection
    return ExistingFleet(fleet=fleet)
