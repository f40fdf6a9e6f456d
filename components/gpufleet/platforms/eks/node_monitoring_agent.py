"""NodeMonitoringAgent: the EKS add-on that tells node repair of broken GPUs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.components_base.component import ComponentPlan, GpuComponent
from gpufleet.components_base.inputs import declared
from gpufleet.platforms.eks.aws_objects import ADDON, AwsObject

ADDON_NAME = "eks-node-monitoring-agent"


class NodeMonitoringAgentArgs(TypedDict):
    """Inputs of `NodeMonitoringAgent`."""

    cluster_name: pulumi.Input[str]
    """Cluster whose nodes it watches."""
    version: NotRequired[str]
    """Version of the add-on, `v1.4.0-eksbuild.2`. Default: the one EKS chooses for the cluster."""
    tags: NotRequired[dict[str, str]]
    """Tags of the add-on. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw configuration of the add-on. Default: none."""


@dataclass(frozen=True, kw_only=True)
class MonitoringAgentPlan(ComponentPlan):
    """The add-on of one cluster."""

    cluster_name: pulumi.Input[str]
    version: str | None
    """Default: the one EKS chooses."""
    tags: Mapping[str, str]
    values: Mapping[str, Any]
    """Raw configuration."""


class NodeMonitoringAgent(GpuComponent[MonitoringAgentPlan]):
    """The EKS add-on `eks-node-monitoring-agent`: it turns GPU errors of a node's log into the
    condition `AcceleratedHardwareReady`, which node repair waits for.

    Without it node repair sees only that a kubelet is silent.
    """

    addon_name: pulumi.Output[str]
    """Name of the add-on."""

    def __init__(
        self, name: str, args: NodeMonitoringAgentArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the add-on.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the AWS provider of the account.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: MonitoringAgentPlan) -> Mapping[str, object]:
        arguments: dict[str, Any] = {
            "clusterName": plan.cluster_name,
            "addonName": ADDON_NAME,
            "resolveConflictsOnCreate": "OVERWRITE",
            "resolveConflictsOnUpdate": "OVERWRITE",
            "tags": plan.tags,
        }
        if plan.version is not None:
            arguments["addonVersion"] = plan.version
        if plan.values:
            arguments["configurationValues"] = json.dumps(plan.values, sort_keys=True)
        made = AwsObject(ADDON, f"{name}-addon", arguments, pulumi.ResourceOptions(parent=self))
        return {"addon_name": made.output("addonName")}


def _planned(component: str, args: NodeMonitoringAgentArgs) -> MonitoringAgentPlan:
    given = declared(component, NodeMonitoringAgentArgs, args)
    return MonitoringAgentPlan(
        cluster_name=given["clusterName"],
        version=given.get("version"),
        tags=given.get("tags", {}),
        values=given.get("values", {}),
    )
