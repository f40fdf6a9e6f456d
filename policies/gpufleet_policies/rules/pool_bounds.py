"""Bounds of pools, and capacity that waits for them: warm pools, buffers, reservations."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import FleetFacts
from gpufleet.cluster.capacity import Reservation
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money
from gpufleet.findings.remediation import add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import LargestSize, reach, way_price
from gpufleet_policies.readers.raw_pods import total_of
from gpufleet_policies.rules.placement import POOL_LABEL
from gpufleet_policies.rules.pool_money import nodes_money, setting
from gpufleet_policies.rules.pools import POOLS, all_pools, gpu_pools, place
from gpufleet_policies.rules.written import written_rule


@written_rule("gpu-pool-unbounded", POOLS)
def unbounded(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """No limit at all is refused: its spend has no bound.

    Limits in cpu or memory count, by the machine with most GPUs that they allow. Where a
    NodeOverlay or time-slicing advertises several resources for one GPU, a GPU limit counts these
    and allows fewer cards.
    A size above `maxGpus` of the thresholds must be confirmed.
    """
    for pool in gpu_pools(context, subject):
        if pool.karpenter is not None and pool.karpenter.static:
            continue
        found = reach(pool, context.catalogue)
        if found is None:
            continue
        if found.gpus is None:
            yield _endless(context, pool, found)
            continue
        most = context.thresholds.max_gpus
        declared = pool.compiled is not None or POOL_LABEL in pool.labels
        if found.gpus <= most or pool.is_committed or declared:
            continue  # a fleet's nodes.max is meant: its budget is the limit, in its files too
        cost = found.micro_usd_per_hour
        yield unbounded.say(
            place(pool, pool.size.maximum_place),
            found=found,
            gpus=int(found.gpus),
            most=most,
            alternative=_lower(pool, most),
            money=Money(
                AmountKind.EXPOSURE,
                None if cost is None else Fraction(cost),
                found.gpus,
                f"largest size by {found.because}",
            ),
        )


def _endless(context: RuleContext, pool: NodePool, found: LargestSize) -> Finding:
    is_karpenter = pool.karpenter is not None
    return unbounded.say(
        place(pool, pool.size.maximum_place),
        case="endless",
        found=found,
        alternative='write spec.limits: {"nvidia.com/gpu": N}'
        if is_karpenter
        else "write a largest size",
        remediation=(add({"nvidia.com/gpu": str(context.thresholds.max_gpus)}, "spec", "limits"),)
        if is_karpenter and not (pool.karpenter and pool.karpenter.limits)
        else (),
    )


def _lower(pool: NodePool, most: int) -> str:
    if pool.karpenter is not None:
        return f'write spec.limits: {{"nvidia.com/gpu": {most}}}, or raise maxGpus'
    count = pool.gpus_per_node.value if pool.gpus_per_node.is_known else 1
    return f"lower it to {max(1, most // count // pool.size.zones)}, or raise maxGpus"


@written_rule("running-warm-pool", NodePool)
def warm_pool(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """Only in the state Running; stopped and hibernated machines pay their disks."""
    for pool in gpu_pools(context, subject):
        if pool.warm_nodes.is_known and pool.warm_nodes.value > 0:
            stopped = "STOPPED" if pool.maker is Maker.EKS else "Stopped"
            yield warm_pool.say(
                pool.warm_nodes.place,
                pool=pool,
                stopped=stopped,
                money=nodes_money(context, pool, pool.warm_nodes.value, AmountKind.WASTE),
                remediation=setting(pool, stopped, pool.warm_nodes.place),
            )


@written_rule("reservation-not-consumed", Reservation)
def reservation(context: RuleContext, reserved: Reservation) -> Iterator[Finding]:
    """Pools that name the reservation; for open ones also every pool of the same machine.

    Silent where no pool is declared with it, or some limit cannot be read.
    """
    if not reserved.count.is_known or not reserved.gpus_per_node.is_known:
        return
    if not any(pool.is_certainly_gpu for pool in all_pools(context)):
        return
    users = [pool for pool in all_pools(context) if _may_consume(pool, reserved)]
    reachable = total_of([pool.size.maximum for pool in users])
    if not reachable.is_known or any("?" in p.reservations for p in users):
        return
    idle = reserved.count.value - reachable.value
    if idle > 0:
        who = ", ".join(pool.name for pool in users) or "no pool"
        yield reservation.say(
            reserved=reserved,
            who=who,
            reachable=reachable.value,
            money=_idle_money(context, reserved, idle),
        )


def _may_consume(pool: NodePool, reserved: Reservation) -> bool:
    if set(pool.reservations) & {*reserved.names, "?"}:
        return True
    if reserved.targeted.is_known and reserved.targeted.value:
        return False
    if not pool.instance_types.is_known or not reserved.instance_type.is_known:
        return pool.is_certainly_gpu
    return reserved.instance_type.value in pool.instance_types.value


def _idle_money(context: RuleContext, reserved: Reservation, machines: int) -> Money:
    count = reserved.gpus_per_node.value * machines
    row = context.catalogue.instances.get(reserved.instance_type.found or "")
    price = None if row is None else way_price(row, "reserved")[1]
    basis = f"{machines} x {reserved.instance_type.found}"
    return Money(
        AmountKind.WASTE,
        None if price is None else Fraction(price * machines),
        Fraction(count),
        basis,
    )
