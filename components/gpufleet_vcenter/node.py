# pyright: standard
"""The resources of a group of machines: its id, and the group."""

import json
from collections.abc import Mapping
from typing import Any, cast

import pulumi

from gpufleet_vcenter.outputs import digest

GROUP = "gpufleet:vsphere:MachineGroup"
"""Type of the machines of a pool. Its inputs `nodes` have those of each machine by key (fields of
`settings.py`, camelCase), and `boot` their secret first-boot data. Its destruction does not remove
Kubernetes Nodes unless `kubernetes` is given; see `VsphereGpuNodeGroup`."""
OWNER = "gpufleet:vsphere:MachineOwner"
"""Type of the id of a group: which stack, of which backend, its machines belong to. It is in the
state before the first machine is made, so that a kill leaves no unknown machine. Its removal
removes all machines with the id."""
MACHINE, BATCH = "gpufleet:vsphere:Machine", "gpufleet:vsphere:MachineBatch"
"""Types in states of earlier versions: records of machines that the group has now, until the next
update. Nothing of them differs, and their removal deletes only the record: the machine has the id
of the group in its marks. An update has that group, which keeps or removes it, and a destroy
removes the resource of the id next, with all machines of the id."""

_OUTPUTS = {GROUP: ("ids",), OWNER: ("life",)}

_REPLACES = ("name", "userDataFormat")
"""Inputs that only another machine can have, next to place, server and user data."""


class VcenterResource(pulumi.CustomResource):
    """A resource that the package's plugin serves (`platforms/vsphere/resources.py`)."""

    def __init__(
        self, kind: str, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        """Register it.

        Args:
            kind: `GROUP` or `OWNER`.
        """
        super().__init__(kind, name, {**dict.fromkeys(_OUTPUTS[kind]), **inputs}, opts)

    def output(self, name: str) -> pulumi.Output[Any]:
        """An output by its name."""
        return cast("pulumi.Output[Any]", pulumi.get(self, name))


def generation(given: Mapping[str, Any]) -> Any:
    """Digest of all inputs whose change replaces the machine, 12 hexadecimal digits; not secret.

    Args:
        given: Inputs of the machine, without the digest.
    """
    boot = given.get("bootSha256") or ""
    read_once = ("userData", "vendorData", "metaData", "addresses")
    if given.get("ignoreUserDataChanges", False):
        boot, read_once = "", ()
    elif boot:
        read_once = read_once[1:]

    def decided(parts: dict[str, Any]) -> str:
        place, endpoint = parts["place"] or {}, parts["endpoint"] or {}
        vendor_data = parts.get("vendorData")
        decides = {
            **{key: parts[key] for key in _REPLACES},
            "server": endpoint.get("server"),
            "datacenter": place.get("datacenter"),
            "template": place.get("template"),
            "userData": boot or digest(str(parts.get("userData") or "")),
            # Absent, they leave the digest as it was before there were any.
            **{key: parts[key] for key in ("metaData", "addresses") if parts.get(key)},
            **({"vendorData": digest(vendor_data)} if vendor_data else {}),
        }
        text = json.dumps(decides, sort_keys=True, separators=(",", ":"), default=str)
        return digest(text)[:12]

    keys = (*_REPLACES, "place", "endpoint", *read_once)
    known = pulumi.Output.all(**{key: given.get(key) for key in keys})
    return pulumi.Output.unsecret(known.apply(decided))
