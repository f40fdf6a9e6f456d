"""Comparing ways that work: order of cost, the Pareto set, why one lost to another."""

from collections.abc import Sequence

from gpufleet_planner.planning.option import Option
from gpufleet_planner.sizing.device import DeviceShare

_SIMPLEST = (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS, DeviceShare.TIME_SLICE)
_Rank = tuple[bool, float, int, float, float, float, str]


def rank(option: Option) -> _Rank:
    """Cheapest first: a run's cost for training with a length, cost per token for training without,
    else dollars an hour; without prices GPU-hours, after everything that has one. Equal cost: the
    simpler share, the smaller part of the machines, the faster one."""
    reached = option.reached
    if option.billed_micro_usd is None:
        cost: float = float(option.gpu_hours_per_hour) * (option.billed_hours or 1.0)
    elif reached.training is None:
        cost = option.billed_micro_usd / 1e6
    else:
        cost = option.usd_per_run or option.usd_per_million_tokens or 0.0
    return (
        option.billed_micro_usd is None,
        round(cost, 6),
        _SIMPLEST.index(option.share.kind),
        float(option.part_micro_usd or option.gpu_part),
        reached.token_seconds or reached.run_hours or 0.0,
        -(reached.tokens_per_second or 0.0),
        option.label,
    )


def _objectives(option: Option, standing: _Rank) -> tuple[float, ...]:
    """What is better smaller: cost, latency, time; throughput negated."""
    reached = option.reached
    return (
        standing[1],
        float(standing[0]),
        round(reached.token_seconds or 0.0, 9),
        round(reached.first_token_seconds or 0.0, 9),
        round(reached.run_hours or 0.0, 9),
        -round(reached.tokens_per_second or 0.0, 6),
    )


def pareto(options: Sequence[Option]) -> tuple[Option, ...]:
    """Options that no other one matches or beats in everything; of equals the first."""
    found: list[tuple[tuple[float, ...], Option]] = []
    ranked = [(rank(option), option) for option in _comparable(options)]
    for standing, option in sorted(ranked, key=lambda pair: pair[0]):
        mine = _objectives(option, standing)
        if not any(all(a <= b for a, b in zip(other, mine, strict=True)) for other, _ in found):
            # Sorted by cost, but an equal cost may still be dominated by a later one.
            found = [
                (other, kept)
                for other, kept in found
                if not all(a <= b for a, b in zip(mine, other, strict=True))
            ]
            found.append((mine, option))
    return tuple(option for _, option in found)


def _comparable(options: Sequence[Option]) -> Sequence[Option]:
    """Those with a price, where there are any: money and GPU-hours cannot be compared."""
    priced = [option for option in options if option.billed_micro_usd is not None]
    return priced or options


def dearer(option: Option, best: Option) -> str:
    """By how much an option costs more than the best."""
    if option.billed_micro_usd is None:
        return "no price is known" if best.billed_micro_usd is not None else "more GPU-hours"
    mine, least = rank(option)[1], rank(best)[1]
    if mine <= least:
        same = "as cheap"
        if option.share.kind is not best.share.kind:
            return f"{same}, but {option.share.kind.value} where {best.share.kind.value} works"
        return f"{same}, takes more of the machine or is slower"
    unit = "USD/h"
    if option.reached.training is not None:
        unit = "USD a run" if option.usd_per_run is not None else "USD per million tokens"
    return (
        f"{mine - least:.4g} {unit} more ({100 * (mine / least - 1):.0f} %)" if least else "dearer"
    )


def better_at(option: Option, best: Option) -> str:
    """What the money buys: latencies and times that are at least 5 % shorter."""
    gains: list[str] = []
    one, other = option.reached, best.reached
    for name, mine, theirs in (
        ("time per token", one.token_seconds, other.token_seconds),
        ("first token", one.first_token_seconds, other.first_token_seconds),
        ("run", one.run_hours, other.run_hours),
    ):
        if mine is not None and theirs is not None and mine < 0.95 * theirs:
            gains.append(f"{name} {theirs / mine:.1f} times shorter")
    return ", ".join(gains)
