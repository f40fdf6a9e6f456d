"""Machine types of pools: smaller ones, enough of them, GPUs that they have."""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from gpufleet.catalogue import GCP, Catalogue, InstanceType
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.cluster import FleetFacts, PodGroup
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money, usd_hour
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.money.pools import priced_where_it_is
from gpufleet_policies.readers.gke import GKE_ACCELERATOR
from gpufleet_policies.rules.node_labels import names_of_clouds
from gpufleet_policies.rules.placement import accepts, place_of
from gpufleet_policies.rules.pool_money import smallest
from gpufleet_policies.rules.pools import POOLS, gpu_pools, gpu_workloads, place
from gpufleet_policies.rules.written import written_rule

_DAEMONS = Fraction(110, 100)
"""Room for the node's own pods: a tenth in addition to the requests of workloads."""


def _row(pool: NodePool, catalogue: Catalogue) -> InstanceType | None:
    """The only machine type of a pool; None for lists and for machines without an offer."""
    if not pool.instance_types.is_known or len(pool.instance_types.value) != 1:
        return None
    return catalogue.instances.get(pool.instance_types.value[0])


def _ways(pool: NodePool) -> str:
    """The way of buying that prices are compared for: spot where a pool buys nothing else."""
    return "spot" if pool.capacity.found == frozenset({"spot"}) else "onDemand"


def _price(row: InstanceType, way: str) -> int | None:
    price = row.price(way)
    return price.high_micro_usd_per_hour or price.micro_usd_per_hour


