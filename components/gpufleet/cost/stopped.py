"""The ledger of notebooks scaled to zero: when, for how long, and the cost of their devices.

A notebook was stopped while kube-state-metrics reported zero requested replicas. The units that it
would have held are those of its last pod before, else of its first pod after.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.cost.cost import SECONDS_PER_HOUR, PodHolding
from gpufleet.cost.dump import (
    HELD_SERIES,
    QUERY,
    REPLICA_SERIES,
    Series,
    merged,
    smallest_step,
    stretches,
    united,
)
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.scaling_rules import stoppable
from gpufleet.fleet.unit_weights import sanitised, unit_weights
from gpufleet.render.scaled_object import pod_pattern
from gpufleet.spec.idle import IdleNotebook

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class Stop:
    """One time in which a notebook had no replica."""

    notebook: str
    """`<namespace>/<name>`."""
    pool: str
    start: int
    """Seconds since 1970."""
    end: int
    """End of the stop; the end of the dump if it was not started again."""
    units: dict[str, int]
    """Resource -> units that it did not hold. Empty where the dump has no pod of it."""
    micro_usd: int | None
    """Cost of these units for that time; None: units or price are unknown. It is saved once others
    use the units, or the nodes are removed."""


def stops(
    fleet: Fleet, series: Iterable[Series], step: int | None
) -> tuple[list[Stop], list[Finding]]:
    """Every stop of the notebooks that the declaration may stop, the earliest first, and notebooks
    of which the dump has no replicas. Raises UnreadableDumpError if the step is unknown."""
    notebooks = [(pool, one) for pool, _, one in stoppable(fleet.pools)]
    if not notebooks:
        return [], []
    known = list(series)
    length = step or smallest_step(known)
    replicas = {
        (kind, one.labels["namespace"], one.labels[label]): one
        for kind, (name, label) in REPLICA_SERIES.items()
        for one in united(known, name, ("namespace", label))
    }
    holding = united(known, HELD_SERIES, ("namespace", "pod", "node", "resource"))
    found: list[Stop] = []
    silent: list[str] = []
    for pool, one in notebooks:
        called = f"{one.namespace}/{one.name}"
        asked = replicas.get((one.kind, one.namespace, one.name))
        if asked is None:
            silent.append(called)
            continue
        held = _held(holding, one, length)
        steps = stretches(asked.samples, length)
        zero = ((start, end) for start, end, value in steps if not value)
        for start, end in merged(zero):
            units = _units(held, start, pool)
            found.append(
                Stop(called, pool.name, start, end, units, _worth(units, pool, end - start))
            )
    unknown = [_finding("cost-stops-unknown", ", ".join(silent), query=QUERY)] if silent else []
    return sorted(found, key=lambda stop: (stop.start, stop.notebook)), unknown


def _held(holding: Sequence[Series], notebook: IdleNotebook, step: int) -> list[PodHolding]:
    """Units that pods of a notebook held, in order of time."""
    pods = re.compile(pod_pattern(notebook.target))
    return sorted(
        (
            PodHolding(
                notebook.namespace,
                one.labels["pod"],
                one.labels["resource"],
                round(value),
                start,
                end,
            )
            for one in holding
            if one.labels["namespace"] == notebook.namespace and pods.fullmatch(one.labels["pod"])
            for start, end, value in stretches(one.samples, step)
            if value
        ),
        key=lambda held: held.start,
    )


def _units(held: Sequence[PodHolding], moment: int, pool: Pool) -> dict[str, int]:
    """Units at the end of the last pod before a moment, else at the start of the first after it."""
    spelling = {sanitised(name): name for name in unit_weights(pool)}
    before = [one for one in held if one.start < moment]
    edge = max((one.start for one in before), default=min((one.start for one in held), default=0))
    return {
        spelling.get(one.resource, one.resource): one.units for one in held if one.start == edge
    }


def _worth(units: dict[str, int], pool: Pool, seconds: int) -> int | None:
    weights = unit_weights(pool)
    if not units or pool.hourly_micro_usd is None or not set(units) <= set(weights):
        return None
    part = sum((weights[name] * count for name, count in units.items()), Fraction(0))
    exact = part * pool.hourly_micro_usd * seconds / SECONDS_PER_HOUR
    return int(exact + Fraction(1, 2))
