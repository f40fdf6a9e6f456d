"""Findings about raw arguments of a node group and its launch template.

Raw arguments are merged last. They may set arguments that gpufleet does not set. They must not
change arguments from which the fleet's counts are computed.
"""

from collections.abc import Iterable

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.shape import EksShape

WIRED = ("clusterName", "nodeRoleArn", "subnetIds", "launchTemplate", "nodeGroupName", "userData")
"""Raw arguments that are refused: components wire them, or identity hangs on them."""

OF_GROUP = {
    "amiType": "image",
    "capacityType": "capacity",
    "instanceTypes": "instanceTypes",
    "labels": "labels",
    "releaseVersion": "eks.releaseVersion",
    "scalingConfig": "nodes",
    "tags": "tags",
    "taints": "taints",
    "version": "cluster.kubernetesVersion",
}
"""Raw arguments of the node group that are refused -> the setting that decides them."""
OF_TEMPLATE = {
    "imageId": "eks.amiId",
    "instanceMarketOptions": "capacity",
    "instanceType": "instanceTypes",
    "tagSpecifications": "tags",
    "tags": "tags",
}
"""The same of the launch template."""


def validate_raw(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Raw arguments of one pool."""
    options = shape.options
    paths = f"{pool.path}.eks.nodeGroup", f"{pool.path}.eks.launchTemplate"
    raw = (options.node_group, options.launch_template)
    for arguments, path in zip(raw, paths, strict=True):
        for key in WIRED:
            if key in arguments:
                yield error(
                    "raw-argument-wired",
                    f"{path}.{key}",
                    f"{key} follows from the connection and the declaration",
                    "remove it here and give it in `connection`",
                    found=key,
                )
    for arguments, path, decided in zip(raw, paths, (OF_GROUP, OF_TEMPLATE), strict=True):
        for key in arguments:
            if key in decided:
                yield error(
                    "raw-argument-decided",
                    f"{path}.{key}",
                    f"{key} follows from `{decided[key]}`, which spend, quotas and pods rely on",
                    f"remove it, and write `{decided[key]}`",
                    found=key,
                )