@written_rule("cheaper-instance-same-gpu", POOLS)
def cheaper_instance(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """A cheaper type has the same GPU, memory and count, and all pods declared for the pool fit.

    Pods must declare what they need. EFA, GPUDirect and local NVMe of the machine are kept: the
    machine may have been chosen for them. Silent for pools of several types: their provisioner
    takes the cheapest that the pods fit.
    """
    for pool in gpu_pools(context, subject):
        catalogue = priced_where_it_is(pool, context.catalogue)
        row = _row(pool, catalogue)
        if row is None or row.accelerator.count is None:
            continue
        need = _need(context, pool, row.accelerator.count)
        way = _ways(pool)
        own = _price(row, way)
        if need is None or own is None:
            continue
        cheaper = _smaller(catalogue, row, need, own, way)
        if cheaper is None:
            continue
        price, name = cheaper
        nodes = smallest(pool)
        cores, memory = need
        yield cheaper_instance.say(
            place(pool, pool.instance_types_place),
            row=row,
            own=usd_hour(own),
            cores=float(cores),
            gibibytes=float(memory) / (1 << 30),
            name=name,
            price=usd_hour(price),
            money=Money(
                AmountKind.WASTE,
                Fraction((own - price) * nodes),
                Fraction(0),
                f"{nodes} node(s), {row.name} against {name} {way}",
            ),
        )


def _need(context: RuleContext, pool: NodePool, count: int) -> tuple[Decimal, Decimal] | None:
    """Cores and bytes that pods request on a full node; None where a pod has no request."""
    worst: list[tuple[Decimal, Decimal]] = []
    for group, asked, cores, memory in _asks(context).values():
        if accepts(context, pool, group) is False:
            continue
        if cores is None or memory is None or asked is None:
            return None
        pods = max(1, count // max(1, asked))
        worst.append((cores * pods, memory * pods))
    if not worst:
        return None
    return max(c for c, _ in worst), max(m for _, m in worst)


def _fits(other: InstanceType, row: InstanceType, need: tuple[Decimal, Decimal]) -> bool:
    """Whether the pods and the node's own pods fit on it, and nothing is lost."""
    cores, memory = (amount * _DAEMONS.numerator / _DAEMONS.denominator for amount in need)
    has_room = (other.vcpu or 0) >= cores and (other.memory_bytes or 0) >= memory
    return has_room and not _loses(row, other)


Ask = tuple[PodGroup, int | None, Decimal | None, Decimal | None]
"""A group of pods, GPUs, cores and bytes of each; None if not stated."""


@once
def _asks(context: RuleContext) -> dict[object, Ask]:
    """Requests of all pods with GPUs, each different request once."""
    found: dict[object, Ask] = {}
    for workload in gpu_workloads(context):
        for group in workload.pod_groups if not workload.node_agent else ():
            if group.gpu_resources:
                gpus = group.pod_gpus(group.gpu_resources[0]).found
                cores, memory = group.pod_request("cpu"), group.pod_request("memory")
                ask = (gpus, cores.found, memory.found)
                found[(place_of(group), ask)] = (group, *ask)
    return found


def _smaller(
    catalogue: Catalogue, row: InstanceType, need: tuple[Decimal, Decimal], own: int, way: str
) -> tuple[int, str] | None:
    """Price and name of the cheapest."""
    found: list[tuple[int, str]] = []
    for other in catalogue.instances_with_gpu(row.accelerator.gpu, row.cloud):
        price = _price(other, way)
        if price is None or price >= own or other.accelerator.count != row.accelerator.count:
            continue
        if other.architecture != row.architecture or other.attachable:
            continue
        if _fits(other, row, need):
            found.append((price, other.name))
    return min(found, default=None)


def _loses(row: InstanceType, other: InstanceType) -> bool:
    """Whether the smaller machine lacks something people choose the larger one for."""
    if (row.efa_interfaces or 0) > (other.efa_interfaces or 0):
        return True
    if row.gpudirect is not None and row.gpudirect != other.gpudirect:
        return True
    return bool(row.local_nvme_bytes) and not other.local_nvme_bytes


_SAME = Fraction(9, 10)
"""Part of the old bandwidth that counts as the same."""


@written_rule("superseded-gpu-generation", POOLS)
def superseded(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """A newer architecture of the same cloud has at least the memory, the 16-bit rate, nine tenths
    of the bandwidth, NVLink if the old one has it, the number of GPUs on a node, and a lower price.

    Silent for capacity that is already paid for, and for pools of several types: the cheapest is
    chosen when a node is created.
    """
    for pool in gpu_pools(context, subject):
        catalogue = priced_where_it_is(pool, context.catalogue)
        row = _row(pool, catalogue)
        if row is None or not row.accelerator.count or pool.is_committed:
            continue
        if pool.size.fixed and pool.size.standing.found:
            continue  # its fixed size is the first question
        way = _ways(pool)
        own = _price(row, way)
        if own is None or row.fractional:
            continue
        better = _newer(catalogue, row, Fraction(own, row.accelerator.count), way)
        if better is None:
            continue
        price, _, other = better
        mine = Fraction(own, row.accelerator.count)
        gpus = smallest(pool) * row.accelerator.count
        yield superseded.say(
            place(pool, pool.instance_types_place),
            row=row,
            mine=usd_hour(mine),
            other=other,
            price=usd_hour(price),
            money=Money(
                AmountKind.WASTE,
                (mine - price) * gpus,
                Fraction(0),
                f"{gpus} GPU(s), {row.name} against {other.name} {way}",
            ),
        )


@lru_cache(maxsize=512)
def _newer(
    catalogue: Catalogue, row: InstanceType, price: Fraction, way: str
) -> tuple[Fraction, str, InstanceType] | None:
    """Price of a GPU, name and machine: the cheapest."""
    old = catalogue.gpu(row.accelerator.gpu)
    old_rates = next(iter(old.rates.values()), None)
    if old_rates is None or old.memory_bytes is None:
        return None
    found: list[tuple[Fraction, str, InstanceType]] = []
    for other in catalogue.instances.values():
        gpu = catalogue.gpu(other.accelerator.gpu)
        rates = next(iter(gpu.rates.values()), None)
        if other.cloud != row.cloud or other.fractional or other.attachable or rates is None:
            continue
        if (gpu.compute_capability or (0, 0)) <= (old.compute_capability or (0, 0)):
            continue
        if (gpu.memory_bytes or 0) < old.memory_bytes or gpu.vendor != "nvidia":
            continue
        if (rates.memory_bandwidth or 0) < (old_rates.memory_bandwidth or 0) * _SAME:
            continue
        if (rates.fp16 or rates.bf16 or 0) < (old_rates.fp16 or old_rates.bf16 or 0):
            continue
        if other.architecture != row.architecture:
            continue
        count, listed = other.accelerator.count, _price(other, way)
        if not count or listed is None or count != row.accelerator.count:
            continue
        if old.nvlink_bytes_per_second and not gpu.nvlink_bytes_per_second and count > 1:
            continue
        if row.efa_interfaces and not other.efa_interfaces:
            continue  # a launch template with EFA interfaces is refused there
        if Fraction(listed, count) < price:
            found.append((Fraction(listed, count), other.name, other))
    return min(found, key=lambda one: one[:2], default=None)


@written_rule("spot-without-diversity", POOLS)
def without_diversity(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """Pools that buy only spot and may use fewer than `manyTypes` machine types.

    GKE pools have exactly one type: a second pool is the solution there, and nothing is reported.
    """
    for pool in gpu_pools(context, subject):
        if not pool.capacity.is_known or pool.capacity.value != frozenset({"spot"}):
            continue
        types = pool.instance_types
        if not types.is_known or len(types.value) >= context.thresholds.many_types:
            continue
        row = context.catalogue.instances.get(types.value[0])
        if row is not None and row.cloud == "gcp":
            continue
        yield without_diversity.say(
            place(pool, pool.instance_types_place),
            count=len(types.value),
            context=context,
            names=list(types.value),
            alternative=_more(context, pool, row),
        )


def _more(context: RuleContext, pool: NodePool, own: InstanceType | None) -> str:
    if own is None or not pool.gpu.is_known:
        return "allow more types"
    others = [
        row.name
        for row in context.catalogue.instances_with_gpu(pool.gpu.value, own.cloud)
        if row.name not in pool.instance_types.value
        and row.accelerator.count == own.accelerator.count
    ]
    return f"allow also {', '.join(others[:3])}" if others else "allow on-demand as a second choice"


_NO_GPUS = re.compile(r"(?:e2|n2d?|n4d?|c2d?|c3d?|c4[ad]?|t2[ad]|m[1-4]|z3|h3)-")
"""Families of Google's machines to which no GPU can be attached (Compute Engine, GPU platforms)."""


@written_rule("gke-accelerator-not-of-machine", POOLS)
def not_of_machine(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """Machines with built-in GPUs have one kind and number; to N1 some can be attached."""
    for pool in gpu_pools(context, subject):
        google, *_ = names_of_clouds(context.catalogue)
        name = pool.labels.get(GKE_ACCELERATOR) if pool.maker is Maker.GKE else None
        if name is not None and name not in google:
            near = nearest_names(name, google)
            yield not_of_machine.say(
                case="unknown",
                name=name,
                nearest=list(near),
                alternative=f"write {' or '.join(near)}" if near else "look the name up",
            )
        types = pool.instance_types.found or ()
        if pool.maker is not Maker.GKE or len(types) > 1 or not pool.gpu.is_known:
            continue
        kind, count = pool.gpu.value, pool.gpus_per_node.found
        name = types[0] if types else "one machine"
        own = context.catalogue.instances.get(name)
        rows = [r for r in context.catalogue.instances.values() if r.attachable or not types]
        rows = [own] if own else [row for row in rows if row.cloud == GCP]
        without = _NO_GPUS.match(name) is not None
        if types and own is None and not without and not name.startswith("n1-"):
            continue
        same = {row.accelerator.count for row in rows if row.accelerator.gpu == kind}
        if without:
            has, instead = "no GPU can be attached to it", "choose a machine of g2, a2, a3 or n1"
        elif not same:
            carried = own.accelerator.gpu if own else "other GPUs"
            has, instead = f"it has {carried}", f"choose a machine with {kind}, or that GPU"
        elif count not in (None, *same) and None not in same:
            numbers = " or ".join(str(one) for one in sorted(n for n in same if n is not None))
            has, instead = f"it has {numbers}", f"write count: {numbers}, or a larger machine"
        else:
            continue
        yield not_of_machine.say(
            "nodeConfig.guestAccelerators" if types else "spec.priorities",
            name=name,
            number=count or "some",
            kind=kind,
            has=has,
            count=count,
            alternative=instead,
            certain=bool(types),
        )
