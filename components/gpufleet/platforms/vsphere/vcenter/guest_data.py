"""What a machine's guest is given at its first boot, and how it is packed into guestinfo."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.platforms.vsphere.vcenter.addresses import (
    KARGS_KEY,
    StaticAddress,
    network_config,
    network_kargs,
)

GUEST_DATA_LIMIT = 65_536
"""Bytes one guestinfo value may have, packed (open-vm-tools' limit as named in vm-operator issue
148, read 2026-11-21)."""

ENCODING = "gzip+base64"

USER_DATA_KEYS = (
    "guestinfo.userdata",
    "guestinfo.userdata.encoding",
    "guestinfo.vendordata",
    "guestinfo.vendordata.encoding",
    "guestinfo.ignition.config.data",
    "guestinfo.ignition.config.data.encoding",
)
"""Keys that may hold secrets: emptied once the node is ready, and never compared."""


JOINED_KEY = "guestinfo.gpufleet.join"
"""Key that the join script sets to `done` as its last step."""


def packed(text: str) -> str:
    """The text as a guestinfo value. The same text always gives the same value."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


META_DATA_KEYS = frozenset(("instance-id", "local-hostname", "redact"))
"""Keys of the meta data that follow from the machine, and that no one else may write."""


def meta_data(instance_id: str, host_name: str, more: Mapping[str, Any]) -> str:
    """cloud-init meta data: identity, name, and that user data is cleared after it is read.

    Source: cloud-init's VMware data source, `redact`, `network` and `wait-on-network`, read
    2026-11-21.

    Args:
        instance_id: Of the machine.
        host_name: Of its guest.
        more: Further keys; `wait-on-network` may be among them.
    """
    return json.dumps(
        {
            "wait-on-network": {"ipv4": True},
            **more,
            "instance-id": instance_id,
            "local-hostname": host_name,
            "redact": ["userdata", "vendordata"],
        },
        sort_keys=True,
    )


def guest_keys(
    instance_id: str,
    host_name: str,
    user_data: str | None,
    user_data_format: str,
    more: Mapping[str, Any],
    vendor_data: str | None = None,
    addresses: Sequence[StaticAddress] = (),
    macs: Sequence[str] = (),
) -> Mapping[str, str]:
    """Keys of the extra configuration that the guest's first boot reads."""
    if user_data_format == "ignition":
        kargs = {KARGS_KEY: network_kargs(addresses)} if addresses else {}
        if user_data is None:
            return kargs
        return {
            **kargs,
            "guestinfo.ignition.config.data": packed(user_data),
            "guestinfo.ignition.config.data.encoding": ENCODING,
        }
    if addresses:
        family = "ipv6" if all(":" in item.address for item in addresses) else "ipv4"
        waits = {"wait-on-network": {family: True}}
        more = {**waits, **more, "network": network_config(addresses, macs)}
    keys = {
        "guestinfo.metadata": packed(meta_data(instance_id, host_name, more)),
        "guestinfo.metadata.encoding": ENCODING,
    }
    for name, text in (("userdata", user_data), ("vendordata", vendor_data)):
        if text is not None:
            keys[f"guestinfo.{name}"] = packed(text)
            keys[f"guestinfo.{name}.encoding"] = ENCODING
    return keys
