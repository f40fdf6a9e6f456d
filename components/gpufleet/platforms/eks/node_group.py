"""EksGpuNodeGroup: a managed node group of GPU machines, with its launch template."""

import base64
from collections.abc import Mapping
from typing import Any, cast

import pulumi

from gpufleet.arguments import GpuPoolArgs
from gpufleet.components_base.configurations import checked_labels
from gpufleet.components_base.inputs import compiled_already, declared, refuse
from gpufleet.components_base.known_output import known_output
from gpufleet.findings import has_errors
from gpufleet.fleet import Pool
from gpufleet.platforms.eks.autoscaler_tags import autoscaler_tags
from gpufleet.platforms.eks.aws_objects import (
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCALING_GROUP_TAG,
    AwsObject,
)
from gpufleet.platforms.eks.connection import (
    DEFAULT_PREFIX,
    EksPoolArgs,
    cluster_access,
    compiled_pool,
    judge_provisioner,
)
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.network import made_efa_security_group, made_placement_group
from gpufleet.platforms.eks.node_group_arguments import (
    CREATION_ONLY,
    MANAGED,
    chosen_zones,
    group_labels,
    node_group,
    scaled,
)
from gpufleet.platforms.eks.node_group_sizes import imported_size, present_size
from gpufleet.platforms.eks.pool_validation import judge_pool
from gpufleet.platforms.eks.shape import EksShape, eks_shape
from gpufleet.platforms.eks.user_data import user_data
from gpufleet.spec.pool import Provisioner

GROUPS = (Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER)
"""Provisioners that scale a managed node group."""


