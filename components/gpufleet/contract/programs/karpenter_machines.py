"""Machines of the catalogue that a NodePool's requirements select, by Karpenter's own labels.

Used by `gpufleet check`, by the policies and by compile. Labels: karpenter-provider-aws v1.14.1
`reference/instance-types`; EKS user guide, "Create a node pool" (EKS Auto Mode has the same keys).
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from gpufleet.catalogue import AWS as BY_AWS
from gpufleet.catalogue import GCP, Catalogue, InstanceType, load
from gpufleet.contract.programs.karpenter_keys import (
    ARCH,
    AUTO_MODE,
    AWS,
    GPU_CATEGORIES,
    NUMERIC,
    TYPE,
)
from gpufleet.documents.shapes import items, mapping

MIB = 1 << 20
_CLOUDS = {
    AWS: BY_AWS,
    AUTO_MODE: BY_AWS,
    "karpenter.k8s.gcp/": GCP,
    "karpenter.azure.com/": "azure",
    "oci.oraclecloud.com/": "oci",
}
"""Prefix of a provider's own keys -> its cloud (karpenter-provider-gcp 00d549e and
karpenter-provider-azure 00ae112 `labels.go`; oracle/karpenter-provider-oci issue 31)."""
_TYPES = frozenset({TYPE, "karpenter.azure.com/sku-name", "oci.oraclecloud.com/instance-shape"})
_GPU_KEYS = frozenset(
    {"instance-gpu-name", "instance-gpu-count", "instance-gpu-manufacturer", "instance-gpu-memory"}
)
_NEWER_GPU_FAMILY = re.compile(r"(?:[gp][0-9]|gr[0-9]|a[2-9])")
"""Families of machines with NVIDIA GPUs that the catalogue lacks."""


@dataclass(frozen=True, slots=True)
class NodeRequirement:
    """One readable entry of `requirements`."""

    index: int
    key: str
    operator: str
    values: tuple[str, ...]
    counts: bool = False
    """Whether it requires a number of different values (`minValues`)."""

    @property
    def provider(self) -> str:
        """The prefix of the provider's own keys; empty for Kubernetes' and Karpenter's."""
        return next((prefix for prefix in _CLOUDS if self.key.startswith(prefix)), "")

    @property
    def label(self) -> str:
        """The key without the provider's prefix; keys of Azure in the form of AWS."""
        own = self.key.removeprefix(self.provider)
        return f"instance-{own[4:]}" if own.startswith(("sku-gpu-", "sku-cpu")) else own

    @property
    def is_type(self) -> bool:
        """Whether the values are machine types."""
        return self.key in _TYPES


def read_requirements(value: Any) -> tuple[NodeRequirement, ...]:
    """The readable entries, in order."""
    found: list[NodeRequirement] = []
    for index, item in enumerate(map(mapping, items(value))):
        key, operator = item.get("key"), item.get("operator")
        values = tuple(map(str, items(item.get("values"))))
        if isinstance(key, str) and isinstance(operator, str):
            counts = item.get("minValues") is not None
            found.append(NodeRequirement(index, key, operator, values, counts))
    return tuple(found)


def cloud_of(requirements: Sequence[NodeRequirement]) -> str:
    """The cloud of the machines; AWS, Karpenter's first provider, if no key or type shows it."""
    for one in requirements:
        if one.provider:
            return _CLOUDS[one.provider]
    named = (load().sold(name) for one in requirements if one.is_type for name in one.values)
    return next((row.cloud for row in named if row is not None), BY_AWS)


def selected(requirements: Sequence[NodeRequirement]) -> tuple[InstanceType, ...]:
    """Machines with NVIDIA GPUs that every requirement allows, including parts of GPUs."""
    return _selected(tuple(requirements), load())


@lru_cache(maxsize=512)
def _selected(
    requirements: tuple[NodeRequirement, ...], catalogue: Catalogue
) -> tuple[InstanceType, ...]:
    return tuple(
        row
        for row in machines(cloud_of(requirements), catalogue)
        if all(admits(row, one, catalogue) for one in requirements)
    )


def whole_machines(
    requirements: Sequence[NodeRequirement], catalogue: Catalogue
) -> tuple[InstanceType, ...]:
    """The machines with whole GPUs."""
    found = _selected(tuple(requirements), catalogue)
    return tuple(row for row in found if not row.attachable and not row.fractional)


def machines(cloud: str = BY_AWS, catalogue: Catalogue | None = None) -> tuple[InstanceType, ...]:
    """Every machine of a cloud with NVIDIA GPUs, including parts of GPUs."""
    catalogue = catalogue or load()
    return tuple(
        row
        for row in (*catalogue.instances.values(), *catalogue.offered.values())
        if row.cloud == cloud and catalogue.gpu(row.accelerator.gpu).vendor == "nvidia"
    )


def demands_gpus(requirements: Sequence[NodeRequirement]) -> bool:
    """Whether only machines with NVIDIA GPUs can satisfy the requirements."""
    types = {row.name for row in machines(cloud_of(requirements))}
    for one in requirements:
        if one.operator == "In" and one.label == "instance-gpu-manufacturer":
            return set(one.values) == {"nvidia"}
        asks = one.operator in ("Exists", "Gt", "Gte") or (
            one.operator == "In" and one.values != ("0",)
        )
        if one.label in _GPU_KEYS and asks:
            return True
        if one.values and _with_gpus(one, types) == set(one.values):
            return True
    return False


