"""The EKS part of a fleet: its autoscalers and add-ons, and the component of each pool."""

from dataclasses import dataclass

import pulumi

from gpufleet.catalogue import load
from gpufleet.components_base.charts import fleet_chart
from gpufleet.components_base.component import PoolPlan
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    connection_missing,
    managed_pools,
)
from gpufleet.components_base.release import ReleasePlan
from gpufleet.findings import Severity
from gpufleet.fleet import Fleet
from gpufleet.fleet.chart_values import merged
from gpufleet.platforms.eks.auto_mode import access_policy_arn
from gpufleet.platforms.eks.auto_mode_rules import makes_auto_entry
from gpufleet.platforms.eks.aws_objects import aws_parts
from gpufleet.platforms.eks.cluster_autoscaler import CHART as AUTOSCALER_CHART
from gpufleet.platforms.eks.cluster_autoscaler import (
    ClusterAutoscaler,
    ClusterAutoscalerPlan,
    validate_cluster_autoscaler,
)
from gpufleet.platforms.eks.cluster_autoscaler_values import (
    scaled_pools,
)
from gpufleet.platforms.eks.connection import EksConnection, eks_connection, known_role
from gpufleet.platforms.eks.efa import efa_fleet_values, efa_pools
from gpufleet.platforms.eks.efa_device_plugin import CHART as EFA_CHART
from gpufleet.platforms.eks.efa_device_plugin import EfaDevicePlugin
from gpufleet.platforms.eks.karpenter import CHART as KARPENTER_CHART
from gpufleet.platforms.eks.karpenter import Karpenter, KarpenterPlan, validate_karpenter
from gpufleet.platforms.eks.karpenter_node_pool import KarpenterGpuNodePool
from gpufleet.platforms.eks.karpenter_values import (
    DEFINITIONS,
    karpenter_pools,
    makes_access_entry,
    needed_gates,
)
from gpufleet.platforms.eks.node_group import EksGpuNodeGroup
from gpufleet.platforms.eks.node_group_sizes import ClusterGroups
from gpufleet.platforms.eks.node_monitoring_agent import (
    MonitoringAgentPlan,
    NodeMonitoringAgent,
    monitoring_agent_values,
)
from gpufleet.platforms.eks.node_repair_rules import has_agent, observed
from gpufleet.platforms.eks.pool_plans import KarpenterPoolPlan, NodeGroupPlan, eks_pool_plan
from gpufleet.spec.platforms.eks_components import (
    DeclaredClusterAutoscaler,
    DeclaredKarpenter,
    DeclaredNodeMonitoringAgent,
)


@dataclass(frozen=True, kw_only=True)
class EksFleet(PlatformFleet):
    """A fleet on EKS."""

    karpenter: KarpenterPlan | None
    cluster_autoscaler: ClusterAutoscalerPlan | None
    efa: ReleasePlan | None
    monitoring_agent: MonitoringAgentPlan | None
    auto_access: EksConnection | None
    """Connection of a fleet whose EKS Auto Mode nodes join by an access entry of the fleet."""

    def parts(self, parent: pulumi.ComponentResource, name: str) -> list[pulumi.Resource]:
        """Karpenter, Cluster Autoscaler, the plugin of EFA, the agent of node repair, on which
        Karpenter's pools and the groups of Cluster Autoscaler must depend."""
        opts = pulumi.ResourceOptions(parent=parent)
        made: list[pulumi.Resource] = []
        if self.auto_access is not None:
            made += auto_mode_access(parent, f"{name}-auto", self.auto_access)
        if self.karpenter is not None:
            made.append(Karpenter.from_plan(f"{name}-karpenter", self.karpenter, opts))
        if self.cluster_autoscaler is not None:
            called = f"{name}-cluster-autoscaler"
            made.append(ClusterAutoscaler.from_plan(called, self.cluster_autoscaler, opts))
        if self.efa is not None:
            made.append(EfaDevicePlugin.from_plan(f"{name}-efa", self.efa, opts))
        if self.monitoring_agent is not None:
            called = f"{name}-monitoring-agent"
            made.append(NodeMonitoringAgent.from_plan(called, self.monitoring_agent, opts))
        return made


