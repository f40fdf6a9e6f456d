"""The context in which each object of an audit is checked: its cluster, or each of its clusters.

The same kind, namespace and name in two files of a cluster is one object. Applying the second file
changes the first one's object, and often they are alternatives: each file is validated as if it
were the applied one, with its own objects instead of their twins; money counts once, in the later
file.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.cluster import FleetFacts, Surroundings, UncompiledFleet
from gpufleet.cluster.capacity import LaunchTemplate, PoolAutoscaler
from gpufleet.cluster.node import ObservedNode
from gpufleet.cluster.pool import NodePool
from gpufleet.rules.context import RuleContext
from gpufleet_policies.fronts.audit.clusters import clusters_of
from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.names import names
from gpufleet_policies.resolve.tree import plain

Key = tuple[str, str, str, str]
Placed = tuple[int, Any]
"""Position of a reading, and one of its facts."""

_NOT_OBJECTS = frozenset({"Values", "Config", "Release", "Text", "?"})
"""Kinds of locators of what is not an object of a cluster."""


def key_of(fact: Any) -> Key | None:
    """Identity of an object in a cluster; None for other documents and objects without a name."""
    where = fact.locator
    if where.urn or where.kind in _NOT_OBJECTS or isinstance(fact, FleetFacts | UncompiledFleet):
        return None
    if not where.file or not where.name or where.name.endswith(("-", "(unnamed)")):
        return None
    return where.kind, where.namespace, where.name, where.cluster


def twins(facts: Iterable[Placed]) -> dict[Key, list[int]]:
    """Identity -> positions of the readings that have an object with it, in order; only where
    several have one."""
    found: dict[Key, dict[int, None]] = {}
    for index, fact in facts:
        key = key_of(fact)
        if key is not None:
            found.setdefault(key, {})[index] = None
    return {key: list(places) for key, places in found.items() if len(places) > 1}


def chosen(
    facts: Sequence[Placed], found: Mapping[Key, Sequence[int]], at: int | None
) -> tuple[Any, ...]:
    """The facts with one object for each identity: that of a reading where it has one, else the
    last."""
    taken = {key: at if at in places else places[-1] for key, places in found.items()}
    return tuple(
        fact for index, fact in facts if (key := key_of(fact)) not in taken or taken[key] == index
    )


def shadowed(
    facts: Sequence[Placed], found: Mapping[Key, Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Identity of each fact whose object is written again later, and position of that reading."""
    for index, fact in facts:
        key = key_of(fact)
        if key is not None and key in found and found[key][-1] != index:
            yield id(fact), found[key][-1]


_MACHINES = (NodePool, LaunchTemplate, PoolAutoscaler)
_INFRA = frozenset(names("folder of Terraform"))

Views = Callable[[Any], Sequence[RuleContext]]
"""A fact -> the contexts it is checked in."""


def contexts_of(
    readings: Sequence[Reading], rules: Sequence[str], whole: RuleContext
) -> tuple[list[Views], dict[int, str]]:
    """For each reading, the contexts of its facts; and the identity of each fact whose object is
    written again later in all its clusters -> the file that does.

    `whole` is the context of everything: it is that of files the caller named.
    """
    clusters = clusters_of(readings, rules)
    found = _Contexts(readings, whole)
    remote: dict[str, RuleContext] = {}
    every = [(index, fact) for index, one in enumerate(readings) for fact in one.facts]
    if len(clusters) == 1 and not any(fact.locator.cluster for _, fact in every):
        found.add(range(len(readings)), every, None, whole)
    else:
        named = frozenset(i for i, reading in enumerate(readings) if reading.named)
        served = _terraform_pools(readings)
        for cluster in clusters:
            facts = [
                (index, fact)
                for index in sorted(cluster.members | named)
                for fact in readings[index].facts
                if not fact.locator.cluster
            ]
            if not cluster.is_certain:
                facts += _pools_beside(cluster.name, facts, served)
            found.add(cluster.members, facts, None if cluster.is_certain else whole, None)
        remote = _remote(readings, whole)
    views = [_view(contexts or [whole], remote) for contexts in found.own]
    return views, {k: v for k, v in found.shadowed.items() if k not in found.standing}


