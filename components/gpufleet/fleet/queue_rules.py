"""Findings about queues from the declaration alone: names, limits, jobs that would never start.

Sources: kubernetes-sigs/kueue v0.19.2 `pkg/webhooks`, the rules in its definitions, and its pages
on topology-aware scheduling and ProvisioningRequests.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.contract.platform import Platforms, PlatformValue
from gpufleet.findings import Finding, error, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Provisioner
from gpufleet.spec.queues import NetworkTopology, Queues

HOSTNAME = "kubernetes.io/hostname"


def topology_levels(declared: NetworkTopology, platform: PlatformValue) -> tuple[str, ...]:
    """The levels of a topology: as declared, else the platform's. Empty if it has none."""
    return declared.levels or platform.facts.topology_levels


_finding, _rules = findings_in(__file__), rules_in(__file__)

FRAMEWORKS = tuple(row["name"] for row in read_rows(Path(__file__).parent, "kueue_frameworks"))
"""Integrations of Kueue v0.19.2, as in the configuration of its chart."""


def validate_queue_declaration(
    spec: FleetSpec, platforms: Platforms, pools: Sequence[Pool]
) -> list[Finding]:
    """Errors in `queues`; empty without it."""
    queues = spec.queues
    if queues is None:
        return []
    known = {pool.name: pool for pool in pools}
    declared = {pool.name for pool in spec.pools}
    return [
        *_rules("queues", spec=spec),
        *_shares(queues),
        *_cohorts(queues),
        *_namespaces(queues),
        *_frameworks(queues),
        *_priorities(queues),
        *_topologies(platforms[spec.platform], platforms, queues, known, declared),
        *_atomic(queues, known, declared),
    ]


def _shares(queues: Queues) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, team in enumerate(queues.teams):
        if team.name in seen:
            yield _finding("team-twice", f"queues.teams[{index}].name", found=team.name)
        seen.add(team.name)
        if team.weight is not None and queues.fair_sharing is None:
            yield _finding(
                "team-weight-without-fair-sharing",
                f"queues.teams[{index}].weight",
                found=team.weight,
                weight=f"{team.weight:g}",
            )
    shares = sum(team.share for team in queues.teams)
    if shares > 1 + 1e-9:
        yield _finding("team-shares-over-one", found=round(shares, 6), limit=1)


def _cohorts(queues: Queues) -> Iterator[Finding]:
    parents = {group.name: group.parent for group in queues.cohorts}
    for name, count in Counter(group.name for group in queues.cohorts).items():
        if count > 1 or name == queues.cohort:
            yield _finding(
                "cohort-twice",
                found=name,
                what="twice" if count > 1 else "as the cohort of the fleet",
            )
    for index, team in enumerate(queues.teams):
        if team.cohort is not None and team.cohort not in {*parents, queues.cohort}:
            yield _unknown_cohort(f"queues.teams[{index}].cohort", team.cohort, queues)
    for index, group in enumerate(queues.cohorts):
        if group.parent is not None and group.parent not in {*parents, queues.cohort}:
            yield _unknown_cohort(f"queues.cohorts[{index}].parent", group.parent, queues)
            continue
        above: list[str] = [group.name]
        while (parent := parents.get(above[-1])) is not None and parent not in above:
            above.append(parent)
        if parent == group.name:
            yield _finding(
                "cohort-cycle",
                f"queues.cohorts[{index}].parent",
                cycle=above,
                what=" is in ".join([*above, group.name]),
            )


def _unknown_cohort(path: str, found: str, queues: Queues) -> Finding:
    there = [queues.cohort, *(group.name for group in queues.cohorts)]
    return _finding("cohort-unknown", path, found=found, allowed=there)


def _namespaces(queues: Queues) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for team in queues.teams:
        for namespace in team.namespaces or (team.name,):
            owners.setdefault(namespace, []).append(team.name)
    for namespace, teams in owners.items():
        if len(teams) > 1 and queues.default_queue:
            yield _finding(
                "default-queue-twice", found=teams, teams=" and ".join(teams), namespace=namespace
            )
        elif len(teams) > 1:
            yield _finding(
                "namespace-of-two-teams",
                found=teams,
                namespace=namespace,
                teams=" and ".join(teams),
                first=teams[0],
            )


def _frameworks(queues: Queues) -> Iterator[Finding]:
    for index, name in enumerate(queues.frameworks):
        if name not in FRAMEWORKS:
            near = get_close_matches(name, FRAMEWORKS, 1, 0.5)
            yield _finding(
                "kueue-framework-unknown",
                f"queues.frameworks[{index}]",
                fix=f"write {near[0]}" if near else "remove it",
                found=name,
                allowed=sorted(FRAMEWORKS),
            )


def _priorities(queues: Queues) -> Iterator[Finding]:
    for name, count in Counter(priority.name for priority in queues.priorities).items():
        if count > 1:
            yield _finding("priority-twice", found=name, count=count)


def _topologies(
    platform: PlatformValue,
    platforms: Platforms,
    queues: Queues,
    known: dict[str, Pool],
    declared: set[str],
) -> Iterator[Finding]:
    placed: dict[str, str] = {}
    for index, topology in enumerate(queues.topologies):
        path = f"queues.topologies[{index}]"
        if not topology_levels(topology, platform):
            labelled = (p.value for p, one in platforms.items() if one.facts.topology_levels)
            yield _finding("topology-levels-missing", path, labelled=" and ".join(labelled))
        for place, name in enumerate(topology.pools):
            if name not in declared:
                yield _unknown_pool(f"{path}.pools[{place}]", name, declared)
            elif name in placed:
                yield _finding(
                    "topology-twice", f"{path}.pools[{place}]", found=name, placed=placed[name]
                )
            elif name in known:
                yield from _topology_pool(f"{path}.pools[{place}]", topology, known[name], queues)
            placed.setdefault(name, topology.name)


def _topology_pool(
    path: str, topology: NetworkTopology, pool: Pool, queues: Queues
) -> Iterator[Finding]:
    if pool.partition.dra is not None:
        yield _finding("topology-with-claims", path, pool=pool.name, topology=topology.name)
    requested = pool.name in queues.atomic_scale_up or any(w.queued for w in pool.capacity)
    if pool.nodes.minimum < pool.nodes.maximum and not requested:
        yield error(
            "topology-scales-from-zero" if pool.nodes.minimum == 0 else "topology-of-growing-pool",
            path,
            f"{pool.name} has {pool.nodes.minimum} to {pool.nodes.maximum} nodes; Kueue counts "
            "only nodes that exist, so it admits no job for which the pool would have to grow",
            f"write `nodes: {{min: {pool.nodes.maximum}, max: {pool.nodes.maximum}}}`, or name it "
            "in queues.atomicScaleUp (Cluster Autoscaler)",
            found=pool.nodes.minimum,
            limit=pool.nodes.maximum,
        )


def _atomic(queues: Queues, known: dict[str, Pool], declared: set[str]) -> Iterator[Finding]:
    for index, name in enumerate(queues.atomic_scale_up):
        path = f"queues.atomicScaleUp[{index}]"
        if name not in declared:
            yield _unknown_pool(path, name, declared)
        elif (
            name in known
            and (pool := known[name]).provisioner is not Provisioner.CLUSTER_AUTOSCALER
        ):
            yield _finding(
                "atomic-scale-up-without-autoscaler", path, found=pool.provisioner.value, name=name
            )


def _unknown_pool(path: str, name: str, declared: set[str]) -> Finding:
    return _finding("queue-pool-unknown", path, found=name, declared=", ".join(sorted(declared)))
