"""How a NodePool buys, and where, against the node class it names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue import InstanceType
from gpufleet.contract.programs.karpenter_keys import CAPACITY_TYPE, ZONE
from gpufleet.contract.programs.karpenter_machines import NodeRequirement
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import as_list, as_mapping


@dataclass(frozen=True, slots=True)
class PoolParts:
    """The parts of a NodePool that several rules read."""

    path: str
    spec: Mapping[str, Any]
    template: Mapping[str, Any]
    labels: Mapping[str, Any]
    requirements: tuple[NodeRequirement, ...]
    machines: tuple[InstanceType, ...]
    """Machines with GPUs it may launch; empty where it demands none."""


def validate_purchase(
    pool: PoolParts, its_class: Mapping[str, Any] | None, where: str, report: CheckReport
) -> None:
    """Capacity types against each other and against the node class's reservations."""
    allowed = _allowed(pool)
    if its_class is None:
        return
    terms = value_at(its_class, "spec.capacityReservationSelectorTerms")
    if as_list(terms) and "reserved" not in allowed:
        report.add(
            "karpenter-reservation-not-allowed",
            where,
            f"the node class names reservations, and the pool buys {', '.join(sorted(allowed))}",
            f"add `reserved` to {CAPACITY_TYPE}",
            found=sorted(allowed),
        )
    elif not as_list(terms) and allowed == {"reserved"}:
        report.add(
            "karpenter-reserved-without-reservation",
            where,
            "the pool buys reserved capacity only, and its node class names no reservation",
            "write capacityReservationSelectorTerms in the node class",
        )


def _allowed(pool: PoolParts) -> set[str]:
    """Capacity types; Karpenter buys on demand where nothing is written."""
    ways = {"on-demand", "spot", "reserved"}
    written = [one for one in pool.requirements if one.key == CAPACITY_TYPE]
    if not written:
        return {"on-demand"}
    for one in written:
        if one.operator == "In":
            ways &= set(one.values)
        elif one.operator == "NotIn":
            ways -= set(one.values)
    return ways


def validate_network(
    pool: PoolParts, spec: Mapping[str, Any], where: str, report: CheckReport
) -> None:
    """EFA interfaces of the node class against zones and machines of the pool."""
    interfaces = [as_mapping(one) or {} for one in as_list(spec.get("networkInterfaces")) or []]
    count = sum(one.get("interfaceType") == "efa-only" for one in interfaces)
    if not count:
        return
    zones = {
        value
        for one in pool.requirements
        if one.key == ZONE and one.operator == "In"
        for value in one.values
    }
    if len(zones) != 1:
        report.add(
            "karpenter-zones-with-efa",
            where,
            f"the node class lists {count} EFA interfaces, and the pool may launch in "
            f"{', '.join(sorted(zones)) or 'every zone of its subnets'}",
            f"require one zone: {ZONE} In [...], and make a pool for each",
            zones=sorted(zones),
        )
    short = [row.name for row in pool.machines if (row.efa_interfaces or 0) < count]
    if short:
        report.add(
            "karpenter-too-many-efa",
            where,
            f"{', '.join(short)} {'has' if len(short) == 1 else 'have'} fewer than the {count} EFA "
            "interfaces of the node class: such nodes do not launch",
            "list the interfaces of the pool's own machines, with a node class for each layout",
            machines=short,
            limit=count,
        )
