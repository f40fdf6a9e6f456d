"""Inputs of the resources that create nodes on EKS; the effect of a difference in one is in
`input_classes.jsonl`.

Node groups: hashicorp/terraform-provider-aws 012e0a3 `internal/service/eks/node_group.go`: another
`launch_template`, `release_version` or `version` is UpdateNodegroupVersion, which replaces nodes by
the update settings; labels, taints, sizes, update and repair settings are UpdateNodegroupConfig.
Launch templates: `ec2_launch_template.go`, `resourceLaunchTemplateUpdate`: a difference in one of
`updateKeys` makes another version, anything else does not.
Karpenter: kubernetes-sigs/karpenter 013941a `pkg/apis/v1/nodepool.go`: the hash covers
`spec.template`, lists as sets, without `requirements`, with which the labels of each node are
compared instead. aws/karpenter-provider-aws 01209b3 `pkg/apis/v1/ec2nodeclass.go`: the whole spec
counts, selector terms by their result.
"""

from collections.abc import Mapping
from typing import Any, cast

from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.eks.autoscaler_tags import autoscaler_tags, short_tag
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import (
    capacity_buffer,
    karpenter_name,
    node_overlay,
    node_pool,
)
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import (
    CREATION_ONLY,
    MANAGED,
    group_labels,
    node_group,
)
from gpufleet.platforms.eks.shape import EksShape, eks_shape
from gpufleet.platforms.eks.user_data import ClusterEndpoint, user_data, without_cluster

_SOMEWHERE = ClusterEndpoint("cluster", "https://cluster", "Y2E=", "172.20.0.0/16")
"""Placeholder for the cluster in user data, which no declaration changes."""


def registered(fleet: Fleet, pool: Pool) -> dict[str, Mapping[str, Any]]:
    """Name of each resource -> its inputs. Zones represent their subnets."""
    prefix = fleet.spec.resource_prefix
    karpenter = pool.provisioner.by_node_pool
    found = (_karpenter if karpenter else _managed)(fleet, pool, prefix)
    return {name: {**inputs, "region": fleet.spec.cluster.region} for name, inputs in found.items()}


def requirement_class(old: object, new: object) -> LeafClass:
    """Effect of a difference in one requirement of a NodePool: a node drifts when its labels are no
    longer allowed, not when more labels are."""
    if isinstance(old, list) and (new is None or set(cast("list[str]", old)) <= set(_list(new))):
        return LeafClass.NEW_NODES
    return LeafClass.ROLLING


def _list(value: object) -> list[str]:
    return cast("list[str]", value) if isinstance(value, list) else []


def _managed(fleet: Fleet, pool: Pool, prefix: str) -> dict[str, Mapping[str, Any]]:
    shape, tags = eks_shape(pool), fleet.spec.tags
    group = node_group(pool, shape, prefix, tags, fleet.spec.cluster.kubernetes_version)
    group["clusterName"] = fleet.spec.cluster.name
    group["subnetIds"] = sorted(shape.zones)
    group["taints"] = sorted(group["taints"], key=str)
    group["scalingConfig"] = {
        key: value for key, value in group["scalingConfig"].items() if key != "desiredSize"
    }
    scaling = {
        f"tag/{short_tag(key)}": {"tag": {"key": key, "value": value}}
        for key, value in (autoscaler_tags(pool) or {}).items()
    }
    imported = pool.spec.import_id
    if imported is not None:
        kept = {*CREATION_ONLY, *(() if shape.options.imported == "manage" else MANAGED)}
        named = {key: value for key, value in group.items() if key not in kept}
        named["nodeGroupName"] = imported.rsplit(":", 1)[-1]
        return {"nodeGroup": named, **(scaling if shape.options.imported == "manage" else {})}
    template = launch_template(pool, shape, prefix, tags)
    text = user_data(pool, shape, group_labels(pool), _SOMEWHERE if shape.custom else None)
    if text is not None:
        template["userData"] = without_cluster(text)
    return {
        "nodeGroup": group,
        "launchTemplate": template,
        **_placement(template, shape, prefix, pool),
        **scaling,
    }


def _placement(
    template: dict[str, Any], shape: EksShape, prefix: str, pool: Pool
) -> dict[str, Mapping[str, Any]]:
    if not shape.placement_group or "placement" in template:
        return {}
    name = f"{prefix}-{pool.name}"
    template["placement"] = {"groupName": name}
    return {"placementGroup": {"name": name, "strategy": "cluster"}}


def _karpenter(fleet: Fleet, pool: Pool, prefix: str) -> dict[str, Mapping[str, Any]]:
    shape = eks_shape(pool)
    made = node_pool(pool, shape)
    template = made["spec"]["template"]["spec"]
    wanted = {
        f"{one['key']} {one['operator']}": sorted(one.get("values", ()))
        for one in template.pop("requirements")
    }
    for key in ("taints", "startupTaints"):
        if key in template:
            template[key] = sorted(template[key], key=str)
    made_class = node_class(pool, shape, prefix, fleet.spec.tags, karpenter_name(pool))
    found: dict[str, Mapping[str, Any]] = {
        "nodePool": {**made, "requirements": wanted},
        "nodeClass": {**made_class, "clusterName": fleet.spec.cluster.name},
    }
    if shape.placement_group:
        name = f"{prefix}-{pool.name}"
        made_class["spec"]["placementGroupSelector"] = {"name": name}
        found["placementGroup"] = {"name": name, "strategy": "cluster"}
    if buffer := capacity_buffer(pool):
        found["capacityBuffer"] = {"pod": buffer[0]["template"]["spec"], **buffer[1]["spec"]}
    overlay = node_overlay(pool)
    return found if overlay is None else {**found, "nodeOverlay": overlay}
