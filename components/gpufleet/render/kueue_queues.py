"""Kueue's objects: a ResourceFlavor for each pool, topologies, admission checks; a ClusterQueue for
each team, its LocalQueues, cohorts and priority classes (`objects/kueue_queues.yaml`).

Quotas come from `kueue_quota`.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.kueue_quota import (
    borrowing_limit,
    lending_limit,
    nominal_quota,
    pool_units,
    quota_pools,
)
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool, accelerator_taint
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.fleet.queue_rules import topology_levels
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.data_files import data_part
from gpufleet.spec.capacity import minutes
from gpufleet.spec.queues import Cohort, QueueingStrategy, Queues, Reclaim, Team, WithinQueue

API_VERSION = "kueue.x-k8s.io/v1beta2"


def resource_flavor(pool: Pool, fleet: Fleet) -> dict[str, Any]:
    """The flavor of one pool: its label, its taints, and the toleration of the accelerator's.

    Jobs admitted to the flavor tolerate the accelerator's taint by it, and the taints that go with
    labels of the platform; the pool's own taints repel jobs that do not tolerate them. Kueue's
    topology placement does not see what webhooks add, so the tolerations must be here.
    """
    selected = platform_rules(pool.platform).pod_selector(pool)
    own = {key: value for key, value in selected.items() if key in pool.labels}
    labels = {POOL_LABEL: pool.name, **own}
    accelerator = accelerator_taint(pool.gpu)
    keys = [accelerator.key, *(key for key in labels if key != POOL_LABEL)]
    spec = data_part(
        "kueue_queues",
        "flavor",
        labels=labels,
        taints=node_taints(pool),
        tolerations=[
            {"key": key, "operator": "Exists", "effect": accelerator.effect} for key in keys
        ],
        topology=_topology_of(pool, fleet),
    )
    return _object("ResourceFlavor", pool.name, spec, labels={POOL_LABEL: pool.name})


def _object(
    kind: str, name: str, spec: dict[str, Any], *place: str, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    return manifest(API_VERSION, kind, name, *place, labels=labels, spec=spec)


def node_taints(pool: Pool) -> list[dict[str, str]]:
    """Taints that Kueue respects: taints that prevent scheduling."""
    return [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in pool.work_taints
        if taint.effect != "PreferNoSchedule"
    ]


def topologies(fleet: Fleet) -> list[dict[str, Any]]:
    """One Topology per declared one, its levels from the widest to the narrowest."""
    return [
        _object("Topology", one.name, {"levels": [{"nodeLabel": level} for level in levels]})
        for one in (fleet.spec.queues.topologies if fleet.spec.queues else ())
        for levels in [topology_levels(one, fleet.platform)]
    ]


def _topology_of(pool: Pool, fleet: Fleet) -> str | None:
    declared = fleet.spec.queues.topologies if fleet.spec.queues else ()
    return next((one.name for one in declared if pool.name in one.pools), None)


DEFAULT_QUEUE = "default"
"""LocalQueue of jobs without a queue name (Kueue uses it if it exists)."""

_STRATEGY = {
    QueueingStrategy.BEST_EFFORT_FIFO: "BestEffortFIFO",
    QueueingStrategy.STRICT_FIFO: "StrictFIFO",
}


def cluster_queues(fleet: Fleet) -> list[dict[str, Any]]:
    """One queue per team. Flavors are tried in the order of the pools."""
    queues = fleet.spec.queues
    pools = quota_pools(fleet)
    if queues is None or not pools:
        return []
    quota = {pool.name: nominal_quota(pool, fleet, queues.teams) for pool in pools}
    groups = flavor_groups(pools, fleet)
    checked = checked_pools(fleet)
    made: list[dict[str, Any]] = []
    for team in queues.teams:
        resource_groups: list[dict[str, Any]] = []
        for resources, members in groups:
            flavors: list[dict[str, Any]] = []
            for pool in members:
                amounts = quota[pool.name][team.name]
                entries = [_entry(team, name, amounts.get(name, 0)) for name in resources]
                flavors.append({"name": pool.name, "resources": entries})
            resource_groups.append({"coveredResources": list(resources), "flavors": flavors})
        fair, chosen = queues.fair_sharing, queues.preemption
        spec = data_part(
            "kueue_queues",
            "clusterQueue",
            cohort=team.cohort or queues.cohort,
            strategy=_STRATEGY[queues.strategy],
            namespaces=sorted(team_namespaces(team)),
            reclaim=_named(chosen.reclaim),
            within=_named(chosen.within_queue),
            borrowing=chosen.while_borrowing,
            weight=None if fair is None else _quantity(_weight(team)),
            by_use=fair is not None and fair.usage_half_life_hours is not None,
            checks=[{"name": check_name(one), "onFlavors": [one.name]} for one in checked],
            groups=resource_groups,
        )
        made.append(_object("ClusterQueue", team.name, spec))
    return made


def _named(chosen: Reclaim | WithinQueue) -> str:
    """`LowerPriority` of `lowerPriority`."""
    return f"{chosen.value[0].upper()}{chosen.value[1:]}"


def flavor_groups(
    pools: Sequence[Pool], fleet: Fleet
) -> list[tuple[tuple[str, ...], tuple[Pool, ...]]]:
    """Covered resources and pools of each resource group.

    A resource and a flavor may be in one group only, so pools that share a resource, directly or
    through others, are one group. Groups are in order of their first pool, resources by name.
    """
    groups: list[tuple[set[str], list[int]]] = []
    for index, pool in enumerate(pools):
        resources, members = set(pool_units(pool, fleet)), [index]
        apart: list[tuple[set[str], list[int]]] = []
        for group in groups:
            if group[0] & resources:
                resources |= group[0]
                members += group[1]
            else:
                apart.append(group)
        groups = [*apart, (resources, members)]
    ordered = sorted(groups, key=lambda group: min(group[1]))
    return [
        (tuple(sorted(resources)), tuple(pools[index] for index in sorted(members)))
        for resources, members in ordered
    ]


def local_queues(fleet: Fleet) -> list[dict[str, Any]]:
    """One queue in each namespace of each team."""
    queues = fleet.spec.queues
    if queues is None or not quota_pools(fleet):
        return []
    return [
        _object("LocalQueue", name, {"clusterQueue": team.name}, namespace)
        for team in queues.teams
        for name in [DEFAULT_QUEUE if queues.default_queue else team.name]
        for namespace in sorted(team_namespaces(team))
    ]


def cohorts(fleet: Fleet) -> list[dict[str, Any]]:
    """The groups of teams, without the fleet's own group, which needs no object."""
    if (queues := fleet.spec.queues) is None:
        return []
    made: list[dict[str, Any]] = []
    for group in queues.cohorts:
        parent, weight = group.parent or queues.cohort, _cohort_weight(queues, group)
        spec = data_part("kueue_queues", "cohort", parent=parent, weight=weight)
        made.append(_object("Cohort", group.name, spec))
    return made


