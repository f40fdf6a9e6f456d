"""Money of pools as findings state it."""

from fractions import Fraction

from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings.money import AmountKind, Money, usd_hour
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import pool_price
from gpufleet_policies.rules.pools import gpus


def nodes_money(context: RuleContext, pool: NodePool, nodes: int, kind: AmountKind) -> Money:
    """Cost of a number of a pool's nodes, at the lowest price of the pool."""
    compiled = pool.compiled
    if compiled is not None:
        price = None
        basis = f"{nodes} x {compiled.machines[0] if compiled.machines else compiled.gpu}"
        if compiled.hourly_micro_usd.is_known:
            price = Fraction(compiled.hourly_micro_usd.value * nodes)
            first = compiled.capacity[0] if compiled.capacity else ""
            basis += f" at {usd_hour(compiled.hourly_micro_usd.value)} {first}".rstrip()
        return Money(kind, price, gpus(pool, nodes), basis)
    found = pool_price(pool, context.catalogue)
    price = None if found.low is None else Fraction(found.low * nodes)
    basis = f"{nodes} x {found.spelled}" if found.low is not None else f"{nodes} node(s)"
    return Money(kind, price, gpus(pool, nodes), basis)


def saving(context: RuleContext, pool: NodePool, nodes: int, part: Fraction, basis: str) -> Money:
    """A part of what a number of a pool's nodes costs, as waste, with its assumption."""
    whole = nodes_money(context, pool, nodes, AmountKind.WASTE)
    price = None if whole.micro_usd_per_hour is None else whole.micro_usd_per_hour * part
    return Money(AmountKind.WASTE, price, whole.gpus * part, f"{whole.basis}; {basis}")


def smallest(pool: NodePool) -> int:
    """Nodes a pool is certain to have, at least one: what figures per node are shown for."""
    standing = pool.size.standing
    return max(1, standing.value) if standing.is_known else 1


def patchable(pool: NodePool) -> bool:
    """Whether a JSON patch of the pool's own fields applies to its source."""
    if pool.maker is Maker.FLEET:
        return False
    manifest = pool.maker in (Maker.KARPENTER, Maker.CLUSTER_API, Maker.OPENSHIFT)
    return manifest or not pool.locator.file


def setting(pool: NodePool, value: object, place: str, *keys: str | int) -> JsonPatch:
    """A patch that sets one field, where that is possible."""
    return (add(value, place, *keys),) if patchable(pool) else ()
