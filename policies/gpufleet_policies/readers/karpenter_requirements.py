"""Karpenter's requirements as machines, zones, ways of buying and labels."""

from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.contract.programs import karpenter_machines as machines_of
from gpufleet.contract.programs.karpenter_keys import CAPACITY_TYPE, ZONE
from gpufleet.contract.programs.karpenter_machines import NodeRequirement
from gpufleet.documents.shapes import is_list
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.machines import NO_MACHINES, Machines, gpu_by_name, machines
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import fact, holds_unknown

_WAYS = {"on-demand": "onDemand", "spot": "spot", "reserved": "reserved"}


def read_requirements(value: Any) -> tuple[NodeRequirement, ...] | None:
    """None where some requirement cannot be read: then nothing can be concluded from the rest."""
    if value is None:
        return ()
    if not is_list(value) or holds_unknown(value):
        return None
    found = machines_of.read_requirements(value)
    lists = all(isinstance(inside(one, "values"), list | None) for one in value)
    return found if len(found) == len(value) and lists else None


def hardware_of(
    requirements: tuple[NodeRequirement, ...] | None,
) -> tuple[Fact[tuple[str, ...]], Machines, bool]:
    """Types, what they carry, and whether types without GPUs are allowed too."""
    place = "spec.template.spec.requirements"
    if requirements is None:
        return unknown(place), NO_MACHINES, True
    named = next((r.values for r in requirements if r.is_type and r.operator == "In"), None)
    if named is not None:
        return known(named, place=place), machines(named, place), False
    if not machines_of.demands_gpus(requirements):
        excluded = machines_of.excludes_gpus(requirements)
        carries: Fact[bool] = known(False, place=place) if excluded else unknown(place)
        return absent(place), Machines(absent(place), absent(place), carries), True
    types = tuple(row.name for row in machines_of.whole_machines(requirements, load()))
    if types:
        found = machines(types, place)
        return known(types, place=place), found, False
    names = [v for r in requirements if r.label == "instance-gpu-name" for v in r.values]
    counts = [v for r in requirements if r.label == "instance-gpu-count" for v in r.values]
    gpu = gpu_by_name(names) if len(names) == 1 else unknown(place)
    count: Fact[int] = unknown(place)
    if len(counts) == 1:
        count = fact(counts[0], natural, place)
    return unknown(place), Machines(gpu, count, known(True, place=place)), False


def asks_for_choice(requirements: tuple[NodeRequirement, ...] | None) -> bool:
    """Whether some number of different machines must remain."""
    return any(requirement.counts for requirement in requirements or ())


def types_listed_at(requirements: tuple[NodeRequirement, ...] | None) -> str:
    """The one list that names machine types; empty where there is none, or several."""
    found = [i for i, r in enumerate(requirements or ()) if r.is_type and r.operator == "In"]
    return f"spec.template.spec.requirements[{found[0]}].values" if len(found) == 1 else ""


def single_values(requirements: tuple[NodeRequirement, ...] | None) -> dict[str, str]:
    """Labels every node is certain to carry because a requirement allows one value only."""
    return {
        one.key: one.values[0]
        for one in requirements or ()
        if one.operator == "In" and len(one.values) == 1 and "/" in one.key
    }


def ways_of(requirements: tuple[NodeRequirement, ...] | None) -> Fact[frozenset[str]]:
    """Without the requirement Karpenter buys on demand."""
    if requirements is None:
        return unknown(CAPACITY_TYPE)
    for one in requirements:
        if one.key != CAPACITY_TYPE:
            continue
        if not one.values and one.operator != "Exists":
            return unknown(CAPACITY_TYPE)
        if one.operator == "In":
            return known(frozenset(_WAYS.get(v, v) for v in one.values), place=CAPACITY_TYPE)
        if one.operator == "NotIn":
            left = [way for name, way in _WAYS.items() if name not in one.values]
            return known(frozenset(left), place=CAPACITY_TYPE)
        if one.operator == "Exists":
            return known(frozenset(_WAYS.values()), place=CAPACITY_TYPE)
    return known(frozenset({"onDemand"}), place=CAPACITY_TYPE)


def zones_of(requirements: tuple[NodeRequirement, ...] | None) -> Fact[tuple[str, ...]]:
    """Zones that the requirements allow; absent: all of the cluster."""
    for one in requirements or ():
        if one.key == ZONE and one.operator == "In":
            return known(one.values, place=ZONE)
    return unknown(ZONE) if requirements is None else absent(ZONE)
