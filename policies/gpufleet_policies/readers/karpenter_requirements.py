"""Karpenter's requirements as machines, zones, ways of buying and labels."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpufleet.catalogue import Catalogue, InstanceType
from gpufleet_policies.facts.tristate import UNKNOWN, Fact, absent, known, unknown
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.machines import NO_MACHINES, Machines, gpu_by_name, machines
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import fact

Load = Callable[[], Catalogue]

_TYPE = "node.kubernetes.io/instance-type"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
_ZONE = "topology.kubernetes.io/zone"
_PREFIXES = (
    "karpenter.k8s.aws/",
    "eks.amazonaws.com/",  # EKS Auto Mode (EKS user guide, "Create a node pool": same keys)
    "karpenter.k8s.gcp/",
    "karpenter.azure.com/",
)
_WAYS = {"on-demand": "onDemand", "spot": "spot", "reserved": "reserved"}

_LETTERS = re.compile(r"[a-z]+")
_GPU_FAMILY = re.compile(r"^(?:[gp][0-9]|gr[0-9]|a[2-9])")
_DIGITS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class PoolRequirement:
    """One requirement, its key without the provider's prefix."""

    provider: str
    """The prefix that was taken away; empty for Kubernetes' and Karpenter's own keys."""
    key: str
    operator: str
    values: tuple[str, ...]
    counts: bool = False
    """Whether it asks for a number of different values (`minValues`)."""


def read_requirements(value: Any) -> tuple[PoolRequirement, ...] | None:
    """None where some requirement cannot be read: then nothing can be concluded from the rest."""
    if value is None:
        return ()
    if not isinstance(value, list):
        return None
    found: list[PoolRequirement] = []
    for one in value:
        key, operator = inside(one, "key"), inside(one, "operator")
        values = inside(one, "values")
        values = [] if values is None else values
        if (
            not isinstance(key, str)
            or not isinstance(operator, str)
            or not isinstance(values, list)
        ):
            return None
        if UNKNOWN in values:
            return None
        provider = next((prefix for prefix in _PREFIXES if key.startswith(prefix)), "")
        key = key.removeprefix(provider)
        counts = inside(one, "minValues") is not None
        found.append(
            PoolRequirement(provider, key, operator, tuple(str(v) for v in values), counts)
        )
    return tuple(found)


def hardware_of(
    requirements: tuple[PoolRequirement, ...] | None, load: Load
) -> tuple[Fact[tuple[str, ...]], Machines, bool]:
    """Types, what they carry, and whether types without GPUs are allowed too."""
    place = "spec.template.spec.requirements"
    if requirements is None:
        return unknown(place), NO_MACHINES, True
    named = next((r.values for r in requirements if r.key == _TYPE and r.operator == "In"), None)
    if named is not None:
        return known(named, place=place), machines(named, load(), place), False
    if not _demands_gpu(requirements):
        carries: Fact[bool] = (
            known(False, place=place) if _excludes_gpu(requirements) else unknown(place)
        )
        return absent(place), Machines(absent(place), absent(place), carries), True
    types = _matching(requirements, _cloud(requirements), load())
    if types:
        found = machines(types, load(), place)
        return known(types, place=place), found, False
    names = [v for r in requirements if r.key == "instance-gpu-name" for v in r.values]
    counts = [v for r in requirements if r.key == "instance-gpu-count" for v in r.values]
    gpu = gpu_by_name(names, load()) if len(names) == 1 else unknown(place)
    count: Fact[int] = unknown(place)
    if len(counts) == 1:
        count = fact(counts[0], natural, place)
    return unknown(place), Machines(gpu, count, known(True, place=place)), False


def asks_for_choice(requirements: tuple[PoolRequirement, ...] | None) -> bool:
    """Whether some number of different machines must remain."""
    return any(requirement.counts for requirement in requirements or ())


def types_listed_at(requirements: tuple[PoolRequirement, ...] | None) -> str:
    """The one list that names machine types; empty where there is none, or several."""
    found = [i for i, r in enumerate(requirements or ()) if r.key == _TYPE and r.operator == "In"]
    return f"spec.template.spec.requirements[{found[0]}].values" if len(found) == 1 else ""


_GPU_KEYS = frozenset(
    {"instance-gpu-name", "instance-gpu-count", "instance-gpu-manufacturer", "instance-gpu-memory"}
)


