"""Which machines of the catalogue a NodePool's requirements select, by Karpenter's own labels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue import InstanceType, load
from gpufleet.catalogue.model import Cloud
from gpufleet.contract.foreign.go_json import as_list, as_mapping
from gpufleet.contract.foreign.karpenter_keys import ARCH, AWS, NUMERIC, TYPE

MIB = 1 << 20
_FAMILY = f"{AWS}instance-family"


@dataclass(frozen=True, slots=True)
class NodeRequirement:
    """One entry of `requirements` that can be read."""

    index: int
    key: str
    operator: str
    values: tuple[str, ...]


def read_requirements(value: Any) -> tuple[NodeRequirement, ...]:
    """The entries that can be read, in order."""
    found: list[NodeRequirement] = []
    for index, entry in enumerate(as_list(value) or []):
        item = as_mapping(entry) or {}
        key, operator = item.get("key"), item.get("operator")
        values = as_list(item.get("values")) or []
        if isinstance(key, str) and isinstance(operator, str):
            found.append(NodeRequirement(index, key, operator, tuple(str(v) for v in values)))
    return tuple(found)


def selected(requirements: Sequence[NodeRequirement]) -> tuple[InstanceType, ...]:
    """Machines with NVIDIA GPUs that every requirement admits."""
    return tuple(row for row in machines() if all(admits(row, one) for one in requirements))


def machines() -> tuple[InstanceType, ...]:
    """Every machine of AWS with NVIDIA GPUs, parts of GPUs among them."""
    catalogue = load()
    return tuple(
        row
        for row in catalogue.instances.values()
        if row.cloud is Cloud.AWS and catalogue.gpu(row.accelerator.gpu).vendor == "nvidia"
    )


def demands_gpus(requirements: Sequence[NodeRequirement]) -> bool:
    """Whether the requirements name GPUs, or only machines that have some."""
    types = {row.name for row in machines()}
    families = {name.partition(".")[0] for name in types}
    for one in requirements:
        if one.key.startswith(f"{AWS}instance-gpu-") and one.operator not in {
            "DoesNotExist",
            "NotIn",
        }:
            return True
        if one.operator != "In" or not one.values:
            continue
        if one.key == TYPE and set(one.values) <= types:
            return True
        if one.key == _FAMILY and set(one.values) <= families:
            return True
        if one.key == f"{AWS}instance-category" and set(one.values) <= {"g", "gr", "p"}:
            return True
    return False


def names(row: InstanceType, requirements: Sequence[NodeRequirement]) -> bool:
    """Whether a requirement names the machine's type or family itself."""
    family = row.name.partition(".")[0]
    return any(
        one.operator == "In"
        and (
            (one.key == TYPE and row.name in one.values)
            or (one.key == _FAMILY and family in one.values)
        )
        for one in requirements
    )


def admits(row: InstanceType, one: NodeRequirement) -> bool:
    """Whether a machine satisfies a requirement; one the catalogue cannot answer does not exclude
    it."""
    actual = _label(row, one.key)
    if actual is None:
        return True
    match one.operator:
        case "In":
            return actual in one.values
        case "NotIn":
            return actual not in one.values
        case "DoesNotExist":
            return False
        case operator if operator in NUMERIC:
            return _compares(actual, operator, one.values)
        case _:
            return True


def _compares(actual: str, operator: str, values: tuple[str, ...]) -> bool:
    if len(values) != 1 or not values[0].isdecimal() or not actual.isdecimal():
        return True
    value, limit = int(actual), int(values[0])
    return {
        "Gt": value > limit,
        "Gte": value >= limit,
        "Lt": value < limit,
        "Lte": value <= limit,
    }[operator]


def _label(row: InstanceType, key: str) -> str | None:
    """Value of a label on the machine's nodes; None where the catalogue does not say."""
    if key == TYPE:
        return row.name
    if key == ARCH:
        return row.architecture
    family, _, size = row.name.partition(".")
    letters = re.match(r"[a-z]+", family)
    generation = re.search(r"\d+", family)
    accelerator = row.accelerator
    count = accelerator.api_count if accelerator.api_count is not None else accelerator.count
    found: dict[str, str | None] = {
        "instance-family": family,
        "instance-size": size,
        "instance-category": letters[0] if letters else None,
        "instance-generation": generation[0] if generation else None,
        "instance-cpu": None if row.vcpu is None else str(row.vcpu),
        "instance-memory": None if row.memory_bytes is None else str(row.memory_bytes // MIB),
        "instance-gpu-name": load().gpu(accelerator.gpu).karpenter_name,
        "instance-gpu-manufacturer": "nvidia",
        "instance-gpu-count": None if count is None else str(count),
        "instance-gpu-memory": None
        if accelerator.memory_bytes is None
        else str(accelerator.memory_bytes // MIB),
    }
    return found.get(key.removeprefix(AWS)) if key.startswith(AWS) else None
