"""Pods and nodes: how many pods fit a node, and which GPUs of it stay empty."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil

from gpufleet.cluster import Locator, PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money, usd_hour
from gpufleet.findings.remediation import JsonPatch, replace
from gpufleet.rules.context import RuleContext, SameObject, once
from gpufleet_policies.rules.hardware import waste
from gpufleet_policies.rules.shapes import NodeShape, shapes
from gpufleet_policies.rules.written import written_rule


@dataclass(frozen=True)
class _Packed:
    """Equal pods on one machine."""

    shape: NodeShape
    gpus: int
    """Request of one pod."""
    cores: Decimal
    memory: Decimal

    @property
    def by_gpus(self) -> int:
        """Pods that the GPUs allow."""
        return self.shape.gpus // self.gpus

    @cached_property
    def pods(self) -> int:
        """Pods that fit."""
        found = self.by_gpus
        if self.shape.cores is not None and self.cores > 0:
            found = min(found, int(self.shape.cores / self.cores))
        if self.shape.memory_bytes is not None and self.memory > 0:
            found = min(found, int(self.shape.memory_bytes / self.memory))
        return found

    @property
    def stranded(self) -> int:
        """GPUs of a full node that none of its pods has."""
        return self.shape.gpus - self.gpus * self.pods


def _packed(
    context: RuleContext, workload: WorkloadFacts
) -> Iterator[tuple[PodGroup, list[_Packed]]]:
    """The packing of each group with whole GPUs on every machine it may run on.

    Computed once for all pods with the same request and the same machines.
    """
    for group in workload.running_groups():
        if group.gpu_resources != (GPU,):
            continue
        gpus = group.pod_gpus(GPU)
        cores, memory = group.pod_request("cpu"), group.pod_request("memory")
        if not gpus.is_known or gpus.value < 1 or cores.is_unknown or memory.is_unknown:
            continue
        machines = shapes(context, group, GPU)
        asked = (gpus.value, cores.found or Decimal(0), memory.found or Decimal(0))
        key = ("packed", SameObject(machines), *asked)
        if key not in context.memo:
            context.memo[key] = _on_machines(machines, *asked)
        found = context.memo[key]
        if found:
            yield group, found


def _on_machines(
    machines: tuple[NodeShape, ...], gpus: int, cores: Decimal, memory: Decimal
) -> list[_Packed]:
    if any(gpus > shape.gpus for shape in machines):
        return []
    return [_Packed(shape, gpus, cores, memory) for shape in machines]


@written_rule("pod-strands-node-gpus")
def strands(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """For every machine it may land on; stops where half of a node's GPUs or more stay empty."""
    for group, found in _packed(context, workload):
        if not all(one.pods < one.by_gpus for one in found):
            continue
        best = min(found, key=lambda one: Fraction(one.stranded, one.shape.gpus))
        shape, stranded = best.shape, best.stranded
        share = Decimal(best.gpus) / shape.gpus
        cores = None if shape.cores is None else shape.cores * share
        memory = None if shape.memory_bytes is None else shape.memory_bytes * share
        asks = _too_much(best, cores, memory)
        yield strands.say(
            group.place,
            asks=" and ".join(asks),
            best=best,
            shape=shape,
            stranded=stranded,
            limit=f"{stranded} GPUs of every node stay empty"
            if best.pods
            else "the pod stays Pending",
            alternative="request the pod's share of the node: at most "
            + " and ".join(_shares(cores, memory)),
            certain=2 * stranded >= shape.gpus,
            money=_stranded_money(workload, group, best) if best.pods else None,
            remediation=_smaller(group, cores, memory),
        )


def _too_much(packed: _Packed, cores: Decimal | None, memory: Decimal | None) -> list[str]:
    asks: list[str] = []
    if cores is not None and packed.cores > cores:
        asks.append(f"{packed.cores.normalize():f} cores")
    if memory is not None and packed.memory > memory:
        asks.append(f"{int(packed.memory) >> 20:,} MiB")
    return asks or ["too much"]


