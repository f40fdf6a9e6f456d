"""Values of device selectors that match no device: ids and link types have a fixed form.

Sources: k8s-rdma-shared-dev-plugin pkg/resources/device_selectors.go, sriov-network-device-plugin
pkg/resources/deviceSelectors.go (equal text); jaypipes/ghw pkg/pci (four lower-case hex digits);
vishvananda/netlink link.go (EncapType of the kernel: ether, infiniband).
"""

import re
from collections.abc import Mapping
from typing import Any

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list

_ID = re.compile(r"[0-9a-f]{4}")
_LINK_TYPES = ("ether", "infiniband")
_MEANT = {
    "ethernet": "ether",
    "eth": "ether",
    "ib": "infiniband",
    "mellanox": "15b3",
    "nvidia": "15b3",
    "intel": "8086",
}


def validate_values(
    selectors: Mapping[str, Any], devices: str, path: str, prefix: str, report: CheckReport
) -> None:
    """Criteria whose values match nothing; `devices` is the criterion of device ids.

    Findings: `<prefix>-selector-dead` if no value can match, `-selector-value-dead` for some.
    """
    for key in ("vendors", devices, "linkTypes"):
        values = [v for v in as_list(selectors.get(key)) or [] if isinstance(v, str) and v]
        dead = [v for v in values if not _is_possible(key, v)]
        if not dead:
            continue
        every = len(dead) == len(values)
        form = "ether or infiniband" if key == "linkTypes" else "four lower-case hex digits"
        meant = _meant(key, dead[0])
        report.add(
            f"{prefix}-selector-dead" if every else f"{prefix}-selector-value-dead",
            child(path, key),
            f"{key} is compared with {form}: {', '.join(dead)} matches no device"
            + (", so nothing is advertised" if every else ""),
            f'write "{meant}"' if meant else f"write {form}",
            value=tuple(dead),
        )


def _is_possible(key: str, value: str) -> bool:
    return value in _LINK_TYPES if key == "linkTypes" else _ID.fullmatch(value) is not None


def _meant(key: str, value: str) -> str | None:
    guess = value.lower().removeprefix("0x")
    guess = guess if _is_possible(key, guess) else _MEANT.get(guess, "")
    return guess if guess and _is_possible(key, guess) else None