class EksGpuNodeGroup(pulumi.ComponentResource):
    """A managed node group of GPU machines on EKS: launch template, node group, and what the pool
    needs beside them: EFA security group, placement group, tags of the Auto Scaling group.

    The desired size is set once and then left to whoever scales. A group with `importId` is taken
    over as it is.
    """

    node_group_name: pulumi.Output[str]
    """Name of the node group, unique in its cluster."""
    scaling_group_name: pulumi.Output[str]
    """Name of its Auto Scaling group."""
    launch_template_id: pulumi.Output[str | None]
    """Id of the launch template. Absent for an imported group."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its operands have run."""

    def __init__(
        self,
        name: str,
        args: EksPoolArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Pool | None = None,
        cluster: str | None = None,
    ) -> None:
        """Make the node group.

        Args:
            name: Name of the component, unique in its stack.
            args: Declaration and connection.
            opts: Options; `providers` must hold the AWS provider of the cluster's account.
            compiled: What the declaration means within its fleet, when the caller has compiled
                the whole fleet: labels depend on the other pools. Default: the pool on its own.
            cluster: Name of the cluster as text, to look up the group's present size, where
                `cluster_name` is an output. Default: `cluster_name`, where that is text.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'EksGpuNodeGroup "{name}"'
        given = declared(
            component,
            EksPoolArgs,
            cast("dict[str, Any]", args),
            unread=compiled_already(compiled),
        )
        pool = compiled or compiled_pool(component, given)
        judge_provisioner(component, pool, GROUPS)
        shape = eks_shape(pool)
        zones, _ = chosen_zones(pool, shape, given["subnetIdsByZone"])
        prefix, tags = given.get("namePrefix", DEFAULT_PREFIX), given.get("tags", {})
        template = launch_template(pool, shape, prefix, tags)
        group = node_group(pool, shape, prefix, tags, given.get("kubernetesVersion", "1.36"))
        findings = judge_pool(pool, given)
        if has_errors(findings):
            refuse(component, findings)
        labels = checked_labels(component, pool.name, group["labels"], given.get("configurations"))
        super().__init__("gpufleet:index:EksGpuNodeGroup", name, {}, opts)
        self._spec: GpuPoolArgs = args["pool"]
        self._name, self._prefix, self._tags = name, prefix, tags
        wired = {
            **group,
            "labels": labels,
            "clusterName": given["clusterName"],
            "nodeRoleArn": given["nodeRoleArn"],
            "subnetIds": [given["subnetIdsByZone"][zone] for zone in zones],
        }
        imported = pool.spec.import_id
        made = None if imported else self._template(template, pool, shape, given)
        if made is not None:
            version = made.output("latestVersion").apply(lambda number: str(int(number)))
            wired["launchTemplate"] = {"id": made.id, "version": version}
        holder = None if opts is None else opts.parent
        nodes = self._group(wired, pool, holder, cluster or given["clusterName"])
        scaling_group = nodes.output("resources").apply(_scaling_group)
        if imported is None or shape.options.imported == "manage":
            self._tag(scaling_group, autoscaler_tags(pool) or {})
        self.node_group_name = nodes.output("nodeGroupName")
        self.scaling_group_name = scaling_group
        self.launch_template_id = known_output(None) if made is None else made.id
        advertised = dict(pool.advertised)
        self.advertised = known_output(advertised)
        self.register_outputs(
            {
                "nodeGroupName": self.node_group_name,
                "scalingGroupName": self.scaling_group_name,
                "launchTemplateId": self.launch_template_id,
                "advertised": advertised,
            }
        )

    @property
    def spec(self) -> GpuPoolArgs:
        """The pool's declaration, to hand on to other components: `GpuAddons` takes a list."""
        return self._spec

    def _template(
        self,
        arguments: dict[str, Any],
        pool: Pool,
        shape: EksShape,
        given: Mapping[str, Any],
    ) -> AwsObject:
        extra = list(given.get("securityGroupIds", ()))
        wired = dict(arguments)
        if "networkInterfaces" in wired:
            groups = [given["clusterSecurityGroupId"], *extra]
            if shape.efa:
                groups.append(
                    made_efa_security_group(
                        self, self._name, pool, self._prefix, self._tags, given["vpcId"]
                    )
                )
            wired["networkInterfaces"] = [
                {"securityGroups": groups, **interface} for interface in wired["networkInterfaces"]
            ]
        elif extra and "vpcSecurityGroupIds" not in wired:
            # With groups of its own EKS leaves the cluster's out.
            wired["vpcSecurityGroupIds"] = [given["clusterSecurityGroupId"], *extra]
        if shape.placement_group and "placement" not in wired:
            wired["placement"] = {
                "groupName": made_placement_group(self, self._name, pool, self._prefix, self._tags)
            }
        text = self._user_data(pool, shape, given)
        if text is not None:
            wired["userData"] = text
        return AwsObject(
            LAUNCH_TEMPLATE,
            f"{self._name}-template",
            wired,
            pulumi.ResourceOptions(parent=self),
            outputs=("latestVersion",),
        )

    def _user_data(self, pool: Pool, shape: EksShape, given: Mapping[str, Any]) -> Any:
        labels = group_labels(pool)
        if not shape.custom:
            text = user_data(pool, shape, labels, None)
            return None if text is None else _base64(text)
        return cluster_access(given).apply(
            lambda access: _base64(user_data(pool, shape, labels, access) or "")
        )

    def _group(
        self,
        wired: dict[str, Any],
        pool: Pool,
        holder: pulumi.Resource | None,
        cluster: pulumi.Input[str],
    ) -> AwsObject:
        imported = pool.spec.import_id
        if imported is None:
            size = present_size(self, holder, cluster, wired["nodeGroupNamePrefix"], pool.name)
            wired["scalingConfig"], kept = scaled(wired["scalingConfig"], size)
        elif eks_shape(pool).options.imported == "adopt":
            wired, kept = _named(wired, imported), MANAGED
        else:
            wired = _named(wired, imported)
            size = imported_size(self, cluster, wired["nodeGroupName"], pool.name)
            wired["scalingConfig"], kept = scaled(wired["scalingConfig"], size)
        ignored = [*kept, *(CREATION_ONLY if imported is not None else ())]
        return AwsObject(
            NODE_GROUP,
            f"{self._name}-group",
            wired,
            pulumi.ResourceOptions(parent=self, ignore_changes=ignored, import_=imported),
            outputs=("nodeGroupName", "resources"),
        )

    def _tag(self, scaling_group: pulumi.Output[str], tags: Mapping[str, str]) -> None:
        for key, value in tags.items():
            AwsObject(
                SCALING_GROUP_TAG,
                f"{self._name}-tag-{_short(key)}",
                {
                    "autoscalingGroupName": scaling_group,
                    "tag": {"key": key, "value": value, "propagateAtLaunch": False},
                },
                pulumi.ResourceOptions(parent=self),
            )


def _named(arguments: dict[str, Any], imported: str) -> dict[str, Any]:
    """The arguments with the name of the group that is taken over."""
    kept = {key: value for key, value in arguments.items() if key != "nodeGroupNamePrefix"}
    return {**kept, "nodeGroupName": imported.rsplit(":", 1)[-1]}


def _short(key: str) -> str:
    """The tag's last words, for the resource's name: keys differ there."""
    return key.removeprefix("k8s.io/cluster-autoscaler/").replace("/", "-")


def _scaling_group(resources: Any) -> str:
    """Name of the one Auto Scaling group; the SDK gives keys in either spelling."""
    first = resources[0]
    groups = first.get("autoscalingGroups") or first["autoscaling_groups"]
    return str(groups[0]["name"])


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