def priority_classes(fleet: Fleet) -> list[dict[str, Any]]:
    """WorkloadPriorityClasses, which jobs name by a label. Pod priority is independent."""
    made: list[dict[str, Any]] = []
    for one in fleet.spec.queues.priorities if fleet.spec.queues else ():
        parts = {"value": one.value, "description": one.description or None}
        parts = data_part("kueue_queues", "priority", **parts)
        made.append(manifest(API_VERSION, "WorkloadPriorityClass", one.name, **parts))
    return made


def team_quota(fleet: Fleet) -> dict[str, dict[str, int]]:
    """Team -> resource -> nominal quota over all pools."""
    found: dict[str, dict[str, int]] = {}
    for queue in cluster_queues(fleet):
        amounts = found.setdefault(queue["metadata"]["name"], {})
        for group in queue["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                for entry in flavor["resources"]:
                    total = amounts.get(entry["name"], 0) + int(entry["nominalQuota"])
                    amounts[entry["name"]] = total
    return found


def team_namespaces(team: Team) -> set[str]:
    """Namespaces whose jobs run on the team's quota."""
    return set(team.namespaces) or {team.name}


def _weight(team: Team) -> Fraction:
    return Fraction(str(team.share)) * 1000 if team.weight is None else Fraction(str(team.weight))


def _cohort_weight(queues: Queues, group: Cohort) -> str | None:
    """The weight of all teams in the group, also those of groups inside it; None: not shared.

    Kueue compares a group with the teams next to it by its own weight. Default of Kueue: 1
    (kubernetes-sigs/kueue 02c5bf4 `pkg/cache/scheduler/fair_sharing.go`).
    """
    if queues.fair_sharing is None:
        return None
    parents = {one.name: one.parent for one in queues.cohorts}
    weight = Fraction(0)
    for team in queues.teams:
        above: list[str] = []
        name = team.cohort
        while name is not None and name not in above:
            above.append(name)
            name = parents.get(name)
        weight += _weight(team) if group.name in above else 0
    return _quantity(weight)


def _quantity(amount: Fraction) -> str:
    """The amount in Kubernetes' spelling, to a thousandth."""
    return str(int(amount)) if amount.denominator == 1 else f"{round(amount * 1000)}m"


def _entry(team: Team, resource: str, nominal: int) -> dict[str, str]:
    limits = {
        "nominal": nominal,
        "borrowing": borrowing_limit(team, nominal),
        "lending": lending_limit(team, nominal),
    }
    known = {key: None if limit is None else f"{limit}" for key, limit in limits.items()}
    return data_part("kueue_queues", "quota", name=resource, **known)


# Jobs that wait for all their nodes: admission checks that call the autoscaler first.
#
# Kueue's controller `kueue.x-k8s.io/provisioning-request` makes a ProvisioningRequest for a job
# that got quota, and admits it when the nodes are there. GKE's queued provisioning and Cluster
# Autoscaler answer them; Karpenter does not (kubernetes-sigs/karpenter v1.14.1 has no such code).

ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
"""Class of Cluster Autoscaler since 1.30.2: all nodes or none."""


def checked_pools(fleet: Fleet) -> tuple[Pool, ...]:
    """Pools whose jobs wait for their nodes before they are admitted."""
    queues = fleet.spec.queues
    if queues is None:
        return ()
    return tuple(
        pool
        for pool in quota_pools(fleet)
        if pool.name in queues.atomic_scale_up or _run_minutes(pool) is not None
    )


def check_name(pool: Pool) -> str:
    """Name of a pool's AdmissionCheck and of its parameters."""
    return f"{pool.name}-nodes"


def admission_checks(fleet: Fleet) -> list[dict[str, Any]]:
    """An AdmissionCheck for each such pool, and after them their parameters."""
    checked = checked_pools(fleet)
    return [
        *(_check(pool) for pool in checked),
        *(_config(pool, fleet) for pool in checked),
    ]


def _run_minutes(pool: Pool) -> int | None:
    for way in pool.capacity:
        if way.queued is not None:
            return minutes(way.queued.max_run_duration)
    return None


def _check(pool: Pool) -> dict[str, Any]:
    name = check_name(pool)
    return _object("AdmissionCheck", name, data_part("kueue_queues", "check", name=name))


def _config(pool: Pool, fleet: Fleet) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "provisioningClassName": ATOMIC,
        "managedResources": list(pool_units(pool, fleet)),
    }
    longest = _run_minutes(pool)
    if longest is not None:
        spec |= platform_rules(pool.platform).queued_provisioning(longest)
    return _object("ProvisioningRequestConfig", check_name(pool), spec)


_file = files_in(__file__)


def kueue_objects(fleet: Fleet) -> dict[str, list[dict[str, Any]]]:
    """Name of the file -> objects. Empty without queues."""
    if fleet.spec.queues is None:
        return {}
    return {
        "topologies": topologies(fleet),
        "resource-flavors": [resource_flavor(pool, fleet) for pool in quota_pools(fleet)],
        "cohorts": cohorts(fleet),
        "priority-classes": priority_classes(fleet),
        "admission-checks": admission_checks(fleet),
        "cluster-queues": cluster_queues(fleet),
        "local-queues": local_queues(fleet),
    }


def kueue_files(fleet: Fleet) -> Iterator[Artefact]:
    """Manifests of the queues."""
    for name, documents in kueue_objects(fleet).items():
        yield from _file(f"manifests/kueue/{name}.yaml", documents)
