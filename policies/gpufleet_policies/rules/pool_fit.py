"""Workloads and their pools: the wrong way of buying, and GPUs of a node that stay empty."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil

from gpufleet.cluster import Locator, PodGroup, Provenance, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money, usd_hour
from gpufleet.findings.remediation import JsonPatch, replace
from gpufleet.rules.context import RuleContext, SameObject, once
from gpufleet_policies.rules.fleet_pools import spot_saving
from gpufleet_policies.rules.placement import gpu_groups, pools_for
from gpufleet_policies.rules.purpose import is_training, saves_checkpoints
from gpufleet_policies.rules.shapes import NodeShape, shapes
from gpufleet_policies.rules.written import written_rule


def _interruptible(workload: WorkloadFacts) -> Provenance | None:
    """Evidence that work may be interrupted; None: no evidence."""
    intent = workload.intent
    if intent.interruptible.is_known:
        return intent.interruptible.provenance if intent.interruptible.value else None
    if intent.mode.found == "batch":
        return intent.mode.provenance
    if is_training(workload) and saves_checkpoints(workload):
        return Provenance.DECLARED
    return None


@written_rule("interruptible-work-on-demand")
def interruptible(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Mode batch, training that saves checkpoints, or `interruptible: true`; on one node.

    Every pool it may run on is known and buys on demand only. Reservations, capacity blocks, flex
    start and queued provisioning are right and never fire.
    """
    evidence = _interruptible(workload)
    if evidence is None:
        return
    for group, asked, pods in gpu_groups(workload):
        if group.together.is_known and group.together.value > 1 and workload.starts_together:
            continue
        pools = [pool for pool in pools_for(context, group) if pool.maker is not Maker.FLEET]
        bought = {None if pool.is_committed else pool.capacity.found for pool in pools}
        if bought != {frozenset({"onDemand"})}:
            continue
        savings = [found for pool in pools if (found := spot_saving(context, pool)) is not None]
        if len(savings) < len(pools):
            continue
        name, listed, spot = min(savings, key=lambda one: one[1] - one[2])
        per_node = max(pool.gpus_per_node.found or 1 for pool in pools)
        gpu_hour = Fraction(listed - spot, per_node)
        yield interruptible.say(
            group.where,
            names=", ".join(pool.name for pool in pools),
            name=name,
            listed=usd_hour(listed),
            spot=usd_hour(spot),
            alternative=_spot_pool(pools[0]),
            money=Money(
                AmountKind.WASTE,
                gpu_hour * asked * pods,
                Fraction(asked * pods),
                f"{pods} pod(s) x {asked} GPU(s)",
                all_month=not workload.runs_to_completion,
            ),
            provenance=evidence,
        )


def _spot_pool(pool: NodePool) -> str:
    if pool.maker is Maker.KARPENTER:
        return "add spot to the pool's karpenter.sh/capacity-type values"
    return "add a pool that buys spot (changing this one would replace its nodes)"


@written_rule("spot-for-tightly-coupled-training")
def spot_for_training(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """All pools it may run on buy spot only. `gpufleet.dev/checkpoint-seconds` settles it.

    Or a Job without retries and without a policy for failures: an interruption is one.
    """
    once = workload.locator.kind == "Job" and workload.job and workload.job.retries.found == 0
    if (not once and not is_training(workload)) or saves_checkpoints(workload):
        return
    for group, asked, pods in gpu_groups(workload):
        if pods < 2 and not once:
            continue
        pools = pools_for(context, group)
        if not pools or not all(p.capacity.found == frozenset({"spot"}) for p in pools):
            continue
        names = ", ".join(pool.name for pool in pools)
        what = "runs" if once else f"{pods} pods of {asked} GPU(s) train together"
        lacks = "with backoffLimit 0" if once else "and no checkpoint is declared"
        yield spot_for_training.say(group.where, what=what, names=names, lacks=lacks)


_WHOLE_NODE = 4
"""GPUs per node from which a training pod that takes them all spans nodes for speed."""

_EFA = "vpc.amazonaws.com/efa"


@written_rule("multi-zone-training-group")
def multi_zone(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """A pool it is pinned to spans zones and nothing keeps the pods in one.

    Zone selectors, affinity on the zone, Kueue's required topology, placement policies and
    reservations, which have one zone, all settle it.
    """
    if not is_training(workload):
        return
    for group, asked, pods in gpu_groups(workload):
        if pods < 2 or group.zone_bound:
            continue
        pools = pools_for(context, group)
        spread = [pool for pool in pools if _spans_zones(pool)]
        if not pools or len(spread) < len(pools):
            continue
        zones = spread[0].zones.value if spread[0].zones.is_known else ()
        yield multi_zone.say(
            group.where, pods=pods, asked=asked, spread=spread, zones=len(zones) or "all"
        )


def _spans_zones(pool: NodePool) -> bool:
    """Whether its nodes certainly come up in several zones."""
    grouped = not pool.placement_group.is_absent and pool.maker is not Maker.KARPENTER
    if pool.reservations or grouped:
        return False
    return pool.zones.is_known and len(set(pool.zones.value)) > 1


@written_rule("multi-node-without-fabric")
def without_fabric(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Two and more pods that take all of four or more GPUs of machines that offer EFA or GPUDirect.

    Either the pods do not request it, or the pool does not have it.
    """
    if not is_training(workload):
        return
    for group, asked, pods in gpu_groups(workload):
        if pods < 2 or asked < _WHOLE_NODE:
            continue
        for pool in pools_for(context, group):
            missing = _missing_fabric(context, pool, group, asked)
            if missing is None:
                continue
            yield without_fabric.say(
                group.where,
                pods=pods,
                asked=asked,
                pool=pool,
                missing=missing,
                alternative="request vpc.amazonaws.com/efa in the pods, and give the pool EFA "
                "interfaces and a placement group"
                if missing.endswith("EFA") or _EFA in missing
                else "give pool and pods the GPUDirect networks",
            )
            break


def _missing_fabric(
    context: RuleContext, pool: NodePool, group: PodGroup, asked: int
) -> str | None:
    if not pool.gpus_per_node.is_known or pool.gpus_per_node.value != asked:
        return None
    if not pool.instance_types.is_known:
        return None
    rows = [context.catalogue.instances.get(name) for name in pool.instance_types.value]
    if any(row is None for row in rows):
        return None
    if all(row is not None and (row.efa_interfaces or 0) > 0 for row in rows):
        asks = any(_EFA in (*c.limits, *c.requests) for c in group.containers)
        known = group.containers_known and all(c.resources_known for c in group.containers)
        if not asks and known:
            return f"do not request {_EFA}"
        if pool.fabric.is_absent and pool.maker in (Maker.EKS, Maker.AWS):
            return "the pool's machines are not given EFA"
        return None
    if all(row is not None and row.gpudirect for row in rows):
        if pool.fabric.is_absent and pool.maker is Maker.GKE:
            return "the pool has no additional networks for GPUDirect"
        return None
    return None


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
        fitting = [n for n in range(1, one.shape.gpus + 1) if one.shape.gpus % n == 0]
        yield does_not_divide.say(
            group.place,
            one=one,
            rest=rest,
            fitting=", ".join(map(str, fitting)),
            money=_stranded_money(workload, group, one),
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