def _shares(cores: Decimal | None, memory: Decimal | None) -> list[str]:
    words = [] if cores is None else [f"{int(cores * 1000)}m CPU"]
    return words + ([] if memory is None else [f"{int(memory) >> 20:,} MiB"])


def _smaller(group: PodGroup, cores: Decimal | None, memory: Decimal | None) -> JsonPatch:
    """Lower requests to the share; only where one container requests, and by request alone."""
    asking = [c for c in group.containers if c.requests or c.limits]
    if len(asking) != 1 or not asking[0].resources_place:
        return ()
    container = asking[0]
    patch: list[object] = []
    for name, share, text in (
        ("cpu", cores, None if cores is None else f"{int(cores * 1000)}m"),
        ("memory", memory, None if memory is None else f"{int(memory) >> 20}Mi"),
    ):
        request = container.requests.get(name)
        if share is None or request is None or not request.is_known:
            continue
        if request.value.number > share:
            patch.append(replace(text, container.resources_place, "requests", name))
    return tuple(patch)  # type: ignore[arg-type]


def _stranded_money(workload: WorkloadFacts, group: PodGroup, packed: _Packed) -> Money | None:
    pods, shape = group.pods, packed.shape
    if not pods.is_known:
        return None
    nodes = ceil(pods.value / max(1, packed.pods))
    price = shape.micro_usd_per_gpu_hour
    idle = Fraction(packed.stranded * nodes)
    basis = f"{nodes} node{'' if nodes == 1 else 's'} {shape.priced}"
    if price is not None:
        basis += f", {usd_hour(price)} per GPU"
    return Money(
        AmountKind.WASTE,
        None if price is None else idle * price,
        idle,
        basis,
        all_month=not workload.runs_to_completion,
    )


@written_rule("gpu-count-does-not-divide-node")
def does_not_divide(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """One machine type only, and no other declared workload that the free GPUs could serve."""
    for group, found in _packed(context, workload):
        one = found[0]
        rest = one.shape.gpus % one.gpus
        if len(found) != 1 or not rest or one.pods < one.by_gpus:
            continue
        if not group.pods.is_known or group.pods.value < one.by_gpus:
            continue
        if _used_by_others(context, workload, group, rest):
            continue
        nodes = ceil(group.pods.value / one.by_gpus)
        fitting = [n for n in range(1, one.shape.gpus + 1) if one.shape.gpus % n == 0]
        yield does_not_divide.say(
            group.place,
            one=one,
            rest=rest,
            fitting=", ".join(map(str, fitting)),
            money=waste(
                workload,
                group.pods,
                Fraction(rest * nodes, group.pods.value),
                one.shape.micro_usd_per_gpu_hour,
                f"{nodes} nodes {one.shape.priced}",
            ),
        )


def _used_by_others(
    context: RuleContext, workload: WorkloadFacts, group: PodGroup, rest: int
) -> bool:
    machines = {shape.name for shape in shapes(context, group, GPU)}
    return any(
        locator != workload.locator and (gpus is None or (gpus <= rest and machines & names))
        for locator, gpus, names in _all_groups(context)
    )


@once
def _all_groups(context: RuleContext) -> list[tuple[Locator, int | None, set[str]]]:
    """Whole GPUs of every pod declared and the machines it may use, once for a program.

    None: how many it requests is not known.
    """
    found: list[tuple[Locator, int | None, set[str]]] = []
    for other in context.declared(WorkloadFacts):
        for group in other.pod_groups:
            gpus = group.pod_gpus(GPU)
            if gpus.is_unknown:
                found.append((other.locator, None, set()))
            elif gpus.is_known and gpus.value > 0:
                names = {shape.name for shape in shapes(context, group, GPU)}
                found.append((other.locator, gpus.value, names))
    return found
