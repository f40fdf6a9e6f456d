"""What a machine's guest is given at its first boot, and how it is packed into guestinfo."""

import base64
import gzip
import json
from collections.abc import Mapping

GUEST_DATA_LIMIT = 65_536
"""Bytes one guestinfo value may have, packed (open-vm-tools' limit as named in vm-operator issue
148, read 2026-11-21)."""

ENCODING = "gzip+base64"

USER_DATA_KEYS = (
    "guestinfo.userdata",
    "guestinfo.userdata.encoding",
    "guestinfo.ignition.config.data",
    "guestinfo.ignition.config.data.encoding",
)
"""Keys that may hold secrets: emptied once the node is ready, and never compared."""


JOINED_KEY = "guestinfo.gpufleet.join"
"""Key that the join script sets to `done` as its last step."""


def packed(text: str) -> str:
    """The text as a guestinfo value. The same text always gives the same value."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def meta_data(instance_id: str, host_name: str) -> str:
    """cloud-init meta data: identity, name, and that user data is cleared after it is read.

    Source: cloud-init's VMware data source, `redact` and `wait-on-network`, read 2026-11-21.
    """
    return json.dumps(
        {
            "instance-id": instance_id,
            "local-hostname": host_name,
            "redact": ["userdata", "vendordata"],
            "wait-on-network": {"ipv4": True},
        },
        sort_keys=True,
    )


def guest_keys(
    instance_id: str, host_name: str, user_data: str | None, user_data_format: str
) -> Mapping[str, str]:
    """Keys of the extra configuration that the guest's first boot reads."""
    if user_data_format == "ignition":
        if user_data is None:
            return {}
        return {
            "guestinfo.ignition.config.data": packed(user_data),
            "guestinfo.ignition.config.data.encoding": ENCODING,
        }
    keys = {
        "guestinfo.metadata": packed(meta_data(instance_id, host_name)),
        "guestinfo.metadata.encoding": ENCODING,
    }
    if user_data is not None:
        keys["guestinfo.userdata"] = packed(user_data)
        keys["guestinfo.userdata.encoding"] = ENCODING
    return keys
