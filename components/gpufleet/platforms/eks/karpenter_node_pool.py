"""KarpenterGpuNodePool: GPU machines that Karpenter makes when pods ask for them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pulumi

from gpufleet.arguments import GpuPoolArgs
from gpufleet.components_base.configurations import checked_labels
from gpufleet.components_base.inputs import compiled_already, declared, refuse
from gpufleet.components_base.known_output import known_output
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.findings import has_errors
from gpufleet.fleet import Pool
from gpufleet.fleet.model import NodeTaint
from gpufleet.platforms.eks.connection import (
    DEFAULT_PREFIX,
    EksPoolArgs,
    cluster_access,
    compiled_pool,
    judge_provisioner,
)
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_node_pool_manifest import karpenter_name, node_pool
from gpufleet.platforms.eks.karpenter_overlay import node_overlay
from gpufleet.platforms.eks.network import made_efa_security_group, made_placement_group
from gpufleet.platforms.eks.node_group_arguments import chosen_zones
from gpufleet.platforms.eks.pool_validation import judge_pool
from gpufleet.platforms.eks.shape import EksShape, eks_shape
from gpufleet.platforms.eks.user_data import image_family, user_data
from gpufleet.spec.pool import Provisioner

UNREGISTERED = NodeTaint("karpenter.sh/unregistered", "true", "NoExecute")
"""Taint that a node must be born with, so that Karpenter sees it register."""


class KarpenterGpuNodePool(pulumi.ComponentResource):
    """GPU machines that Karpenter makes when pods ask for them: EC2NodeClass, NodePool, and a
    NodeOverlay where nodes advertise something else than the GPUs EC2 counts.

    Always limited to the pool's largest size. Karpenter must be in the cluster, with its feature
    gate NodeOverlay for pools that share, cut or have parts of GPUs.
    """

    node_pool_name: pulumi.Output[str]
    """Name of the NodePool, of the EC2NodeClass and of the NodeOverlay."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its operands have run."""

    def __init__(
        self,
        name: str,
        args: EksPoolArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Pool | None = None,
    ) -> None:
        """Make the objects.

        Args:
            name: Name of the component, unique in its stack.
            args: Declaration and connection.
            opts: Options; `providers` must hold the cluster's Kubernetes provider and, for pools
                with EFA or a placement group, the AWS provider of its account.
            compiled: What the declaration means within its fleet, when the caller has compiled
                the whole fleet: labels depend on the other pools. Default: the pool on its own.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'KarpenterGpuNodePool "{name}"'
        given = declared(
            component,
            EksPoolArgs,
            cast("dict[str, Any]", args),
            unread=compiled_already(compiled),
        )
        pool = compiled or compiled_pool(component, given, provisioner="karpenter")
        judge_provisioner(component, pool, (Provisioner.KARPENTER,))
        shape = eks_shape(pool)
        zones, _ = chosen_zones(pool, shape, given["subnetIdsByZone"])
        findings = judge_pool(pool, given)
        if has_errors(findings):
            refuse(component, findings)
        rendered = node_pool(pool, shape)
        metadata = rendered["spec"]["template"]["metadata"]
        metadata["labels"] = checked_labels(
            component, pool.name, metadata["labels"], given.get("configurations")
        )
        super().__init__("gpufleet:index:KarpenterGpuNodePool", name, {}, opts)
        self._spec: GpuPoolArgs = args["pool"]
        self._name = name
        self._prefix = given.get("namePrefix", DEFAULT_PREFIX)
        self._tags: dict[str, str] = given.get("tags", {})
        before = [self._node_class(pool, shape, zones, given)]
        overlay = node_overlay(pool)
        if overlay is not None:
            before.append(self._object("overlay", overlay))
        self._object("pool", rendered, before)
        called, advertised = karpenter_name(pool), dict(pool.advertised)
        self.node_pool_name = known_output(called)
        self.advertised = known_output(advertised)
        self.register_outputs({"nodePoolName": called, "advertised": advertised})

    @property
    def spec(self) -> GpuPoolArgs:
        """The pool's declaration, to hand on to other components: `GpuAddons` takes a list."""
        return self._spec

    def _node_class(
        self, pool: Pool, shape: EksShape, zones: tuple[str, ...], given: Mapping[str, Any]
    ) -> pulumi.Resource:
        document = node_class(pool, shape, self._prefix, self._tags, karpenter_name(pool))
        groups = [given["clusterSecurityGroupId"], *given.get("securityGroupIds", ())]
        if shape.efa:
            groups.append(
                made_efa_security_group(
                    self, self._name, pool, self._prefix, self._tags, given["vpcId"]
                )
            )
        role = pulumi.Output.from_input(given["nodeRoleArn"]).apply(_role_name)
        wired = {
            **document["spec"],
            "role": role,
            "subnetSelectorTerms": [{"id": given["subnetIdsByZone"][zone]} for zone in zones],
            "securityGroupSelectorTerms": [{"id": group} for group in groups],
        }
        if shape.placement_group:
            wired["placementGroupSelector"] = {
                "name": made_placement_group(self, self._name, pool, self._prefix, self._tags)
            }
        if image_family(pool) == "ubuntu":
            wired["userData"] = self._user_data(pool, shape, given)
        return self._object("class", {**document, "spec": wired})

    def _user_data(self, pool: Pool, shape: EksShape, given: Mapping[str, Any]) -> Any:
        """Karpenter adds nothing to that of an image family it does not know."""
        tainted = replace(pool, taints=(*pool.taints, UNREGISTERED))
        return cluster_access(given).apply(
            lambda access: user_data(tainted, shape, pool.labels, access)
        )

    def _object(
        self, suffix: str, document: Mapping[str, Any], before: list[pulumi.Resource] | None = None
    ) -> pulumi.Resource:
        return ManifestObject(
            f"{self._name}-{suffix}",
            document,
            pulumi.ResourceOptions(parent=self, depends_on=before or []),
        )


def _role_name(arn: str) -> str:
    """Name of a role, without its path."""
    return arn.rsplit("/", 1)[-1]
