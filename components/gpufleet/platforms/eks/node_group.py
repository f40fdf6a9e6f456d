"""EksGpuNodeGroup: a managed node group of GPU machines, with its launch template."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from gpufleet.arguments.wired_components import EksPoolArgs
from gpufleet.components_base.component import GpuPoolComponent, Options, accepted
from gpufleet.components_base.configurations import checked_labels
from gpufleet.platforms.eks.autoscaler_tags import autoscaler_tags, short_tag
from gpufleet.platforms.eks.aws_objects import (
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCHEDULE,
    AwsObject,
    aws_parts,
)
from gpufleet.platforms.eks.connection import (
    cluster_access,
    declared_eks_pool,
    validate_provisioner,
)
from gpufleet.platforms.eks.network import machine_security_groups, made_placement_group
from gpufleet.platforms.eks.node_group_arguments import (
    CREATION_ONLY,
    MANAGED,
    group_labels,
    scaled,
)
from gpufleet.platforms.eks.node_group_sizes import ClusterGroups
from gpufleet.platforms.eks.pool_plans import NodeGroupPlan, node_group_plan
from gpufleet.platforms.eks.scheduled_actions import scheduled_actions
from gpufleet.platforms.eks.user_data import user_data
from gpufleet.spec.pool import Provisioner

GROUPS = (Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER)
"""Provisioners that scale a managed node group."""


class EksGpuNodeGroup(GpuPoolComponent[NodeGroupPlan]):
    """A managed node group of GPU machines on EKS: launch template, node group, and the pool's
    other resources: EFA security group, placement group, tags of the Auto Scaling group, and
    scheduled actions if it is bought as a Capacity Block.

    The desired size is set once and then left to the autoscaler. A group with `importId` is
    imported unchanged.
    """

    node_group_name: pulumi.Output[str]
    """Name of the node group, unique in its cluster."""
    scaling_group_name: pulumi.Output[str]
    """Name of its Auto Scaling group."""
    launch_template_id: pulumi.Output[str | None]
    """Id of the launch template. Absent for an imported group."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its operands have run."""

    def __init__(self, name: str, args: EksPoolArgs, opts: Options = None) -> None:
        """`providers` must contain the AWS provider of the cluster's account."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: NodeGroupPlan) -> Mapping[str, object]:
        pool, connection = plan.pool, plan.connection
        labels = checked_labels(
            self.label(name), pool.name, plan.group["labels"], connection.configurations
        )
        wired: dict[str, Any] = {
            **plan.group,
            "labels": labels,
            "clusterName": connection.cluster_name,
            "nodeRoleArn": connection.node_role_arn,
            "subnetIds": list(plan.subnet_ids),
        }
        imported = pool.spec.import_id
        template = None if imported else self._template(name, plan)
        if template is not None:
            version = template.derived("latestVersion", lambda number: str(int(number)))
            wired["launchTemplate"] = {"id": template.id, "version": version}
        nodes = self._group(name, plan, wired)
        scaling_group = nodes.derived("resources", _scaling_group)
        if imported is None or plan.shape.options.imported == "manage":
            made = aws_parts(self, name, group=scaling_group)
            for key, value in (autoscaler_tags(pool) or {}).items():
                made("groupTag", short=short_tag(key), key=key, value=value)
        for action, size in scheduled_actions(pool).items():
            called = action.removeprefix(f"gpufleet-{pool.name}-")
            wanted = {"autoscalingGroupName": scaling_group, "scheduledActionName": action, **size}
            aws_parts(self, name).made(SCHEDULE, called, wanted)
        return {
            "node_group_name": nodes.output("nodeGroupName"),
            "scaling_group_name": scaling_group,
            "launch_template_id": None if template is None else template.id,
            "advertised": dict(pool.advertised),
        }

    def _template(self, name: str, plan: NodeGroupPlan) -> AwsObject:
        wired = dict(plan.template)
        if "networkInterfaces" in wired:
            groups = machine_security_groups(self, name, plan)
            wired["networkInterfaces"] = [
                {"securityGroups": groups, **interface} for interface in wired["networkInterfaces"]
            ]
        elif plan.connection.security_group_ids and "vpcSecurityGroupIds" not in wired:
            # With other groups EKS does not add the cluster's.
            wired["vpcSecurityGroupIds"] = machine_security_groups(self, name, plan)
        if plan.shape.placement_group and "placement" not in wired:
            wired["placement"] = {"groupName": made_placement_group(self, name, plan)}
        text = _user_data(plan)
        if text is not None:
            wired["userData"] = text
        made = aws_parts(self, name)
        return made.made(LAUNCH_TEMPLATE, "template", wired, outputs=("latestVersion",))

    def _group(self, name: str, plan: NodeGroupPlan, wired: dict[str, Any]) -> AwsObject:
        pool, imported = plan.pool, plan.pool.spec.import_id
        if imported is None:
            size = plan.groups.present_size(self, wired["nodeGroupNamePrefix"], pool.name)
            wired["scalingConfig"], kept = scaled(wired["scalingConfig"], size)
        elif plan.shape.options.imported == "adopt":
            wired, kept = _named(wired, imported), MANAGED
        else:
            wired = _named(wired, imported)
            size = plan.groups.imported_size(self, wired["nodeGroupName"], pool.name)
            wired["scalingConfig"], kept = scaled(wired["scalingConfig"], size)
        ignored = [*kept, *(CREATION_ONLY if imported is not None else ())]
        return AwsObject(
            NODE_GROUP,
            f"{name}-group",
            wired,
            pulumi.ResourceOptions(parent=self, ignore_changes=ignored, import_=imported),
            outputs=("nodeGroupName", "resources"),
        )


def _planned(component: str, args: EksPoolArgs) -> NodeGroupPlan:
    pool, connection, found = declared_eks_pool(component, args)
    validate_provisioner(component, pool, GROUPS)
    cluster = connection.cluster_name
    groups = ClusterGroups(cluster if isinstance(cluster, str) else None)
    plan, findings = node_group_plan(pool, connection, groups)
    return replace(plan, warnings=accepted(component, [*found, *findings]))


def _user_data(plan: NodeGroupPlan) -> pulumi.Input[str] | None:
    pool, shape, labels = plan.pool, plan.shape, group_labels(plan.pool)
    if not shape.custom:
        text = user_data(pool, shape, labels, None)
        return None if text is None else _base64(text)
    return cluster_access(plan.connection).apply(
        lambda access: _base64(user_data(pool, shape, labels, access) or "")
    )


def _named(arguments: dict[str, Any], imported: str) -> dict[str, Any]:
    """The arguments with the name of the imported group."""
    kept = {key: value for key, value in arguments.items() if key != "nodeGroupNamePrefix"}
    return {**kept, "nodeGroupName": imported.rsplit(":", 1)[-1]}


def _scaling_group(resources: Any) -> str:
    """Name of the single Auto Scaling group; the SDK returns keys in either spelling."""
    first = resources[0]
    groups = first.get("autoscalingGroups") or first["autoscaling_groups"]
    return str(groups[0]["name"])


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
