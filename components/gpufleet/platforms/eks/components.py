"""The EKS part of a fleet: its autoscalers and add-ons, and the component of each pool."""

from typing import Any, cast

import pulumi

from gpufleet.components_base.charts import charts_of
from gpufleet.components_base.platform_components import (
    Connection,
    connection_missing,
    name_prefix,
    no_charts,
    no_operators,
    pool_arguments,
)
from gpufleet.findings import Finding, Severity
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.eks.cluster_autoscaler import ClusterAutoscaler, ClusterAutoscalerArgs
from gpufleet.platforms.eks.cluster_autoscaler_values import (
    judge_priorities,
    judge_program,
    scaled_pools,
)
from gpufleet.platforms.eks.connection import EksPoolArgs
from gpufleet.platforms.eks.efa_device_plugin import EfaDevicePlugin, EfaDevicePluginArgs
from gpufleet.platforms.eks.efa_device_plugin_values import efa_pools
from gpufleet.platforms.eks.karpenter import Karpenter, KarpenterArgs
from gpufleet.platforms.eks.karpenter_node_pool import KarpenterGpuNodePool
from gpufleet.platforms.eks.karpenter_values import karpenter_pools, needed_gates
from gpufleet.platforms.eks.node_group import EksGpuNodeGroup
from gpufleet.platforms.eks.node_monitoring_agent import (
    NodeMonitoringAgent,
    NodeMonitoringAgentArgs,
)
from gpufleet.platforms.eks.pool_validation import judge_pool
from gpufleet.spec.addons import Addon
from gpufleet.spec.base import Ownership
from gpufleet.spec.platforms.eks import EksOptions
from gpufleet.spec.pool import Provisioner

platform_operators = no_operators
platform_charts = no_charts

REQUIRED = ("node_role_arn", "subnet_ids_by_zone")
"""What every EKS pool is wired to."""


def judge_platform(fleet: Fleet, connection: Connection) -> list[Finding]:
    """What stands in the way of deploying a fleet that compiles."""
    managed = [pool for pool in fleet.pools if pool.ownership is Ownership.MANAGED]
    version = fleet.spec.cluster.kubernetes_version
    findings = [
        connection_missing(
            name,
            f"pools on EKS need {name}",
            "give it beside the spec, from the stack that makes the cluster",
        )
        for key in (REQUIRED if managed else ())
        if connection.get(key) is None
        for name in [_camel(key)]
    ]
    given = {
        **{_camel(key): value for key, value in connection.items()},
        "environment": fleet.spec.environment,
        "kubernetesVersion": version,
        "namePrefix": name_prefix(fleet),
        "tags": fleet.spec.tags,
    }
    found = [] if findings else [one for pool in managed for one in judge_pool(pool, given)]
    findings += [one for one in found if one.severity is Severity.ERROR]
    addon = fleet.spec.addons.cluster_autoscaler
    if scaled_pools(fleet.pools) and _ours(addon):
        findings += judge_program(addon, version)
        findings += judge_priorities(addon, fleet.pools, name_prefix(fleet))
    return findings


def platform_parts(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Connection
) -> list[pulumi.Resource]:
    """What the fleet's pools need once per cluster beside `GpuAddons`; Karpenter's pools and the
    groups of Cluster Autoscaler must depend on it."""
    addons, opts = fleet.spec.addons, pulumi.ResourceOptions(parent=parent)
    made: list[pulumi.Resource] = []
    if karpenter_pools(fleet.pools) and _ours(addons.karpenter):
        made.append(_karpenter(name, fleet, connection, opts))
    if scaled_pools(fleet.pools) and _ours(addons.cluster_autoscaler):
        made.append(_cluster_autoscaler(name, fleet, connection, opts))
    with_efa = efa_pools(fleet.pools)
    if with_efa and _ours(addons.efa_device_plugin):
        taints = [(taint.key, taint.effect) for pool in with_efa for taint in pool.taints]
        arguments = {
            "catalogue": fleet.spec.catalogue,
            "instance_types": sorted({m.name for pool in with_efa for m in pool.machines}),
            "charts": charts_of(fleet),
            "tolerations": [{"key": k, "effect": e} for k, e in dict.fromkeys(taints)],
            **_chart(addons.efa_device_plugin),
        }
        made.append(EfaDevicePlugin(f"{name}-efa", cast("EfaDevicePluginArgs", arguments), opts))
    repaired = any((pool.spec.eks or EksOptions()).node_repair for pool in fleet.pools)
    if repaired and _ours(addons.node_monitoring_agent):
        arguments = {
            "cluster_name": _cluster(fleet, connection),
            "tags": fleet.spec.tags,
            **_chart(addons.node_monitoring_agent),
        }
        made.append(
            NodeMonitoringAgent(
                f"{name}-monitoring-agent", cast("NodeMonitoringAgentArgs", arguments), opts
            )
        )
    return made


