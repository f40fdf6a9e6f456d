"""Findings about queues that the declaration itself shows: names, limits, what would never start.

Sources: kubernetes-sigs/kueue v0.19.2 `pkg/webhooks`, the rules in its definitions, and its pages
on topology-aware scheduling and ProvisioningRequests.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from gpufleet.contract.platform import Platforms, PlatformValue
from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.fleet.queue_topologies import topology_levels
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Provisioner
from gpufleet.spec.queues import NetworkTopology, Queues, Reclaim

FRAMEWORKS = (
    "batch/job",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/mpijob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/xgboostjob",
    "kubeflow.org/jaxjob",
    "trainer.kubeflow.org/trainjob",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "ray.io/rayservice",
    "workload.codeflare.dev/appwrapper",
    "sparkoperator.k8s.io/sparkapplication",
)
"""Integrations of Kueue v0.19.2, as the configuration of its chart lists them."""


def validate_queue_declaration(
    spec: FleetSpec, platforms: Platforms, pools: Sequence[Pool]
) -> list[Finding]:
    """Everything that is wrong with `queues`; nothing without it."""
    queues = spec.queues
    if queues is None:
        return []
    known = {pool.name: pool for pool in pools}
    declared = {pool.name for pool in spec.pools}
    return [
        *_controller(spec),
        *_shares(queues),
        *_cohorts(queues),
        *_namespaces(queues),
        *_frameworks(queues),
        *_preemption(queues),
        *_priorities(queues),
        *_topologies(platforms[spec.platform], platforms, queues, known, declared),
        *_atomic(queues, known, declared),
    ]


def _controller(spec: FleetSpec) -> Iterator[Finding]:
    addon = spec.addons.kueue
    if addon.enabled is False and addon.ownership is Ownership.MANAGED:
        yield error(
            "kueue-disabled-with-queues",
            "queues",
            "queues are Kueue's, and addons.kueue.enabled is false",
            "write `addons: {kueue: {ownership: existing}}` where it is installed already",
            found=False,
        )


def _shares(queues: Queues) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, team in enumerate(queues.teams):
        if team.name in seen:
            yield error(
                "team-twice",
                f"queues.teams[{index}].name",
                f"a team {team.name!r} is already there",
                "give each team one entry",
                found=team.name,
            )
        seen.add(team.name)
        if team.weight is not None and queues.fair_sharing is None:
            yield warning(
                "team-weight-without-fair-sharing",
                f"queues.teams[{index}].weight",
                f"weight {team.weight:g} has no effect: idle quota goes to the first that asks",
                "add `fairSharing: {}` under queues, or remove the weight",
                found=team.weight,
            )
    shares = sum(team.share for team in queues.teams)
    if shares > 1 + 1e-9:
        yield error(
            "team-shares-over-one",
            "queues.teams",
            f"the shares add up to {round(shares, 6)}, and the fleet is 1",
            "lower them; teams can still borrow what others leave idle",
            found=round(shares, 6),
            limit=1,
        )


def _cohorts(queues: Queues) -> Iterator[Finding]:
    parents = {group.name: group.parent for group in queues.cohorts}
    for name, count in Counter(group.name for group in queues.cohorts).items():
        if count > 1 or name == queues.cohort:
            yield error(
                "cohort-twice",
                "queues.cohorts",
                f"{name!r} is declared {'twice' if count > 1 else 'as the cohort of the fleet'}",
                "give each group its own name",
                found=name,
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
            yield error(
                "cohort-cycle",
                f"queues.cohorts[{index}].parent",
                f"{' is in '.join([*above, group.name])}: Kueue admits nothing in such a circle",
                "remove one parent",
                cycle=above,
            )


def _unknown_cohort(path: str, found: str, queues: Queues) -> Finding:
    there = [queues.cohort, *(group.name for group in queues.cohorts)]
    return error(
        "cohort-unknown",
        path,
        f"{found!r} is none of the groups {', '.join(there)}",
        f"add `{{name: {found}}}` under queues.cohorts",
        found=found,
        allowed=there,
    )


def _namespaces(queues: Queues) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for team in queues.teams:
        for namespace in team.namespaces or (team.name,):
            owners.setdefault(namespace, []).append(team.name)
    for namespace, teams in owners.items():
        if len(teams) > 1 and queues.default_queue:
            yield error(
                "default-queue-twice",
                "queues.defaultQueue",
                f"{' and '.join(teams)} both run in {namespace}, which can have one default queue",
                "give each team namespaces of its own, or write `defaultQueue: false`",
                found=teams,
            )
        elif len(teams) > 1:
            yield warning(
                "namespace-of-two-teams",
                "queues.teams",
                f"{' and '.join(teams)} both run in {namespace}: quota is by the queue a job "
                f"names, and all cost of the namespace is booked on {teams[0]}",
                "give each team namespaces of its own",
                found=teams,
                namespace=namespace,
            )


def _frameworks(queues: Queues) -> Iterator[Finding]:
    for index, name in enumerate(queues.frameworks):
        if name not in FRAMEWORKS:
            near = get_close_matches(name, FRAMEWORKS, 1, 0.5)
            yield error(
                "kueue-framework-unknown",
                f"queues.frameworks[{index}]",
                f"Kueue has no integration {name!r}, and its controller does not start with one it "
                "does not have",
                f"write {near[0]}" if near else "remove it",
                found=name,
                allowed=sorted(FRAMEWORKS),
            )


def _preemption(queues: Queues) -> Iterator[Finding]:
    if not queues.preemption.while_borrowing:
        return
    path = "queues.preemption.whileBorrowing"
    if queues.fair_sharing is not None:
        yield error(
            "borrowing-preemption-with-fair-sharing",
            path,
            "it does not work with fairSharing, which has rules of its own for borrowers",
            "remove one of them",
        )
    if queues.preemption.reclaim is Reclaim.NEVER:
        yield error(
            "borrowing-preemption-without-reclaim",
            path,
            "Kueue refuses it with `reclaim: never`",
            "write `reclaim: lowerPriority` or `any`",
        )


def _priorities(queues: Queues) -> Iterator[Finding]:
    for name, count in Counter(priority.name for priority in queues.priorities).items():
        if count > 1:
            yield error(
                "priority-twice",
                "queues.priorities",
                f"{name!r} is declared {count} times",
                "give each priority one entry",
                found=name,
            )


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
            yield error(
                "topology-levels-missing",
                f"{path}.levels",
                f"only nodes of {' and '.join(labelled)} carry labels of the network by themselves",
                "name the labels your nodes carry, the widest first",
            )
        for place, name in enumerate(topology.pools):
            if name not in declared:
                yield _unknown_pool(f"{path}.pools[{place}]", name, declared)
            elif name in placed:
                yield error(
                    "topology-twice",
                    f"{path}.pools[{place}]",
                    f"{name} is in {placed[name]} already",
                    "name each pool in one topology",
                    found=name,
                )
            elif name in known:
                yield from _topology_pool(f"{path}.pools[{place}]", topology, known[name], queues)
            placed.setdefault(name, topology.name)


def _topology_pool(
    path: str, topology: NetworkTopology, pool: Pool, queues: Queues
) -> Iterator[Finding]:
    if pool.partition.dra is not None:
        yield error(
            "topology-with-claims",
            path,
            f"{pool.name} is served by claims, which Kueue cannot place in {topology.name}",
            "share its GPUs through the device plugin, or leave it out",
        )
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
            yield error(
                "atomic-scale-up-without-autoscaler",
                path,
                f"{name} is provisioned by {pool.provisioner.value}, which handles no "
                "ProvisioningRequest: its jobs would never start",
                "write `provisioner: clusterAutoscaler` on the pool, or leave it out",
                found=pool.provisioner.value,
            )


def _unknown_pool(path: str, name: str, declared: set[str]) -> Finding:
    return error(
        "queue-pool-unknown",
        path,
        f"{name!r} is none of the pools {', '.join(sorted(declared))}",
        found=name,
    )
