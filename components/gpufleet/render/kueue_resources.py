"""Kueue objects that follow from the pools: flavors, and each team's queue with its quota.

Format: kubernetes-sigs/kueue v0.19.2 `kueue.x-k8s.io/v1beta2`. Quota is in the units nodes
advertise, of the pools at their largest size.
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import GPU_TAINT, Fleet, Pool
from gpufleet.render.quota import split
from gpufleet.spec.fleet_spec import Team

API_VERSION = "kueue.x-k8s.io/v1beta2"

MAX_GROUPS = 16
"""Most resource groups of one ClusterQueue (its definition)."""
MAX_FLAVORS = 64
"""Most flavors of one resource group."""
MAX_COVERED = 64
"""Most resources one resource group covers."""
MAX_PAIRS = 512
"""Most flavor x resource pairs of one resource group."""
MAX_ALL_FLAVORS = 256
"""Most flavors of one ClusterQueue; as many resources."""
MAX_TAINTS = 8
"""Most node taints of one flavor."""

QUOTA_CHECK = {"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}}
"""What Kueue's own configuration must say beside these objects: they cover GPUs only, and Kueue
otherwise admits no job that asks for a resource without quota, processors and memory included."""

_LABELS = {"app.kubernetes.io/managed-by": "gpufleet"}


def quota_pools(fleet: Fleet) -> tuple[Pool, ...]:
    """Pools with something to give out, in order of the declaration: existing ones count too."""
    return tuple(pool for pool in fleet.pools if pool.advertised)


def pool_capacity(pool: Pool) -> dict[str, int]:
    """Resource -> units of the whole pool at its largest size, by name."""
    return {name: n * pool.nodes.maximum for name, n in sorted(pool.advertised.items())}


def nominal_quota(pool: Pool, teams: Sequence[Team]) -> dict[str, dict[str, int]]:
    """Team -> resource -> units of this pool. The teams together never get more than there is."""
    shares = {team.name: team.share for team in teams}
    quota: dict[str, dict[str, int]] = {team.name: {} for team in teams}
    for resource, amount in pool_capacity(pool).items():
        for team, units in split(amount, shares).items():
            quota[team][resource] = units
    return quota


def resource_flavor(pool: Pool) -> dict[str, Any]:
    """The flavor of one pool: its label, its taints, and the toleration of the GPU taint.

    Jobs admitted to the flavor tolerate the GPU taint by it; taints of the pool's own keep away
    those that do not tolerate them themselves.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceFlavor",
        "metadata": {"name": pool.name, "labels": {**_LABELS, POOL_LABEL: pool.name}},
        "spec": {
            "nodeLabels": {POOL_LABEL: pool.name},
            "nodeTaints": _node_taints(pool),
            "tolerations": [
                {"key": GPU_TAINT.key, "operator": "Exists", "effect": GPU_TAINT.effect}
            ],
        },
    }


def _node_taints(pool: Pool) -> list[dict[str, str]]:
    return [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in pool.taints
        if taint.effect != "PreferNoSchedule"
    ]


def flavor_groups(pools: Sequence[Pool]) -> list[tuple[tuple[str, ...], tuple[Pool, ...]]]:
    """Covered resources and pools of each resource group.

    A resource and a flavor may be in one group only, so pools that share a resource, directly or
    through others, are one group. Groups are in order of their first pool, resources by name.
    """
    groups: list[tuple[set[str], list[int]]] = []
    for index, pool in enumerate(pools):
        resources, members = set(pool.advertised), [index]
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


def cluster_queues(fleet: Fleet) -> list[dict[str, Any]]:
    """One queue per team. What a team leaves idle others may borrow, and it gets it back at once.

    Flavors are tried in the order of the pools.
    """
    queues = fleet.spec.queues
    if queues is None:
        return []
    pools = quota_pools(fleet)
    if not pools:
        return []
    quota = {pool.name: nominal_quota(pool, queues.teams) for pool in pools}
    groups = flavor_groups(pools)
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterQueue",
            "metadata": {"name": team.name, "labels": dict(_LABELS)},
            "spec": {
                "cohortName": "gpufleet",
                "namespaceSelector": {
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/metadata.name",
                            "operator": "In",
                            "values": sorted(_namespaces(team)),
                        }
                    ]
                },
                "preemption": {
                    "reclaimWithinCohort": "Any",
                    "withinClusterQueue": "LowerPriority",
                },
                "resourceGroups": [
                    {
                        "coveredResources": list(resources),
                        "flavors": [
                            {
                                "name": pool.name,
                                "resources": [
                                    {
                                        "name": resource,
                                        "nominalQuota": str(
                                            quota[pool.name][team.name].get(resource, 0)
                                        ),
                                    }
                                    for resource in resources
                                ],
                            }
                            for pool in members
                        ],
                    }
                    for resources, members in groups
                ],
            },
        }
        for team in queues.teams
    ]


def local_queues(fleet: Fleet) -> list[dict[str, Any]]:
    """One queue in each namespace of each team, called like the team."""
    if fleet.spec.queues is None or not quota_pools(fleet):
        return []
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "LocalQueue",
            "metadata": {"name": team.name, "namespace": namespace, "labels": dict(_LABELS)},
            "spec": {"clusterQueue": team.name},
        }
        for team in fleet.spec.queues.teams
        for namespace in sorted(_namespaces(team))
    ]


def _namespaces(team: Team) -> set[str]:
    return set(team.namespaces) or {team.name}


def judge_queues(fleet: Fleet) -> list[Finding]:
    """Limits of Kueue that the fleet's pools would break; nothing without queues."""
    if fleet.spec.queues is None:
        return []
    pools = quota_pools(fleet)
    groups = flavor_groups(pools)
    findings = [
        warning(
            "kueue-claims-without-quota",
            f"{pool.path}.sharing.{pool.partition.mode}",
            f"nodes of {pool.name} advertise no resource, so no team has a quota of them",
            "write `extendedResource: true` under dra, or map the device classes in Kueue's own "
            "configuration (`resources.deviceClassMappings`)",
        )
        for pool in fleet.pools
        if not pool.advertised
    ]
    counted = [
        ("resource groups of a queue", len(groups), MAX_GROUPS),
        ("flavors of a queue", len(pools), MAX_ALL_FLAVORS),
    ]
    for resources, members in groups:
        named = f"the group with {resources[0]}"
        counted += [
            (f"flavors of {named}", len(members), MAX_FLAVORS),
            (f"resources of {named}", len(resources), MAX_COVERED),
            (f"pairs of flavor and resource of {named}", len(resources) * len(members), MAX_PAIRS),
        ]
    for what, found, limit in counted:
        if found > limit:
            findings.append(
                error(
                    "kueue-limit-exceeded",
                    "queues",
                    f"{found} {what}, and Kueue takes at most {limit}",
                    "make one pool of pools that are alike, or divide the fleet between clusters",
                    found=found,
                    limit=limit,
                )
            )
    for pool in pools:
        taints = len(_node_taints(pool))
        if taints > MAX_TAINTS:
            findings.append(
                error(
                    "kueue-limit-exceeded",
                    f"{pool.path}.taints",
                    f"{taints} taints, and a Kueue flavor takes at most {MAX_TAINTS}",
                    "remove some",
                    found=taints,
                    limit=MAX_TAINTS,
                )
            )
    return findings
