"""Resources of the platform: a ConfigMap for each pool, which people in the data centre read."""

import pulumi

from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
)
from gpufleet.fleet import Fleet, Pool


class RackPool(pulumi.ComponentResource):
    """The machines of one pool."""


class RackFleet(PlatformFleet):
    """A fleet in racks."""

    def nodes(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> RackPool:
        made = RackPool("gpufleet:index:RackPool", name, {}, opts)
        order = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": pool.name, "namespace": "racks"},
            "data": {"machines": str(pool.nodes.maximum)},
            "immutable": True,
        }
        ManifestObject(f"{name}-order", order, pulumi.ResourceOptions(parent=made))
        return made


def platform_fleet(fleet: Fleet, connection: Connection) -> RackFleet:
    """The fleet: nothing prevents deploying it."""
    del connection
    return RackFleet(fleet=fleet)
