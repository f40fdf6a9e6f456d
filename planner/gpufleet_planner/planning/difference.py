"""A planned fleet against one there is: pools that come, go and change, and the money saved."""

from decimal import Decimal
from typing import Any

from gpufleet.fleet import Fleet, Pool, Unbounded

HOURS_PER_MONTH = 730


def difference(before: Fleet, after: Fleet) -> dict[str, Any]:
    """Pools are matched by what they are (GPU, machine, sharing, intent), not by name."""
    old = {_identity(pool): pool for pool in before.pools}
    new = {_identity(pool): pool for pool in after.pools}
    saved = None
    first, second = _maximum(before), _maximum(after)
    if first is not None and second is not None:
        hour = first - second
        saved = {"usdPerHour": f"{hour:.4f}", "usdPerMonth": f"{hour * HOURS_PER_MONTH:.2f}"}
    return {
        "added": [_words(pool) for key, pool in new.items() if key not in old],
        "removed": [_words(pool) for key, pool in old.items() if key not in new],
        "changed": [
            f"{_words(new[key])} (was at most {old[key].nodes.maximum})"
            for key in new
            if key in old and old[key].nodes.maximum != new[key].nodes.maximum
        ],
        "before": {"usdPerHour": _shown(first)},
        "after": {"usdPerHour": _shown(second)},
        "saved": saved,
    }


def _identity(pool: Pool) -> tuple[object, ...]:
    machines = tuple(machine.name for machine in pool.machines)
    advertised = tuple(sorted(pool.advertised.items()))
    return (pool.gpu.key, machines, pool.partition.mode, advertised, pool.intent.value)


def _words(pool: Pool) -> str:
    return (
        f"{pool.name}: at most {pool.nodes.maximum} x {pool.machines[0].name}, "
        f"{pool.partition.mode}"
    )


def _maximum(fleet: Fleet) -> Decimal | None:
    most = fleet.spend.maximum
    return None if isinstance(most, Unbounded) else Decimal(most) / 1_000_000


def _shown(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:.4f}"