def _terraform_pools(readings: Sequence[Reading]) -> dict[str, dict[str, list[Placed]]]:
    """Pools of Terraform by the folder that they serve: the folder of `terraform/` or `infra/`, and
    their own."""
    found: dict[str, dict[str, list[Placed]]] = {}
    for index, reading in enumerate(readings):
        pools = [(index, one) for one in reading.facts if isinstance(one, _MACHINES)]
        if pools and reading.name.lower().endswith((".tf", ".tofu")):
            own = posixpath.dirname(plain(reading.name))
            steps = own.split("/")
            at = next((i for i, step in enumerate(steps) if step.lower() in _INFRA), len(steps))
            served = found.setdefault("/".join(steps[:at]), {})
            served.setdefault(own, []).extend(pools)
    return found


def _pools_beside(
    folder: str, facts: Sequence[Placed], served: Mapping[str, Mapping[str, list[Placed]]]
) -> Sequence[Placed]:
    """The pools of the one folder of Terraform next to or above manifests that have none."""
    if any(isinstance(fact, (*_MACHINES, ObservedNode, FleetFacts)) for _, fact in facts):
        return ()
    above = [one for one in served if not one or f"{folder}/".startswith(f"{one.rstrip('/')}/")]
    nearest = list(served[max(above, key=len)].values()) if above else []
    return nearest[0] if len(nearest) == 1 else ()


class _Contexts:
    """The contexts of each reading, as they are found."""

    def __init__(self, readings: Sequence[Reading], whole: RuleContext) -> None:
        self.own: list[list[RuleContext]] = [[] for _ in readings]
        self.shadowed: dict[int, str] = {}
        self.standing: set[int] = set()
        """Facts that some cluster has as they are."""
        self._whole, self._readings = whole, readings

    def add(
        self,
        members: Iterable[int],
        facts: Sequence[Placed],
        more: RuleContext | None,
        same: RuleContext | None,
    ) -> None:
        """Add the context of a cluster to its members; `same` is it, where nothing is twice."""
        found = twins(facts)
        shared = same
        if shared is None or found:
            shared = _among(chosen(facts, found, None), self._whole, more)
        contested = {index for places in found.values() for index in places}
        for index in members:
            context = shared
            if index in contested:
                context = _among(chosen(facts, found, index), self._whole, more)
            self.own[index].append(context)
        hidden = {fact: self._readings[index].name for fact, index in shadowed(facts, found)}
        self.shadowed |= hidden
        self.standing |= {id(fact) for _, fact in facts} - hidden.keys()


def only_fleet(declared: Surroundings) -> FleetFacts | None:
    """The fleet of the workloads: the only declared one. None where another declaration, which does
    not compile, may be theirs."""
    fleets = declared.of(FleetFacts)
    return fleets[0] if len(fleets) == 1 and not declared.of(UncompiledFleet) else None


def _view(contexts: Sequence[RuleContext], remote: dict[str, RuleContext]) -> Views:
    def view(fact: Any) -> Sequence[RuleContext]:
        return [remote[fact.locator.cluster]] if fact.locator.cluster in remote else contexts

    return view


def _among(facts: tuple[Any, ...], whole: RuleContext, more: RuleContext | None) -> RuleContext:
    among = Surroundings(facts)
    declared = whole.surroundings.of(FleetFacts) if whole.surroundings is not None else ()
    fleet = whole.fleet
    if fleet in declared:  # not one that the settings name
        fleet = only_fleet(among)
    return replace(whole, fleet=fleet, surroundings=among, memo={}, run=more)


def _remote(readings: Sequence[Reading], whole: RuleContext) -> dict[str, RuleContext]:
    """The contexts of what is installed into other clusters, by the names of these."""
    found: dict[str, list[Any]] = {}
    for reading in readings:
        for fact in reading.facts:
            if fact.locator.cluster:
                found.setdefault(fact.locator.cluster, []).append(fact)
    return {name: _among(tuple(facts), whole, whole) for name, facts in found.items()}
