"""What a fleet on vSphere is given: vCenter, place and way into the cluster, as the file says it.

Credentials of the vCenter are read where machines are made (VSPHERE_USER and VSPHERE_PASSWORD, or
the secret settings `vsphere:user` and `vsphere:password`) and never pass through here.
"""

from typing import Any

import pulumi
from settings import Settings


def providers(stack: Settings) -> dict[str, pulumi.ProviderResource]:
    """None beside the cluster's own: machines are made by a dynamic provider of gpufleet's."""
    del stack
    return {}


def connection(stack: Settings) -> dict[str, Any]:
    """The vCenter and the place in its inventory. Raises RunError for what is missing."""
    place = stack.connection.vsphere
    if place is None:
        raise pulumi.RunError(
            "gpufleet:connection.vsphere is missing: write server, datacenter and computeCluster"
        )
    given: dict[str, Any] = place.model_dump(exclude_none=True)
    token = pulumi.Config("gpufleet").get_secret("joinToken")
    if "join" in given and token is not None:
        given["join"]["token"] = token
    return {"vsphere": given}
