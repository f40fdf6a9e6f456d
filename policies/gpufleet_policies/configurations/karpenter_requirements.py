"""Families that a NodePool or NodeOverlay requires."""

from typing import Any

from gpufleet.catalogue import load
from gpufleet.contract.programs.karpenter_keys import AWS
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping

FAMILIES = (f"{AWS}instance-family", "eks.amazonaws.com/instance-family")
"""Labels of the family, of Karpenter and of EKS Auto Mode."""


def validate_families(value: Any, place: str, report: CheckReport) -> None:
    """`p6` is not a family: its machines are of p6-b200 and others. No more is `p4` (p4d, p4de)."""
    known = {name.partition(".")[0] for name in load().instances}
    for index, entry in enumerate(as_list(value) or []):
        item = as_mapping(entry) or {}
        if item.get("key") not in FAMILIES or item.get("operator") != "In":
            continue
        for number, family in enumerate(map(str, as_list(item.get("values")) or [])):
            longer = sorted(name for name in known if name.startswith(family))
            if family[-1:].isdigit() and family not in known and longer:
                report.add(
                    "karpenter-family-unknown",
                    child(child(child(place, index), "values"), number),
                    f"no machine is of the family {family}",
                    f"write {', '.join(longer)}",
                    value=family,
                )