def platform_pool(
    name: str, pool: Pool, fleet: Fleet, connection: Connection, opts: pulumi.ResourceOptions
) -> EksGpuNodeGroup | KarpenterGpuNodePool:
    """The component that makes the pool's nodes."""
    arguments = cast(
        "EksPoolArgs",
        {
            **{key: value for key, value in connection.items() if value is not None},
            **pool_arguments(fleet, pool),
            "region": fleet.spec.cluster.region,
            "cluster_name": _cluster(fleet, connection),
            "kubernetes_version": fleet.spec.cluster.kubernetes_version,
            "environment": fleet.spec.environment,
            "tags": fleet.spec.tags,
        },
    )
    if pool.provisioner is Provisioner.KARPENTER:
        return KarpenterGpuNodePool(name, arguments, opts, compiled=pool)
    cluster = _cluster(fleet, connection)
    known = cluster if isinstance(cluster, str) else fleet.spec.cluster.name
    return EksGpuNodeGroup(name, arguments, opts, compiled=pool, cluster=known)


def _karpenter(
    name: str, fleet: Fleet, connection: Connection, opts: pulumi.ResourceOptions
) -> Karpenter:
    addon = fleet.spec.addons.karpenter
    gates = needed_gates(fleet.pools, addon.node_overlay)
    arguments = {
        "catalogue": fleet.spec.catalogue,
        "cluster_name": _cluster(fleet, connection),
        "region": fleet.spec.cluster.region,
        "node_role_arn": connection["node_role_arn"],
        "charts": charts_of(fleet),
        "node_overlay": gates.node_overlay,
        "node_repair": gates.node_repair,
        "name_prefix": name_prefix(fleet),
        "tags": fleet.spec.tags,
        **_chart(addon),
    }
    return Karpenter(f"{name}-karpenter", cast("KarpenterArgs", arguments), opts)


def _cluster_autoscaler(
    name: str, fleet: Fleet, connection: Connection, opts: pulumi.ResourceOptions
) -> ClusterAutoscaler:
    addon, queues = fleet.spec.addons.cluster_autoscaler, fleet.spec.queues
    arguments = {
        "catalogue": fleet.spec.catalogue,
        "cluster_name": _cluster(fleet, connection),
        "region": fleet.spec.cluster.region,
        "kubernetes_version": fleet.spec.cluster.kubernetes_version,
        "settings": addon.model_dump(mode="json", exclude_unset=True, exclude_none=True),
        "charts": charts_of(fleet),
        "name_prefix": name_prefix(fleet),
        "tags": fleet.spec.tags,
    }
    return ClusterAutoscaler(
        f"{name}-cluster-autoscaler",
        cast("ClusterAutoscalerArgs", arguments),
        opts,
        compiled=fleet.pools,
        provisioning_requests=queues is not None and bool(queues.atomic_scale_up),
    )


def _chart(addon: Addon) -> dict[str, Any]:
    """Version and raw values, where they were written."""
    found: dict[str, Any] = {"values": addon.values} if addon.values else {}
    return {**found, "version": addon.version} if addon.version is not None else found


def _ours(addon: Addon) -> bool:
    return addon.enabled is not False and addon.ownership is Ownership.MANAGED


def _cluster(fleet: Fleet, connection: Connection) -> Any:
    return connection.get("cluster_name", fleet.spec.cluster.name)


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)
