"""Resources of the Google provider, by type, from rendered arguments (`cloud_object`)."""

from pathlib import Path
from typing import Any

import pulumi
from pulumi_gcp import _utilities as gcp_sdk

from gpufleet.components_base.cloud_object import CloudObject, CloudParts

ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
CLUSTER = "gcp:container/cluster:Cluster"
RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"


_RESOURCES = Path(__file__).with_name("resources")


class GcpObject(CloudObject):
    """One resource of the Google provider."""

    def defaults(self) -> pulumi.ResourceOptions:
        """As `CloudObject`."""
        return gcp_sdk.get_resource_opts_defaults()


def gcp_parts(parent: pulumi.Resource, name: str, **known: Any) -> CloudParts[GcpObject]:
    """Creates resources of `resources.yaml` below a component."""
    return CloudParts(GcpObject, _RESOURCES, parent, name, known)
