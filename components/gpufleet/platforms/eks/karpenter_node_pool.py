"""KarpenterGpuNodePool: GPU machines that Karpenter creates when pods request them."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pulumi

from gpufleet.arguments.wired_components import EksPoolArgs
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import GpuPoolComponent, Options, accepted
from gpufleet.components_base.configurations import checked_labels
from gpufleet.fleet.model import NodeTaint
from gpufleet.platforms.eks.connection import (
    cluster_access,
    declared_eks_pool,
    known_role,
    validate_provisioner,
)
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import capacity_buffer, karpenter_name, node_overlay
from gpufleet.platforms.eks.network import machine_security_groups, made_placement_group
from gpufleet.platforms.eks.pool_plans import KarpenterPoolPlan, karpenter_pool_plan
from gpufleet.platforms.eks.user_data import image_family, user_data
from gpufleet.spec.pool import Provisioner

UNREGISTERED = NodeTaint("karpenter.sh/unregistered", "true", "NoExecute")
"""Taint with which a node must register, so that Karpenter detects it."""


class KarpenterGpuNodePool(GpuPoolComponent[KarpenterPoolPlan]):
    """GPU machines that Karpenter creates when pods request them: EC2NodeClass, NodePool, and a
    NodeOverlay if nodes advertise other resources than the GPUs in EC2's API.

    Always limited to the pool's largest size. Needs Karpenter, with its feature gate NodeOverlay
    for pools that share or partition GPUs or have parts of GPUs. With `provisioner: autoMode` it
    needs EKS Auto Mode, and creates a NodeClass instead of the EC2NodeClass.
    """

    node_pool_name: pulumi.Output[str]
    """Name of the NodePool, of its node class and of the NodeOverlay."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its operands have run."""

    def __init__(self, name: str, args: EksPoolArgs, opts: Options = None) -> None:
        """`providers` must also contain the AWS provider of the account for pools with EFA or a
        placement group."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: KarpenterPoolPlan) -> Mapping[str, object]:
        pool = plan.pool
        before = [self._object(f"{name}-class", self._node_class(name, plan))]
        overlay = node_overlay(pool)
        if overlay is not None:
            before.append(self._object(f"{name}-overlay", overlay))
        rendered = deepcopy(dict(plan.node_pool))
        metadata = rendered["spec"]["template"]["metadata"]
        metadata["labels"] = checked_labels(
            self.label(name), pool.name, metadata["labels"], plan.connection.configurations
        )
        made = self._object(f"{name}-pool", rendered, before)
        for document in capacity_buffer(pool):
            made = self._object(f"{name}-{document['kind'].lower()}", document, [made])
        return {"node_pool_name": karpenter_name(pool), "advertised": dict(pool.advertised)}

    def _node_class(self, name: str, plan: KarpenterPoolPlan) -> dict[str, Any]:
        pool, shape, connection = plan.pool, plan.shape, plan.connection
        document = node_class(
            pool, shape, connection.name_prefix, connection.tags, karpenter_name(pool)
        )
        groups = machine_security_groups(self, name, plan)
        role = known_role(self.label(name), connection.node_role_arn)
        wired: dict[str, Any] = {
            **document["spec"],
            "role": role.apply(lambda arn: arn.rsplit("/", 1)[-1]),  # its name without a path
            "subnetSelectorTerms": [{"id": subnet} for subnet in plan.subnet_ids],
            "securityGroupSelectorTerms": [{"id": group} for group in groups],
        }
        if shape.placement_group:
            wired["placementGroupSelector"] = {"name": made_placement_group(self, name, plan)}
        if image_family(pool) == "ubuntu":
            wired["userData"] = _user_data(plan)
        return {**document, "spec": wired}

    def _object(
        self, name: str, document: Mapping[str, Any], before: list[pulumi.Resource] | None = None
    ) -> pulumi.Resource:
        return ManifestObject(
            name, document, pulumi.ResourceOptions(parent=self, depends_on=before or [])
        )


def _planned(component: str, args: EksPoolArgs) -> KarpenterPoolPlan:
    pool, connection, found = declared_eks_pool(component, args, provisioner="karpenter")
    validate_provisioner(component, pool, (Provisioner.KARPENTER, Provisioner.AUTO_MODE))
    plan, findings = karpenter_pool_plan(pool, connection)
    return replace(plan, warnings=accepted(component, [*found, *findings]))


def _user_data(plan: KarpenterPoolPlan) -> pulumi.Output[str | None]:
    """Karpenter adds nothing to the user data of an image family that it does not know."""
    pool = plan.pool
    tainted = replace(pool, taints=(*pool.taints, UNREGISTERED))
    return cluster_access(plan.connection).apply(
        lambda access: user_data(tainted, plan.shape, pool.labels, access)
    )
