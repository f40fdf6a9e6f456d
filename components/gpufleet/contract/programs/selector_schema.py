"""Device selectors of the two network device plugins, as in the webhook's schemas."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.catalogue.schemas import schema_file
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping

Schema = Mapping[str, str]
"""Criterion -> `texts`, `boolean` or `text`."""

_WORDS = {"array": "texts", "boolean": "boolean", "string": "text"}


@cache
def criteria(device: str) -> Schema:
    """The criteria of a type of device: `rdma`, `accelerator`, `netDevice`, `auxNetDevice`."""
    fields = schema_file("webhook-selectors")["selectors"][device]
    return {name: _WORDS[field["type"]] for name, field in fields.items()}


def validate_selectors(
    value: Any, schema: Schema, path: str, prefix: str, report: CheckReport
) -> None:
    """One selectors object: at least one criterion, none unknown, lists of non-empty text.

    Findings: `<prefix>-selectors-empty`, `-selector-unknown`, `-selector-invalid`.
    """
    selectors = as_mapping(value)
    if selectors is None:
        code = f"{prefix}-selector-invalid"
        report.say("selectors-no-mapping", path, code=code, kind=kind_of(value))
        return
    if not set(selectors) & set(schema):
        code = f"{prefix}-selectors-empty"
        report.say("selectors-empty", path, code=code, known=tuple(schema))
    for key, criterion in selectors.items():
        place = child(path, key)
        wanted = schema.get(key)
        if wanted is None:
            code, fix = f"{prefix}-selector-unknown", nearest_fix(key, schema)
            report.say("selector-unknown", place, code=code, fix=fix, value=key)
        elif not _fits(criterion, wanted):
            words = {"texts": "a list of text", "boolean": "true or false", "text": "text"}[wanted]
            code, value = f"{prefix}-selector-invalid", shown(criterion)
            fix = 'put ids in quotes: ["15b3"]' if wanted == "texts" else f"write {words}"
            report.say(
                "selector-invalid", place, code=code, fix=fix, value=value, key=key, needed=words
            )


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "texts":
        items = as_list(value)
        return items is not None and all(isinstance(item, str) and item for item in items)
    return isinstance(value, bool if wanted == "boolean" else str)


# Values of device selectors that match no device: ids and link types have a fixed form.
#
# Sources: k8s-rdma-shared-dev-plugin pkg/resources/device_selectors.go, sriov-network-device-plugin
# pkg/resources/deviceSelectors.go (equal text); jaypipes/ghw pkg/pci (four lower-case hex digits);
# vishvananda/netlink link.go (EncapType of the kernel: ether, infiniband).

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