def _demands_gpu(requirements: tuple[PoolRequirement, ...]) -> bool:
    """Whether only machines with GPUs can satisfy them."""
    for one in requirements:
        wants = one.operator in ("In", "Exists", "Gt", "Gte")
        if one.key == "instance-gpu-manufacturer" and one.operator == "In":
            return set(one.values) == {"nvidia"}
        none = one.operator == "In" and one.values == ("0",)
        if one.key in _GPU_KEYS and wants and not none:
            return True
        if one.operator == "In" and one.values:
            if one.key == "instance-category" and set(one.values) <= {"g", "p"}:
                return True
            if one.key == "instance-family" and all(_is_gpu_family(v) for v in one.values):
                return True
    return False


def _excludes_gpu(requirements: tuple[PoolRequirement, ...]) -> bool:
    for one in requirements:
        if one.key in _GPU_KEYS and one.operator == "DoesNotExist":
            return True
        if one.operator == "In" and one.values:
            if one.key == "instance-category" and not set(one.values) & {"g", "p"}:
                return True
            if one.key == "instance-family" and not any(_is_gpu_family(v) for v in one.values):
                return True
        if (
            one.operator == "NotIn"
            and one.key == "instance-category"
            and {"g", "p"} <= set(one.values)
        ):
            return True
    return False


def _is_gpu_family(family: str) -> bool:
    return _GPU_FAMILY.match(family) is not None


def _cloud(requirements: tuple[PoolRequirement, ...]) -> str:
    """Who sells the machines; AWS where no key tells: Karpenter's first provider."""
    return "gcp" if any("gcp" in one.provider for one in requirements) else "aws"


@lru_cache(maxsize=256)
def _matching(
    requirements: tuple[PoolRequirement, ...], cloud: str, catalogue: Catalogue
) -> tuple[str, ...]:
    """Types of the catalogue that satisfy every requirement that it can answer."""
    return tuple(
        row.name
        for row in catalogue.instances.values()
        if row.cloud.value == cloud
        and not row.attachable
        and not row.fractional
        and catalogue.gpu(row.accelerator.gpu).vendor == "nvidia"
        and all(_satisfies(row, one) for one in requirements)
    )


def _satisfies(row: InstanceType, one: PoolRequirement) -> bool:
    actual = _property(row, one.key)
    if actual is None:
        return True
    match one.operator:
        case "In":
            return bool(actual.intersection(one.values))
        case "NotIn":
            return not actual.intersection(one.values)
        case "Gt" | "Gte" | "Lt" | "Lte" if natural(next(iter(one.values), None)) is not None:
            limit = natural(one.values[0]) or 0
            figures = [int(v) for v in actual if v.isdecimal()]
            compare = {
                "Gt": lambda v: v > limit,
                "Gte": lambda v: v >= limit,
                "Lt": lambda v: v < limit,
                "Lte": lambda v: v <= limit,
            }[one.operator]
            return any(compare(figure) for figure in figures)
        case _:
            return True


def _property(row: InstanceType, key: str) -> frozenset[str] | None:
    """Values of a well-known label; None where the catalogue cannot say."""
    family, _, size = row.name.partition(".")
    match key:
        case "instance-family":
            return frozenset({row.family, family})
        case "instance-category":
            letters = _LETTERS.match(family)
            return frozenset({letters[0]}) if letters else None
        case "instance-generation":
            return frozenset(_DIGITS.findall(family)[:1])
        case "instance-size":
            return frozenset({size}) if size else None
        case "instance-gpu-name":
            names = {row.accelerator.gpu.lower(), row.accelerator.gpu.partition("-")[0].lower()}
            return frozenset(names)
        case "instance-gpu-count":
            return frozenset({str(row.accelerator.count)})
        case "instance-cpu":
            return frozenset({str(row.vcpu)})
        case "kubernetes.io/arch":
            return frozenset({row.architecture})
        case _:
            return None


def single_values(requirements: tuple[PoolRequirement, ...] | None) -> dict[str, str]:
    """Labels every node is certain to carry because a requirement allows one value only."""
    return {
        one.key: one.values[0]
        for one in requirements or ()
        if one.operator == "In" and len(one.values) == 1 and "/" in one.key
    }


def ways_of(requirements: tuple[PoolRequirement, ...] | None) -> Fact[frozenset[str]]:
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


def zones_of(requirements: tuple[PoolRequirement, ...] | None) -> Fact[tuple[str, ...]]:
    """Zones that the requirements allow; absent: all of the cluster."""
    for one in requirements or ():
        if one.key == _ZONE and one.operator == "In":
            return known(one.values, place=_ZONE)
    return unknown(_ZONE) if requirements is None else absent(_ZONE)
