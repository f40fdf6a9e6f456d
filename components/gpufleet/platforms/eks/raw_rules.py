"""Raw arguments that are refused, of node groups, launch templates and Karpenter's objects."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet.findings import Finding
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.spec.karpenter import KarpenterPoolOptions

_OF_GROUP = ("clusterName", "nodeRoleArn", "subnetIds", "launchTemplate", "nodeGroupName")
_OF_CLASS = ("role", "instanceProfile", "subnetSelectorTerms", "securityGroupSelectorTerms")
WIRED: Mapping[str, tuple[str, ...]] = {
    "eks.nodeGroup": (*_OF_GROUP, "userData"),
    "eks.launchTemplate": (*_OF_GROUP, "userData"),
    "karpenter.nodePool": (),
    "karpenter.nodeClass": _OF_CLASS,
}
"""Option -> arguments that follow from the connection, or that identity hangs on."""
DECIDED: Mapping[str, Mapping[str, str]] = {
    "eks.nodeGroup": {
        "amiType": "image",
        "capacityType": "capacity",
        "instanceTypes": "instanceTypes",
        "labels": "labels",
        "releaseVersion": "eks.releaseVersion",
        "scalingConfig": "nodes",
        "tags": "tags",
        "taints": "taints",
        "version": "cluster.kubernetesVersion",
    },
    "eks.launchTemplate": {
        "imageId": "eks.amiId",
        "instanceMarketOptions": "capacity",
        "instanceType": "instanceTypes",
        "tagSpecifications": "tags",
        "tags": "tags",
    },
    "karpenter.nodePool": {
        "template.metadata.labels": "labels",
        "template.spec.nodeClassRef": "provisioner",
        "template.spec.requirements": "karpenter.requirements",
        "template.spec.taints": "taints",
        "template.spec.startupTaints": "karpenter.startupTaints",
        "template.spec.expireAfter": "karpenter.expireAfter",
        "template.spec.terminationGracePeriod": "karpenter.terminationGracePeriod",
        "disruption": "karpenter.disruption",
        "limits": "nodes.max",
        "replicas": "karpenter.static",
        "weight": "karpenter.weight",
    },
    "karpenter.nodeClass": {
        "amiFamily": "image",
        "amiSelectorTerms": "eks.releaseVersion",
        "capacityReservationSelectorTerms": "capacity",
        "instanceStorePolicy": "eks.localStorage",
        "networkInterfaces": "fabric",
        "placementGroupSelector": "karpenter.placementGroup",
        "tags": "tags",
        "userData": "kubelet",
    },
}
"""Option -> its arguments that a setting decides -> the setting."""


def validate_raw(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Raw arguments of a node group and its launch template."""
    options = shape.options
    yield from _refused(pool, "eks.nodeGroup", options.node_group)
    yield from _refused(pool, "eks.launchTemplate", options.launch_template)


def validate_raw_fields(pool: Pool, options: KarpenterPoolOptions) -> Iterable[Finding]:
    """Raw fields of Karpenter's objects. Their schemas are asked about the rest."""
    yield from _refused(pool, "karpenter.nodePool", options.node_pool)
    yield from _refused(pool, "karpenter.nodeClass", options.node_class)


def _refused(pool: Pool, option: str, raw: Mapping[str, Any]) -> Iterable[Finding]:
    place = f"{pool.path}.{option}"
    return validate_raw_arguments(raw, place, WIRED[option], DECIDED[option])
