"""Inputs of a fleet on vSphere: vCenter, place and cluster access, from the stack file.

Credentials of the vCenter are read where machines are created (VSPHERE_USER and VSPHERE_PASSWORD,
or the secret settings `vsphere:user` and `vsphere:password`) and never pass through this module.
"""

from typing import Any

import pulumi
from pulumi.runtime.config import is_config_secret
from settings import Settings

SECRETS = {"user_data": "userData", "vendor_data": "vendorData"}
"""First-boot data of every machine -> the secret setting of the stack that holds it."""


def providers(stack: Settings) -> dict[str, pulumi.ProviderResource]:
    """None next to the cluster's own: the plugin of gpufleet makes machines."""
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
    token = _secret("joinToken")
    if "join" in given and token is not None:
        given["join"]["token"] = token
    for key, setting in SECRETS.items():
        text = _secret(setting)
        if text is not None:
            given[key] = text
    return {"vsphere": given}


def _secret(name: str) -> pulumi.Output[str] | None:
    """A secret setting of the stack, or None. Raises RunError for one that is plain: the engine
    hands the settings of gpufleet to its plugin, and would write it into the state as it is."""
    config = pulumi.Config("gpufleet")
    if config.get(name) is not None and not is_config_secret(f"gpufleet:{name}"):
        raise pulumi.RunError(
            f"gpufleet:{name} is a plain setting, and the state would show it: "
            f"`pulumi config set --secret gpufleet:{name}`, with another value"
        )
    return config.get_secret(name)
