# pyright: standard
"""The resources of a group of machines: its id, its batch, and each machine."""

from collections.abc import Mapping
from typing import Any, cast

import pulumi

from gpufleet.platforms.vsphere.vcenter.identity import generation_of
from gpufleet.platforms.vsphere.vcenter.outputs import OBSERVED, SECRETS, digest, digest_name

MACHINE = "gpufleet:vsphere:Machine"
"""Type of a machine. Its id is its vCenter instance uuid. Its inputs are those of `settings.py` in
camelCase; destroying it does not remove the Kubernetes Node: `VsphereGpuNodeGroup` says how."""
OWNER = "gpufleet:vsphere:MachineOwner"
"""Type of the id of a group: which stack, of which backend, its machines belong to. Removing it
removes all machines that carry the id and that no resource removed before."""
BATCH = "gpufleet:vsphere:MachineBatch"
"""Type of what makes machines that their resources then find and take over. They must depend on it.
It never touches a machine that a resource has taken over: changing, replacing and removing those is
theirs."""

_OUTPUTS = {
    MACHINE: (*sorted(OBSERVED), *map(digest_name, SECRETS), "memoryLocked"),
    OWNER: ("life",),
    BATCH: (),
}
_FORMERLY = {MACHINE: "VsphereGpuNode", BATCH: "VsphereGpuNodeBatch"}
"""Names in states of the former dynamic provider."""

_REPLACES = ("name", "userDataFormat")
"""Inputs that only another machine can have, next to place, server and user data."""


class VcenterResource(pulumi.CustomResource):
    """A resource that the package's plugin serves (`platforms/vsphere/resources.py`)."""

    def __init__(
        self, kind: str, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        """Register it.

        Args:
            kind: One of the types above. A machine is deleted before its replacement is made: GPUs
                are scarce, and two nodes cannot have one name.
            name: Name of the resource.
            inputs: Inputs.
            opts: Options.
        """
        former = [
            pulumi.Alias(type_=f"pulumi-python:dynamic/gpufleet:{_FORMERLY[known]}")
            for known in (kind,)
            if known in _FORMERLY
        ]
        more = pulumi.ResourceOptions(
            aliases=former, delete_before_replace=True if kind == MACHINE else None
        )
        options = pulumi.ResourceOptions.merge(opts, more)
        super().__init__(kind, name, {**dict.fromkeys(_OUTPUTS[kind]), **inputs}, options)

    def output(self, name: str) -> pulumi.Output[str]:
        """`instanceUuid`, or `providerId`: `vsphere://<bios uuid>`, as the cloud provider names the
        node."""
        return cast("pulumi.Output[str]", pulumi.get(self, name))


def machine_registered(
    own: Mapping[str, Any], common: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Inputs of a machine with its secrets marked as such, and its generation.

    Args:
        own: Inputs.
        common: Further ones, which count for the generation. Default: there are none.
    """
    secrets = {
        name: pulumi.Output.secret(own[name]) for name in SECRETS if own.get(name) is not None
    }
    return {**own, **secrets, "generation": generation({**(common or {}), **own})}


def generation(given: Mapping[str, Any]) -> Any:
    """Digest of everything whose change means another machine; not secret itself.

    Args:
        given: Inputs of the machine, without the digest.
    """
    ignored = bool(given.get("ignoreUserDataChanges", False))
    boot = "" if ignored else given.get("bootSha256") or ""
    user_data = "" if ignored or boot else given.get("userData") or ""
    vendor_data = "" if ignored else given.get("vendorData") or ""
    meta_data = None if ignored else given.get("metaData") or None
    addresses = None if ignored else given.get("addresses") or None

    def text(parts: dict[str, Any]) -> str:
        place, endpoint = parts["place"] or {}, parts["endpoint"] or {}
        return generation_of(
            {
                **{key: parts[key] for key in _REPLACES},
                "server": endpoint.get("server"),
                "datacenter": place.get("datacenter"),
                "template": place.get("template"),
                "userData": boot or digest(str(parts["userData"])),
                # Absent, they leave the digest as it was before there were any.
                **{key: parts[key] for key in ("metaData", "addresses") if parts[key]},
                **({"vendorData": digest(parts["vendorData"])} if parts["vendorData"] else {}),
            }
        )

    return pulumi.Output.unsecret(
        pulumi.Output.all(
            **{key: given.get(key) for key in _REPLACES},
            place=given.get("place"),
            endpoint=given.get("endpoint"),
            userData=user_data,
            vendorData=vendor_data,
            metaData=meta_data,
            addresses=addresses,
        ).apply(text)
    )
