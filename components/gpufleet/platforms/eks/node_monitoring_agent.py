"""NodeMonitoringAgent: the EKS add-on that reports broken GPUs to node repair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi

from gpufleet.arguments import NodeMonitoringAgentArgs
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.documents.data_files import data_part
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.aws_objects import aws_parts
from gpufleet.platforms.eks.connection import validate_cluster_name
from gpufleet.spec.platforms.eks_components import DeclaredNodeMonitoringAgent

ADDON_NAME = "eks-node-monitoring-agent"


@dataclass(frozen=True, kw_only=True)
class MonitoringAgentPlan(ComponentPlan):
    """The add-on of one cluster."""

    agent: DeclaredNodeMonitoringAgent


class NodeMonitoringAgent(GpuComponent[MonitoringAgentPlan]):
    """The EKS add-on `eks-node-monitoring-agent`: it converts GPU errors in a node's log into the
    condition `AcceleratedHardwareReady`, which node repair reads.

    Without it node repair only detects a kubelet that does not report.
    """

    addon_name: pulumi.Output[str]
    """Name of the add-on."""

    def __init__(self, name: str, args: NodeMonitoringAgentArgs, opts: Options = None) -> None:
        """`provider` or `providers` must contain the AWS provider of the account."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: MonitoringAgentPlan) -> Mapping[str, object]:
        agent = plan.agent
        made = aws_parts(self, name, tags=agent.tags)(
            "addon",
            called="addon",
            addon=ADDON_NAME,
            made=agent.cluster_name,
            version=agent.version,
            values=pulumi.Output.json_dumps(agent.values, sort_keys=True) if agent.values else None,
            identities=None,
        )
        return {"addon_name": made.output("addonName")}


def monitoring_agent_values(pools: Sequence[Pool], gpu_types: Sequence[str]) -> dict[str, Any]:
    """Configuration with which the agent reports GPUs only where its own DCGM runs.

    The agent tolerates every taint and reads `localhost:5555`, the address of its DaemonSet
    `dcgm-server`, which tolerates none: one minute without it is `AcceleratedHardwareReady: False`
    for the rest of the agent's run, and node repair replaces the node
    (aws/eks-node-monitoring-agent 5313543 `monitors/nvidia/dcgm/dcgm_reconcile.go`, 019c981
    `pkg/reasons/reasons.go`; aws/containers-roadmap#2555). Both stay off nodes with MIG: a change
    of the MIG mode waits until the GPU is free, and the MIG manager does not stop them.

    Args:
        pools: All known pools of the cluster, without those of EKS Auto Mode.
        gpu_types: Machine types with NVIDIA GPUs, for nodes outside the pools.
    """
    nvidia = [pool for pool in pools if pool.gpu.vendor == "nvidia"]
    whole = [pool for pool in nvidia if not pool.partition.mig_enabled]
    mig = sorted(pool.name for pool in nvidia if pool.partition.mig_enabled)
    keys = sorted({taint.key for pool in whole for taint in pool.taints})
    tolerations = [{"key": key, "operator": "Exists"} for key in keys]
    if not mig:
        return {"dcgmAgent": {"tolerations": tolerations}} if tolerations else {}
    return data_part(
        Path(__file__).with_suffix(""),
        "besideMig",
        tolerations=tolerations or None,
        label=POOL_LABEL,
        types=list(gpu_types),
        whole=sorted(pool.name for pool in whole),
        mig=mig,
    )


def _planned(component: str, args: NodeMonitoringAgentArgs) -> MonitoringAgentPlan:
    agent = checked(component, NodeMonitoringAgentArgs, args, DeclaredNodeMonitoringAgent)
    warnings = accepted(component, validate_cluster_name(agent.cluster_name))
    return MonitoringAgentPlan(agent=agent, warnings=warnings)