def platform_fleet(fleet: Fleet, connection: Connection) -> EksFleet:
    """The fleet, with each pool and add-on rendered and validated."""
    managed = managed_pools(fleet)
    wired = eks_connection(connection, fleet)
    karpenter = _karpenter(fleet, wired)
    autoscaler = _cluster_autoscaler(fleet, wired)
    findings = [
        connection_missing(
            key,
            f"pools on EKS need {key}",
            "pass it in `connection`, from the stack that creates the cluster",
        )
        for key, needed in (
            ("nodeRoleArn", managed or karpenter is not None),
            ("subnetIdsByZone", managed),
        )
        if needed and connection.get(key) is None
    ]
    pools: dict[str, PoolPlan] = {}
    if not findings:
        cluster = wired.cluster_name
        groups = ClusterGroups(cluster if isinstance(cluster, str) else fleet.spec.cluster.name)
        for pool in managed:
            pools[pool.name], found = eks_pool_plan(pool, wired, groups)
            findings += [one for one in found if one.severity is Severity.ERROR]
    if karpenter is not None:
        findings += validate_karpenter(karpenter)
    if autoscaler is not None:
        findings += validate_cluster_autoscaler(autoscaler)
    return EksFleet(
        fleet=fleet,
        findings=tuple(findings),
        pools=pools,
        makers={NodeGroupPlan: EksGpuNodeGroup, KarpenterPoolPlan: KarpenterGpuNodePool},
        karpenter=karpenter,
        cluster_autoscaler=autoscaler,
        efa=_efa(fleet),
        monitoring_agent=_monitoring_agent(fleet, wired),
        auto_access=wired if makes_auto_entry(fleet) else None,
    )


def _karpenter(fleet: Fleet, connection: EksConnection) -> KarpenterPlan | None:
    addon = fleet.spec.addons.karpenter
    if not karpenter_pools(fleet.pools) or not addon.ours:
        return None
    declared = DeclaredKarpenter.model_construct(
        cluster_name=connection.cluster_name,
        node_role_arn=connection.node_role_arn,
        region=fleet.spec.cluster.region or "",
        access_entry=makes_access_entry(fleet),
        name_prefix=connection.name_prefix,
        tags=dict(connection.tags),
        values=addon.values,
    )
    return KarpenterPlan(
        declared=declared,
        chart=fleet_chart(fleet, KARPENTER_CHART, addon),
        gates=needed_gates(fleet.pools, addon.node_overlay),
        definitions=(fleet_chart(fleet, DEFINITIONS, addon) if addon.upgrade_definitions else None),
    )


def _cluster_autoscaler(fleet: Fleet, connection: EksConnection) -> ClusterAutoscalerPlan | None:
    addon, queues = fleet.spec.addons.cluster_autoscaler, fleet.spec.queues
    if not scaled_pools(fleet.pools) or not addon.ours:
        return None
    declared = DeclaredClusterAutoscaler.model_construct(
        cluster_name=connection.cluster_name,
        region=fleet.spec.cluster.region or "",
        kubernetes_version=connection.kubernetes_version,
        settings=addon,
        name_prefix=connection.name_prefix,
        tags=dict(connection.tags),
    )
    return ClusterAutoscalerPlan(
        declared=declared,
        chart=fleet_chart(fleet, AUTOSCALER_CHART, addon),
        pools=fleet.pools,
        provisioning_requests=queues is not None and bool(queues.atomic_scale_up),
    )


def _efa(fleet: Fleet) -> ReleasePlan | None:
    pools, addon = efa_pools(fleet.pools), fleet.spec.addons.efa_device_plugin
    if not pools or not addon.ours:
        return None
    chart = fleet_chart(fleet, EFA_CHART, addon)
    return ReleasePlan(chart=chart, values=merged(efa_fleet_values(pools), addon.values))


def _monitoring_agent(fleet: Fleet, connection: EksConnection) -> MonitoringAgentPlan | None:
    addon = fleet.spec.addons.node_monitoring_agent
    pools = [pool for pool in fleet.pools if has_agent(pool)]
    if not any(observed(pool) for pool in pools) or not addon.ours:
        return None
    facts = load(fleet.spec.catalogue)
    rows = [row for row in facts.instances.values() if row.cloud == "aws"]
    types = sorted(row.name for row in rows if facts.gpu(row.accelerator.gpu).vendor == "nvidia")
    agent = DeclaredNodeMonitoringAgent.model_construct(
        cluster_name=connection.cluster_name,
        version=addon.version,
        tags=dict(connection.tags),
        values=merged(monitoring_agent_values(pools, types), addon.values),
    )
    return MonitoringAgentPlan(agent=agent)


def auto_mode_access(
    parent: pulumi.Resource, name: str, connection: EksConnection
) -> list[pulumi.Resource]:
    """The access entry of the type EC2, and its policy, with which nodes of EKS Auto Mode with a
    custom role join."""
    role = connection.node_role_arn
    made = aws_parts(parent, name, cluster=connection.cluster_name, node_role=role)
    entry = made("access", kind="EC2", tags=connection.tags)
    policy = known_role(name, role).apply(access_policy_arn)
    return [entry, made("accessPolicy", entry, policy=policy)]
