"""Plans of EKS pools: each is rendered once, before any resource is created.

Compile (`rules`) finds arguments that the provider refuses; this module checks the values of the
connection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.components_base.component import PoolPlan
from gpufleet.components_base.configurations import validate_known_labels
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet import Pool
from gpufleet.platforms.eks.connection import EksConnection, validate_connection
from gpufleet.platforms.eks.karpenter_objects import node_pool
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import chosen_zones, node_group
from gpufleet.platforms.eks.node_group_sizes import ClusterGroups
from gpufleet.platforms.eks.rules import pinning_missing
from gpufleet.platforms.eks.shape import EksShape, eks_shape

_finding = findings_in(__file__)


@dataclass(frozen=True, kw_only=True)
class EksPoolPlan(PoolPlan):
    """A pool on EKS, for every launcher of its machines."""

    shape: EksShape
    connection: EksConnection
    subnet_ids: tuple[pulumi.Input[str], ...]
    """One for each zone of the pool."""


@dataclass(frozen=True, kw_only=True)
class NodeGroupPlan(EksPoolPlan):
    """A managed node group and its launch template."""

    group: Mapping[str, Any]
    """Arguments of the node group, without values of other resources."""
    template: Mapping[str, Any]
    """Arguments of the launch template, without values of other resources."""
    groups: ClusterGroups
    """Existing node groups of the cluster."""


@dataclass(frozen=True, kw_only=True)
class KarpenterPoolPlan(EksPoolPlan):
    """A NodePool of Karpenter."""

    node_pool: Mapping[str, Any]
    """The NodePool, without values of other resources."""


def eks_pool_plan(
    pool: Pool, connection: EksConnection, groups: ClusterGroups
) -> tuple[NodeGroupPlan | KarpenterPoolPlan, list[Finding]]:
    """The plan of a pool, by its provisioner, and errors that prevent its creation."""
    if pool.provisioner.by_node_pool:
        return karpenter_pool_plan(pool, connection)
    return node_group_plan(pool, connection, groups)


def node_group_plan(
    pool: Pool, connection: EksConnection, groups: ClusterGroups
) -> tuple[NodeGroupPlan, list[Finding]]:
    """The plan of a node group, and errors that prevent its creation."""
    shape = eks_shape(pool)
    subnet_ids, findings = _common(pool, shape, connection)
    prefix, tags = connection.name_prefix, connection.tags
    group = node_group(pool, shape, prefix, tags, connection.kubernetes_version)
    template = launch_template(pool, shape, prefix, tags)
    findings += validate_known_labels(group["labels"], connection.configurations, pool.name)
    plan = NodeGroupPlan(
        pool=pool,
        shape=shape,
        connection=connection,
        subnet_ids=subnet_ids,
        group=group,
        template=template,
        groups=groups,
    )
    return plan, findings


def karpenter_pool_plan(
    pool: Pool, connection: EksConnection
) -> tuple[KarpenterPoolPlan, list[Finding]]:
    """The plan of a NodePool, and errors that prevent its creation."""
    shape = eks_shape(pool)
    subnet_ids, findings = _common(pool, shape, connection)
    findings += pinning_missing(pool, connection.environment, connection.kubernetes_version)
    if connection.cluster_security_group_id is None and not shape.efa:
        findings.append(_finding("connection-missing/security-group", pool=pool.name))
    rendered = node_pool(pool, shape)
    labels = rendered["spec"]["template"]["metadata"]["labels"]
    findings += validate_known_labels(labels, connection.configurations, pool.name)
    plan = KarpenterPoolPlan(
        pool=pool,
        shape=shape,
        connection=connection,
        subnet_ids=subnet_ids,
        node_pool=rendered,
    )
    return plan, findings


def _common(
    pool: Pool, shape: EksShape, connection: EksConnection
) -> tuple[tuple[pulumi.Input[str], ...], list[Finding]]:
    """Subnets, and the checks for every provisioner."""
    subnets = connection.subnet_ids_by_zone
    zones, findings = chosen_zones(pool, shape, subnets)
    findings += validate_connection(connection, pool, shape)
    return tuple(subnets[zone] for zone in zones if zone in subnets), findings
