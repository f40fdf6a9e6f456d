"""What EKS refuses of the arguments of each node group: they are rendered as components register
them."""

from collections.abc import Iterator, Sequence

from gpufleet.findings import Finding
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.autoscaler_tags import validate_autoscaler_tags
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import node_group
from gpufleet.platforms.eks.node_group_contract import validate_node_group
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec


def validate_arguments(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """Findings about node groups, launch templates and their tags."""
    prefix, version = spec.resource_prefix, spec.cluster.kubernetes_version
    for pool in pools:
        if pool.ownership is Ownership.EXISTING or pool.provisioner.by_node_pool:
            continue
        shape = eks_shape(pool)
        yield from validate_node_group(
            node_group(pool, shape, prefix, spec.tags, version),
            launch_template(pool, shape, prefix, spec.tags),
            f"{pool.path}.eks.nodeGroup",
            f"{pool.path}.eks.launchTemplate",
        )
        yield from validate_autoscaler_tags(pool)
