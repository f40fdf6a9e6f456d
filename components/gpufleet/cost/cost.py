"""Allocation of a node's cost to the pods that hold its devices, exact to the micro-dollar.

Every hour of a node belongs to a pod, is idle (advertised and not held by a pod) or stranded (not
advertised at all, because no instance fits there). All arithmetic is in whole fractions; the price
of the node over the time is rounded once to a micro-dollar and divided by the largest remainder
method, so that the parts always add up to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

SECONDS_PER_HOUR = 3600


class Use(StrEnum):
    """Use of a part of a node."""

    POD = "pod"
    IDLE = "idle"
    """Advertised, and held by no pod."""
    STRANDED = "stranded"
    """Part of the node that cannot be given out."""


@dataclass(frozen=True, slots=True)
class PodHolding:
    """A pod that held units of a resource from `start` to before `end`, in whole seconds."""

    namespace: str
    pod: str
    resource: str
    units: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """A node over a time, and the units that pods held on it."""

    node: str
    pool: str
    start: int
    """Seconds since 1970."""
    end: int
    micro_usd_per_hour: int
    capacity: Mapping[str, int]
    """Resource -> units that can be held."""
    weights: Mapping[str, Fraction]
    """Resource -> part of the node that one unit is."""
    holdings: tuple[PodHolding, ...]

    @property
    def micro_usd(self) -> int:
        """Price of the node over its time, rounded half up."""
        exact = Fraction(self.micro_usd_per_hour * (self.end - self.start), SECONDS_PER_HOUR)
        return int(exact + Fraction(1, 2))


@dataclass(frozen=True, slots=True)
class CostLine:
    """One part of a node's price."""

    node: str
    pool: str
    use: Use
    namespace: str
    """Namespace of the pod; empty: the part is not a pod's."""
    pod: str
    resource: str
    """Empty: the part is stranded, or idle on devices that are partitioned on request."""
    micro_usd: int
    unit_seconds: int
    """Units held, times seconds; 0: the part is not a pod's."""
    node_seconds: Fraction
    """Part of the node, times seconds."""


_Key = tuple[Use, str, str, str]


def attribute(history: NodeHistory) -> tuple[CostLine, ...]:
    """The lines of one node, pods first; they add up to `history.micro_usd`.

    If pods hold more units than the node has (records overlap while a pod is replaced), they pay in
    proportion: a node never costs more than its price.
    """
    parts: dict[_Key, Fraction] = {}
    held_seconds: dict[_Key, int] = {}
    for start, end, present in _segments(history):
        for key, part in _parts(history, present).items():
            parts[key] = parts.get(key, Fraction(0)) + part * (end - start)
        for holding in present:
            key = (Use.POD, holding.namespace, holding.pod, holding.resource)
            held_seconds[key] = held_seconds.get(key, 0) + holding.units * (end - start)
    amounts = _whole(parts, history.micro_usd)
    return tuple(
        CostLine(
            history.node,
            history.pool,
            use,
            namespace,
            pod,
            resource,
            amounts[(use, namespace, pod, resource)],
            held_seconds.get((use, namespace, pod, resource), 0),
            parts[(use, namespace, pod, resource)],
        )
        for use, namespace, pod, resource in sorted(amounts, key=_order)
    )


def _order(key: _Key) -> tuple[int, str, str, str]:
    return list(Use).index(key[0]), *key[1:]


def _segments(history: NodeHistory) -> list[tuple[int, int, list[PodHolding]]]:
    """Times between two changes, each with the held units, within the node's own time."""
    inside = [h for h in history.holdings if h.end > history.start and h.start < history.end]
    edges = {history.start, history.end}
    for holding in inside:
        edges |= {max(holding.start, history.start), min(holding.end, history.end)}
    ordered = sorted(edges)
    return [
        (start, end, [h for h in inside if h.start <= start and h.end >= end])
        for start, end in pairwise(ordered)
    ]


def _parts(history: NodeHistory, present: Sequence[PodHolding]) -> dict[_Key, Fraction]:
    """Part of the node each use is at one moment; they add up to 1."""
    weights = history.weights
    asked: dict[str, int] = {}
    for holding in present:
        asked[holding.resource] = asked.get(holding.resource, 0) + holding.units
    parts: dict[_Key, Fraction] = {}
    for holding in present:
        weight, there = weights.get(holding.resource), history.capacity.get(holding.resource, 0)
        if weight is None or not there or not holding.units:
            continue
        units = Fraction(holding.units * min(asked[holding.resource], there))
        key = (Use.POD, holding.namespace, holding.pod, holding.resource)
        part = units / asked[holding.resource] * weight
        parts[key] = parts.get(key, Fraction(0)) + part
    held = sum(parts.values(), Fraction(0))
    whole = {name: weights.get(name, Fraction(0)) * n for name, n in history.capacity.items()}
    offered = sum(whole.values(), Fraction(0))
    if offered > 1:  # kinds that replace each other: partitioned on request
        if held > 1:
            parts = {key: part / held for key, part in parts.items()}
        elif held < 1:
            parts[(Use.IDLE, "", "", "")] = 1 - held
        return parts
    for name, amount in whole.items():
        idle = amount - sum(
            (part for key, part in parts.items() if key[0] is Use.POD and key[3] == name),
            Fraction(0),
        )
        if idle:
            parts[(Use.IDLE, "", "", name)] = idle
    if offered < 1:
        parts[(Use.STRANDED, "", "", "")] = 1 - offered
    return parts


def _whole(parts: Mapping[_Key, Fraction], total: int) -> dict[_Key, int]:
    """Micro-dollars of each part: its share rounded down; the rest goes to the largest remainders,
    on a tie to the earlier key."""
    everything = sum(parts.values(), Fraction(0))
    if not everything:
        return {}
    due = {key: part * total / everything for key, part in parts.items()}
    amounts = {key: int(part) for key, part in due.items()}
    left = total - sum(amounts.values())
    by_remainder = sorted(due, key=lambda key: (amounts[key] - due[key], _order(key)))
    for key in by_remainder[:left]:
        amounts[key] += 1
    return amounts
