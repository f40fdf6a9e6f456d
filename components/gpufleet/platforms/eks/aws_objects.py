"""Resources of the AWS provider, by type, from rendered arguments (`cloud_object`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
from pulumi_aws import _utilities as aws_sdk

from gpufleet.components_base.cloud_object import CloudObject, CloudParts

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
SCHEDULE = "aws:autoscaling/schedule:Schedule"
"""Types whose arguments are rendered; those of the others are in `resources.yaml`."""
_RESOURCES = Path(__file__).with_name("resources")


class AwsObject(CloudObject):
    """One resource of the AWS provider."""

    def defaults(self) -> pulumi.ResourceOptions:
        """As `CloudObject`."""
        return aws_sdk.get_resource_opts_defaults()


def aws_parts(parent: pulumi.Resource, name: str, **known: Any) -> CloudParts[AwsObject]:
    """Creates resources of `resources.yaml` below a component."""
    return CloudParts(AwsObject, _RESOURCES, parent, name, known)


def look_up(component: pulumi.Resource, function: str, arguments: Mapping[str, Any]) -> Any:
    """The result of a function of the component's AWS provider.

    Waits for it. Raises Exception with the provider's message when it refuses.
    """
    options = pulumi.InvokeOptions.merge(
        aws_sdk.get_invoke_opts_defaults(), pulumi.InvokeOptions(parent=component)
    )
    return pulumi.runtime.invoke(function, dict(arguments), options).value
