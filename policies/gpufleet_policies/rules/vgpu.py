"""vGPU machines: unused frame buffer, licences, cards that cannot be filled."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.catalogue import UnknownKeyError
from gpufleet.catalogue.gpu import VgpuBoard
from gpufleet.cluster.nvidia import OperatorChoices
from gpufleet.cluster.pool import NodePool
from gpufleet.findings import Finding, finding
from gpufleet.findings.money import AmountKind, Money
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import pool_price
from gpufleet_policies.rules.pool_money import saving, smallest
from gpufleet_policies.rules.pools import all_pools, gpu_pools
from gpufleet_policies.rules.written import written_rule

_THROTTLED = Fraction(9, 10)
"""Part of its speed an unlicensed guest is assumed to lose; NVIDIA publishes no figure."""


def _type(pool: NodePool) -> tuple[str, int, bool] | None:
    """Board, gigabytes and whether MIG backs it; None for unknown names."""
    if not pool.vgpu_profile.is_known:
        return None
    # Its grammar is in the module of the geometry: imported only for pools with a vGPU type.
    from gpufleet.partition.vgpu import parse_type

    found = parse_type(pool.vgpu_profile.value)
    return None if found is None else (found.board, found.gigabytes, found.slices is not None)


def _board(context: RuleContext, pool: NodePool) -> VgpuBoard | None:
    if not pool.gpu.is_known:
        return None
    try:
        return context.catalogue.gpu(pool.gpu.value).vgpu
    except UnknownKeyError:
        return None


@written_rule("vgpu-unlicensed", OperatorChoices)
def unlicensed(context: RuleContext, choices: OperatorChoices) -> Iterator[Finding]:
    """The operator installs the driver of guests that use vGPUs, and names no licence Secret."""
    if not choices.licence.is_known or choices.licence.value:
        return
    if not choices.driver_enabled.is_known or not choices.driver_enabled.value:
        return
    pools = [pool for pool in all_pools(context) if pool.vgpu_profile.is_known]
    if not pools:
        return
    pool = pools[0]
    yield finding(
        where=f"{choices.place}.driver.licensingConfig".strip("."),
        found=f"{pool.name} has {pool.vgpu_profile.value}, and driver.licensingConfig names no "
        "Secret",
        money=saving(
            context, pool, smallest(pool), _THROTTLED, "0.9 of the speed lost, by assumption"
        ),
    )


@written_rule("vgpu-mixed-profiles-on-card", NodePool)
def mixed_profiles(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """Same-size placement is the host's default: the last card of a size takes no other size.

    Reported once, on the pool that leaves most, and only where the rest of all sizes together would
    fill a card less.
    """
    for pool in gpu_pools(context, subject):
        rests = [
            (rest, one.name, one)
            for one in _alike(context, pool)
            if (rest := _rest(context, one)) > 0
        ]
        if len(rests) < 2 or max(rests, key=lambda r: (r[0], r[1]))[2].locator != pool.locator:
            continue
        total = sum((rest for rest, _, _ in rests), Fraction(0))
        if total < 1:
            continue
        names = ", ".join(f"{one.name} ({one.vgpu_profile.value})" for _, _, one in rests)
        low = pool_price(pool, context.catalogue).low
        yield finding(
            where="vGPUProfile",
            found=f"{names} leave {float(total):.2f} cards unused at their largest size",
            money=Money(
                AmountKind.WASTE,
                None if low is None else Fraction(low) * total,
                total,
                "free parts of the last card of each size",
            ),
        )


def _alike(context: RuleContext, pool: NodePool) -> list[NodePool]:
    """Pools on the same card with time-sliced types, of several sizes."""
    if not pool.vgpu_profile.is_known or not pool.gpu.is_known:
        return []
    found = [
        other
        for other in all_pools(context)
        if other.vgpu_profile.is_known
        and other.gpu.found == pool.gpu.value
        and (kind := _type(other)) is not None
        and not kind[2]
    ]
    sizes = {kind[1] for other in found if (kind := _type(other)) is not None}
    return found if len(sizes) > 1 else []


def _rest(context: RuleContext, pool: NodePool) -> Fraction:
    """Part of its last card that a pool leaves free at its largest size."""
    kind, board = _type(pool), _board(context, pool)
    if kind is None or board is None or not pool.size.maximum.is_known:
        return Fraction(0)
    per_card = board.time_sliced.get(kind[1])
    each = pool.gpus_per_node.value if pool.gpus_per_node.is_known else 1
    if not per_card:
        return Fraction(0)
    used = (pool.size.maximum.value * each) % per_card
    return Fraction(per_card - used, per_card) if used else Fraction(0)
