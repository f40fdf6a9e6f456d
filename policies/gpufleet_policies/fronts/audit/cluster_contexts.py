"""The context in which each object of an audit is checked: its cluster, or each of its clusters."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.cluster import FleetFacts, Surroundings, UncompiledFleet
from gpufleet.rules.context import RuleContext
from gpufleet_policies.fronts.audit.clusters import FilesOfCluster, clusters_of
from gpufleet_policies.fronts.audit.reading import Reading

Views = Callable[[Any], Sequence[RuleContext]]
"""A fact -> the contexts it is checked in."""


def contexts_of(
    readings: Sequence[Reading], rules: Sequence[str], whole: RuleContext
) -> list[Views]:
    """For each reading, the contexts of its facts.

    `whole` is the context of everything: it is that of files the caller named.
    """
    clusters = clusters_of(readings, rules)
    own: list[list[RuleContext]] = [[] for _ in readings]
    remote: dict[str, RuleContext] = {}
    if len(clusters) == 1 and not _names_other_clusters(readings):
        own = [[whole] for _ in readings]
    else:
        named = frozenset(i for i, reading in enumerate(readings) if reading.named)
        for cluster in clusters:
            context = _context(readings, cluster, named, whole)
            for index in cluster.members:
                own[index].append(context)
        remote = _remote(readings, whole)
    return [_view(contexts or [whole], remote) for contexts in own]


def only_fleet(declared: Surroundings) -> FleetFacts | None:
    """The fleet of the workloads: the only one that is declared. Where another one does not
    compile, it may be theirs."""
    fleets = declared.of(FleetFacts)
    return fleets[0] if len(fleets) == 1 and not declared.of(UncompiledFleet) else None


def _view(contexts: Sequence[RuleContext], remote: dict[str, RuleContext]) -> Views:
    def view(fact: Any) -> Sequence[RuleContext]:
        return [remote[fact.locator.cluster]] if fact.locator.cluster in remote else contexts

    return view


def _names_other_clusters(readings: Sequence[Reading]) -> bool:
    return any(fact.locator.cluster for reading in readings for fact in reading.facts)


def _context(
    readings: Sequence[Reading],
    cluster: FilesOfCluster,
    named: frozenset[int],
    whole: RuleContext,
) -> RuleContext:
    facts = tuple(
        fact
        for index in sorted(cluster.members | named)
        for fact in readings[index].facts
        if not fact.locator.cluster
    )
    return _among(facts, whole, None if cluster.is_certain else whole.surroundings)


def _among(facts: tuple[Any, ...], whole: RuleContext, more: Surroundings | None) -> RuleContext:
    among = Surroundings(facts, whole=more)
    declared = whole.surroundings.of(FleetFacts) if whole.surroundings is not None else ()
    fleet = whole.fleet
    if fleet in declared:  # not one that the settings name
        fleet = only_fleet(among)
    return replace(whole, fleet=fleet, surroundings=among, memo={})


def _remote(readings: Sequence[Reading], whole: RuleContext) -> dict[str, RuleContext]:
    """The contexts of what is installed into other clusters, by the names of these."""
    found: dict[str, list[Any]] = {}
    for reading in readings:
        for fact in reading.facts:
            if fact.locator.cluster:
                found.setdefault(fact.locator.cluster, []).append(fact)
    return {name: _among(tuple(facts), whole, whole.surroundings) for name, facts in found.items()}
