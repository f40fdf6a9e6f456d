"""Resources of the Google provider, by type, from rendered arguments (`cloud_object`)."""

import pulumi
from pulumi_gcp import _utilities as gcp_sdk

from gpufleet.components_base.cloud_object import CloudObject

ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
CLUSTER = "gcp:container/cluster:Cluster"
RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"


class GcpObject(CloudObject):
    """One resource of the Google provider."""

    def defaults(self) -> pulumi.ResourceOptions:
        """As `CloudObject`."""
        return gcp_sdk.get_resource_opts_defaults()
