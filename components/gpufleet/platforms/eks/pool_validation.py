"""What stands in the way of making an EKS pool, asked before anything of a fleet is made."""

from collections.abc import Mapping
from typing import Any

from gpufleet.findings import Finding, error
from gpufleet.fleet import Pool
from gpufleet.platforms.eks.autoscaler_tags import judge_autoscaler_tags
from gpufleet.platforms.eks.connection import DEFAULT_PREFIX, judge_connection
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import chosen_zones, node_group
from gpufleet.platforms.eks.node_group_contract import judge_node_group
from gpufleet.platforms.eks.rules import pinning_missing
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.tags import judge_karpenter_tags, judge_tags
from gpufleet.spec.pool import Provisioner

DEFAULT_KUBERNETES = "1.36"
"""Minor version where the connection says none."""


def judge_pool(pool: Pool, given: Mapping[str, Any]) -> list[Finding]:
    """Everything about one pool, whoever makes its nodes.

    Args:
        pool: The compiled pool.
        given: The connection in camelCase, with `namePrefix`, `tags`, `environment` and
            `kubernetesVersion`.
    """
    shape = eks_shape(pool)
    _, findings = chosen_zones(pool, shape, given.get("subnetIdsByZone") or {})
    findings += judge_connection(given, pool, shape)
    findings += judge_tags(given.get("tags", {}), "tags")
    if pool.provisioner is Provisioner.KARPENTER:
        return findings + _of_karpenter(pool, given, efa=shape.efa)
    prefix, tags = given.get("namePrefix", DEFAULT_PREFIX), given.get("tags", {})
    version = given.get("kubernetesVersion", DEFAULT_KUBERNETES)
    group = node_group(pool, shape, prefix, tags, version)
    template = launch_template(pool, shape, prefix, tags)
    raw = f"{pool.path}.eks.nodeGroup", f"{pool.path}.eks.launchTemplate"
    return [*findings, *judge_node_group(group, template, *raw), *judge_autoscaler_tags(pool)]


def _of_karpenter(pool: Pool, given: Mapping[str, Any], *, efa: bool) -> list[Finding]:
    environment = given.get("environment", "dev")
    version = given.get("kubernetesVersion", DEFAULT_KUBERNETES)
    findings = pinning_missing(pool, environment, version)
    findings += judge_karpenter_tags(given.get("tags", {}), "tags")
    if given.get("clusterSecurityGroupId") is None and not efa:
        findings.append(
            error(
                "connection-missing",
                "clusterSecurityGroupId",
                f"{pool.name} needs clusterSecurityGroupId: Karpenter's machines are in no "
                "security group but those that are named",
                "give clusterSecurityGroupId in the connection",
            )
        )
    return findings
