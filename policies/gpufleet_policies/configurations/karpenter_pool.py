"""A NodePool against Karpenter's rules: how it buys and where, its node class, the overlays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpufleet.catalogue import AWS as BY_AWS
from gpufleet.catalogue import InstanceType, load
from gpufleet.contract.programs.karpenter_keys import AWS, CAPACITY_TYPE, ZONE
from gpufleet.contract.programs.karpenter_machines import (
    NodeRequirement,
    admits,
    cloud_of,
    demands_gpus,
    names,
    names_newer,
    read_requirements,
    selected,
)
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.configurations.karpenter_requirements import (
    validate_group,
    validate_requirements,
)


@dataclass(frozen=True, slots=True)
class PoolParts:
    """The parts of a NodePool that several rules read."""

    path: str
    spec: Mapping[str, Any]
    labels: Mapping[str, Any]
    requirements: tuple[NodeRequirement, ...]
    machines: tuple[InstanceType, ...]
    """Machines with GPUs it may launch; empty where it demands none."""


def validate_against_class(
    pool: PoolParts, spec: Mapping[str, Any], where: str, report: CheckReport
) -> None:
    """Capacity types, zones and machines against the reservations and EFA interfaces of a class."""
    interfaces = [as_mapping(one) or {} for one in as_list(spec.get("networkInterfaces")) or []]
    count = sum(one.get("interfaceType") == "efa-only" for one in interfaces)
    zones = {
        value
        for one in pool.requirements
        if one.key == ZONE and one.operator == "In"
        for value in one.values
    }
    short = [row.name for row in pool.machines if (row.efa_interfaces or 0) < count]
    report.apply(
        "karpenter pool and class",
        where,
        allowed=sorted(_allowed(pool)),
        reservations=as_list(spec.get("capacityReservationSelectorTerms")),
        count=count,
        zones=sorted(zones),
        named=", ".join(sorted(zones)) or "every zone of its subnets",
        machines=short,
        has="has" if len(short) == 1 else "have",
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


MIG_LABEL = "nvidia.com/mig.config"
SHARING_LABEL = "nvidia.com/device-plugin.config"
GPU = "nvidia.com/gpu"
_WORDS = {"cpu": "CPUs", GPU: "GPUs", "memory": "of memory"}
_COUNT = f"{AWS}instance-gpu-count"
_NAME = f"{AWS}instance-gpu-name"


def validate_pool(
    path: str,
    item: Mapping[str, Any],
    its_class: Mapping[str, Any] | None,
    overlays: Sequence[Mapping[str, Any]],
    report: CheckReport,
) -> None:
    """Validate one NodePool. `its_class` is None where it is not in the text."""
    spec = as_mapping(item.get("spec")) or {}
    place = child(path, "spec")
    report.apply("karpenter pool", place, spec=spec)
    outer = as_mapping(spec.get("template")) or {}
    template = as_mapping(outer.get("spec")) or {}
    where = child(child(child(place, "template"), "spec"), "requirements")
    validate_requirements(template.get("requirements"), where, report)
    validate_group(template, where, report)
    requirements = read_requirements(template.get("requirements"))
    if not demands_gpus(requirements) or cloud_of(requirements) != BY_AWS:
        return
    metadata = as_mapping(outer.get("metadata")) or {}
    pool = PoolParts(
        place,
        spec,
        as_mapping(metadata.get("labels")) or {},
        requirements,
        selected(requirements),
    )
    _validate_machines(pool, where, report)
    _validate_limits(pool, overlays, child(place, "limits"), report)
    _validate_overlays(pool, overlays, report)
    if its_class is not None:
        validate_against_class(pool, as_mapping(its_class.get("spec")) or {}, where, report)


def _validate_machines(pool: PoolParts, where: str, report: CheckReport) -> None:
    if not pool.machines:
        lost = _lost_to_count(pool)
        if not lost and not names_newer(pool.requirements):
            report.say(
                "karpenter-matches-nothing",
                where,
                fix="remove the requirement that excludes your machines: "
                + ", ".join(dict.fromkeys(one.key for one in pool.requirements)),
            )
    for one in pool.requirements:
        if one.key != _COUNT:
            continue
        lost = [row.name for row in _lost_to_count(pool)]
        if lost:
            report.say(
                "karpenter-gpu-count-drops-fractions",
                child(where, one.index),
                lost=lost,
                key=one.key,
                operator=one.operator,
                values=", ".join(one.values),
            )
    asked = {v for one in pool.requirements if one.key == _NAME for v in one.values}
    by_name: dict[str, set[str]] = {}
    only = len({_gpu_name(row) for row in pool.machines}) == 1
    for row in pool.machines:
        # A pool of any GPU, or of several, leaves the choice to its pods.
        name = _gpu_name(row)
        if name is None or row.fractional:
            continue
        if name in asked or (only and names(row, pool.requirements)):
            by_name.setdefault(name, set()).add(row.accelerator.gpu)
    for name, gpus in by_name.items():
        if len(gpus) > 1:
            types = sorted(r.name for r in pool.machines if _gpu_name(r) == name)
            report.say(
                "karpenter-memories-mixed",
                where,
                gpus=sorted(gpus),
                together=" and ".join(sorted(gpus)),
                name=name,
                types=", ".join(types),
            )


def _validate_limits(
    pool: PoolParts, overlays: Sequence[Mapping[str, Any]], place: str, report: CheckReport
) -> None:
    """A limit that no machine stays below, and one of processors that the GPUs do not reach: a
    limit counts all of a node. 0 is how a pool is paused."""
    limits = as_mapping(pool.spec.get("limits")) or {}
    sizes = [_sizes(row) for row in pool.machines]
    counted = any(GPU in str(one.get("spec")) for one in overlays)
    for resource in ("cpu", GPU, "memory"):
        limit = quantity(str(limits.get(resource, "")))
        least = min((one[resource] or Fraction(0) for one in sizes), default=Fraction(0))
        if limit is None or limit >= least or (resource != "cpu" and not limit):
            continue
        if resource == GPU and counted:
            continue  # an overlay states the resources of a node
        name = min(pool.machines, key=lambda row: _sizes(row)[resource] or 0).name
        report.add(
            "karpenter-limit-below-one-node",
            child(place, resource),
            f"a limit of {limits[resource]} {_WORDS[resource]} is less than one node: {name} has "
            f"{f'{float(least) / 2**30:.0f}Gi' if resource == 'memory' else int(least)}",
            f"raise limits.{resource}, or remove it",
            found=str(limits[resource]),
            limit=int(least),
        )
        return
    cpus, gpus = (quantity(str(limits.get(name, ""))) for name in ("cpu", GPU))
    machines = [(one["cpu"], one[GPU]) for one in sizes]
    if cpus is None or gpus is None or not machines or not all(c and g for c, g in machines):
        return
    most = max(int(cpus // (vcpu or 1)) * int(count or 0) for vcpu, count in machines)
    if most < gpus:
        report.say(
            "karpenter-limit-reached-first",
            child(place, "cpu"),
            found=str(limits["cpu"]),
            gpus=most,
            cpu=limits["cpu"],
            count=limits[GPU],
        )


def _sizes(row: InstanceType) -> dict[str, Fraction | None]:
    """The amount of one node in limits; None where it is unknown. GPUs are those of EC2's API, and
    7.5 % of the memory do not count (aws/karpenter-provider-aws v1.14.1,
    `vmMemoryOverheadPercent`)."""
    count, memory = row.accelerator.api_count, row.memory_bytes
    gpus = row.accelerator.count if count is None else count
    return {
        "cpu": Fraction(row.vcpu) if row.vcpu else None,
        GPU: None if gpus is None else Fraction(gpus),
        "memory": None if memory is None else memory * Fraction(925, 1000),
    }


def _lost_to_count(pool: PoolParts) -> list[InstanceType]:
    """Named machines with a part of a GPU that only the count excludes."""
    others = [one for one in pool.requirements if one.key != _COUNT]
    counts = [one for one in pool.requirements if one.key == _COUNT]
    return [
        row
        for row in selected(others)
        if row.fractional and names(row, others) and not all(admits(row, one) for one in counts)
    ]


def _validate_overlays(
    pool: PoolParts, overlays: Sequence[Mapping[str, Any]], report: CheckReport
) -> None:
    offered = [
        as_mapping(spec.get("capacity")) or {}
        for overlay in overlays
        for spec in [as_mapping(overlay.get("spec")) or {}]
        if _holds_for(spec, pool)
    ]
    # Huge pages do not show the partitions or shares of GPUs.
    resources = {n for capacity in offered for n in capacity if not n.startswith("hugepages-")}
    layout = pool.labels.get(MIG_LABEL)
    report.apply(
        "karpenter pool and overlays",
        pool.path,
        resources=resources,
        machines=pool.machines,
        parts=sorted(row.name for row in pool.machines if row.fractional),
        layout=layout if isinstance(layout, str) else None,
        configuration=pool.labels.get(SHARING_LABEL),
    )


def _holds_for(overlay: Mapping[str, Any], pool: PoolParts) -> bool:
    """Whether an overlay can hold for nodes of the pool: nothing it requires contradicts them."""
    for one in read_requirements(overlay.get("requirements")):
        own = pool.labels.get(one.key)
        if isinstance(own, str):
            if one.operator == "In" and own not in one.values:
                return False
        elif pool.machines and not any(admits(row, one) for row in pool.machines):
            return False
    return True


def _gpu_name(row: InstanceType) -> str | None:
    return load().gpu(row.accelerator.gpu).karpenter_name