def _with_gpus(one: NodeRequirement, types: Set[str]) -> Set[str] | None:
    """The listed types, categories or families with NVIDIA GPUs; None: the entry lists none of the
    three."""
    values = frozenset(one.values)
    lists = one.operator == "In"
    if lists and one.is_type:
        return values & types
    if lists and one.label == "instance-category":
        return values & GPU_CATEGORIES
    if lists and one.label == "instance-family":
        return set(filter(_has_gpus, values))
    return None


def excludes_gpus(requirements: Sequence[NodeRequirement]) -> bool:
    """Whether no machine with NVIDIA GPUs can satisfy them."""
    for one in requirements:
        values = set(one.values)
        if one.label in _GPU_KEYS and one.operator == "DoesNotExist":
            return True
        if values and not one.is_type and _with_gpus(one, values) == set():
            return True
        without = one.operator == "NotIn" and one.label == "instance-category"
        if without and values >= GPU_CATEGORIES:
            return True
    return False


def mixes_gpus(requirements: Sequence[NodeRequirement]) -> bool:
    """Whether they name machines with NVIDIA GPUs and machines without, and allow both."""
    if demands_gpus(requirements) or excludes_gpus(requirements):
        return False
    types = {row.name for row in machines(cloud_of(requirements))}
    return any(_with_gpus(one, types) for one in requirements)


def names_newer(requirements: Sequence[NodeRequirement]) -> bool:
    """Whether they name a family that has no machine in the catalogue."""
    return any(
        one.label == "instance-family" and one.operator == "In" and not set(one.values) <= families
        for families in [set(_families())]
        for one in requirements
    )


def _has_gpus(family: str) -> bool:
    known = _families().get(family)
    return _NEWER_GPU_FAMILY.match(family) is not None if known is None else known


@cache
def _families() -> dict[str, bool]:
    """Family -> whether its machines have NVIDIA GPUs."""
    catalogue = load()
    return {
        _family(row): catalogue.gpu(row.accelerator.gpu).vendor == "nvidia"
        for row in catalogue.instances.values()
    }


def names(row: InstanceType, requirements: Sequence[NodeRequirement]) -> bool:
    """Whether a requirement names the machine's type or family itself."""
    return any(
        one.operator == "In"
        and (
            (one.is_type and row.name in one.values)
            or (one.label == "instance-family" and _family(row) in one.values)
        )
        for one in requirements
    )


def admits(row: InstanceType, one: NodeRequirement, catalogue: Catalogue | None = None) -> bool:
    """Whether a machine satisfies a requirement; a requirement that the catalogue cannot answer
    does not exclude it."""
    actual = _label(row, one, catalogue or load())
    if actual is None:
        return True
    match one.operator:
        case "In":
            return bool(actual.intersection(one.values))
        case "NotIn":
            return not actual.intersection(one.values)
        case "DoesNotExist":
            return False
        case operator if operator in NUMERIC:
            return any(_compares(value, operator, one.values) for value in actual)
        case _:
            return True


def _compares(actual: str, operator: str, values: tuple[str, ...]) -> bool:
    if len(values) != 1 or not values[0].isdecimal() or not actual.isdecimal():
        return True
    return NUMERIC[operator](int(actual), int(values[0]))


def _family(row: InstanceType) -> str:
    """`g6` of g6.xlarge, `a2` of a2-highgpu-1g."""
    return row.name.partition(".")[0] if row.cloud == BY_AWS else row.family


def _label(row: InstanceType, one: NodeRequirement, catalogue: Catalogue) -> frozenset[str] | None:
    """Values of a label on the machine's nodes; None if the catalogue does not have them."""
    if one.is_type:
        return frozenset({row.name})
    if one.key == ARCH:
        return frozenset({row.architecture})
    if not one.provider:
        return None
    if one.label == "instance-gpu-name":
        return _gpu_names(row, catalogue)
    family, size = _family(row), row.name.partition(".")[2]
    letters, generation = re.match(r"[a-z]+", family), re.search(r"\d+", family)
    accelerator = row.accelerator
    count = accelerator.api_count if accelerator.api_count is not None else accelerator.count
    memory, own = row.memory_bytes, accelerator.memory_bytes
    found: dict[str, object] = {
        "instance-family": family,
        "instance-size": size or None,
        "instance-category": letters[0] if letters else None,
        "instance-generation": generation[0] if generation else None,
        "instance-cpu": row.vcpu,
        "instance-memory": None if memory is None else memory // MIB,
        "instance-gpu-manufacturer": catalogue.gpu(accelerator.gpu).vendor,
        "instance-gpu-count": count,
        "instance-gpu-memory": None if own is None else own // MIB,
    }
    value = found.get(one.label)
    return None if value is None else frozenset({str(value)})


def _gpu_names(row: InstanceType, catalogue: Catalogue) -> frozenset[str]:
    """Karpenter's name of the GPU; if the catalogue lacks it, derived from its key."""
    name = catalogue.gpu(row.accelerator.gpu).karpenter_name
    if row.cloud == BY_AWS and name is not None:
        return frozenset({name})
    key = row.accelerator.gpu
    names = {key, key.partition("-")[0]}
    return frozenset(names | {one.lower() for one in names})
