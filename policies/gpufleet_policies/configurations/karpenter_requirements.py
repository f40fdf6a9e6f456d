"""Requirements of a NodePool or NodeOverlay, one by one."""

import re
from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue import load
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.programs.karpenter_keys import (
    AWS,
    NUMERIC,
    WELL_KNOWN,
    gpu_names,
)
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.names import meanings

FAMILIES = (f"{AWS}instance-family", "eks.amazonaws.com/instance-family")
"""Labels of the family, of Karpenter and of EKS Auto Mode."""
_VALUES = meanings("values of a requirement")
"""Labels of which all values are known."""
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d")
"""A region of AWS; zones of IBM Cloud are written so (karpenter-provider-ibm-cloud)."""
AWS_GROUPS = (AWS.rstrip("/"), "eks.amazonaws.com")
"""API groups of the node classes of AWS: Karpenter's own, and of EKS Auto Mode."""


def validate_requirements(
    value: Any, place: str, report: CheckReport, allowed: tuple[str, ...] = ()
) -> None:
    """Operators, values, labels that no pool may select by (except allowed ones), names of GPUs."""
    for index, entry in enumerate(as_list(value) or []):
        item, where = as_mapping(entry), child(place, index)
        if item is None:
            continue
        key, operator = item.get("key"), item.get("operator")
        values = [str(one) for one in as_list(item.get("values")) or []]
        report.apply(
            "karpenter requirement",
            where,
            key=key,
            operator=operator,
            values=values,
            numeric=[*NUMERIC],
            allowed=allowed,
            found=", ".join(values) or "none",
        )
        if isinstance(key, str):
            if key.startswith(AWS) and key.removeprefix(AWS) not in WELL_KNOWN:
                _restricted(key, child(where, "key"), report)
            if key == f"{AWS}instance-gpu-name" and operator == "In":
                _validate_names(values, gpu_names(), child(where, "values"), report)
            if key == f"{AWS}instance-gpu-manufacturer" and "NVIDIA" in map(str.upper, values):
                _validate_names(
                    values,
                    ("nvidia", *(one for one in values if one.upper() != "NVIDIA")),
                    child(where, "values"),
                    report,
                )
            if operator == "In":
                _validate_values(values, _VALUES.get(key, ""), child(where, "values"), report)
            if key in FAMILIES and operator == "In":
                _validate_families(values, child(where, "values"), report)


def _validate_values(values: list[str], known: str, where: str, report: CheckReport) -> None:
    for index, value in enumerate(values):
        if known and not re.fullmatch(known, value):
            fix = f"write {known.replace('|', ' or ')}"
            place = child(where, index)
            report.say("karpenter-requirement-invalid", place, value=value, fix=fix)


def _restricted(key: str, where: str, report: CheckReport) -> None:
    near = nearest_names(key.removeprefix(AWS), WELL_KNOWN, limit=1)
    report.say(
        "karpenter-label-restricted",
        where,
        value=key,
        fix=f"write {AWS}{near[0]}" if near else f"one of {', '.join(WELL_KNOWN)}, under {AWS}",
    )


def validate_group(template: Mapping[str, Any], where: str, report: CheckReport) -> None:
    """What depends on the provider: labels of EKS Auto Mode, which no other Karpenter puts on
    machines, and regions of AWS where a zone is needed."""
    group = (as_mapping(template.get("nodeClassRef")) or {}).get("group")
    for index, entry in enumerate(as_list(template.get("requirements")) or []):
        item = as_mapping(entry) or {}
        key = str(item.get("key"))
        if key == "topology.kubernetes.io/zone" and group in AWS_GROUPS:
            for at, zone in enumerate(as_list(item.get("values")) or []):
                if item.get("operator") == "In" and _REGION.fullmatch(str(zone)):
                    place = child(child(child(where, index), "values"), at)
                    fix = f"write {zone}a"
                    report.say("karpenter-requirement-invalid", place, value=str(zone), fix=fix)
        name = key.removeprefix("eks.amazonaws.com/instance-")
        if group == AWS.rstrip("/") and name != key:
            place = child(child(where, index), "key")
            fix = f"write {AWS}instance-{name}"
            report.say("karpenter-label-of-auto-mode", place, key=key, fix=fix)


def _validate_families(values: list[str], where: str, report: CheckReport) -> None:
    """`p6` is not a family: its machines are of p6-b200 and others. No more is `p4` (p4d, p4de)."""
    known = {name.partition(".")[0] for name in load().instances}
    for index, value in enumerate(values):
        longer = sorted(name for name in known if name.startswith(value))
        if value[-1:].isdigit() and value not in known and longer:
            report.say(
                "karpenter-family-unknown",
                child(where, index),
                value=value,
                longer=", ".join(longer),
            )


def _validate_names(
    values: list[str], known: tuple[str, ...], where: str, report: CheckReport
) -> None:
    for index, value in enumerate(values):
        if value in known:
            continue
        near = nearest_names(value.lower().removeprefix("nvidia-"), known, limit=1)
        report.say(
            "karpenter-gpu-name-unknown",
            child(where, index),
            value=value,
            allowed=list(known),
            fix=f"write {near[0]}" if near else f"one of {', '.join(known)}",
        )
