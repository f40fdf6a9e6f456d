"""NodeMonitoringAgent: the EKS add-on that tells node repair of broken GPUs."""

import json
from typing import Any, NotRequired, TypedDict, cast

import pulumi

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


class NodeMonitoringAgent(pulumi.ComponentResource):
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
        component = f'NodeMonitoringAgent "{name}"'
        given = declared(component, NodeMonitoringAgentArgs, cast("dict[str, Any]", args))
        super().__init__("gpufleet:index:NodeMonitoringAgent", name, {}, opts)
        arguments: dict[str, Any] = {
            "clusterName": given["clusterName"],
            "addonName": ADDON_NAME,
            "resolveConflictsOnCreate": "OVERWRITE",
            "resolveConflictsOnUpdate": "OVERWRITE",
            "tags": given.get("tags", {}),
        }
        if "version" in given:
            arguments["addonVersion"] = given["version"]
        if given.get("values"):
            arguments["configurationValues"] = json.dumps(given["values"], sort_keys=True)
        made = AwsObject(ADDON, f"{name}-addon", arguments, pulumi.ResourceOptions(parent=self))
        self.addon_name = made.output("addonName")
        self.register_outputs({"addonName": self.addon_name})
