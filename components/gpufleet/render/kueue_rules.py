"""Parts of a valid declaration that Kueue cannot express, or would never admit."""

from collections.abc import Iterator, Sequence

from gpufleet.contract.dra_api import FIRST_WITH_V1
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.kueue_quota import pool_units, quota_pools
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.render.kueue_queues import flavor_groups, node_taints
from gpufleet.spec.cluster import minor_of

_finding, _rules = findings_in(__file__), rules_in(__file__)

MAX_GROUPS = 16
"""Maximum number of resource groups of one ClusterQueue (its definition)."""
MAX_FLAVORS = 64
"""Maximum number of flavors of one resource group."""
MAX_COVERED = 64
"""Maximum number of resources one resource group covers."""
MAX_PAIRS = 512
"""Maximum number of flavor x resource pairs of one resource group."""
MAX_ALL_FLAVORS = 256
"""Maximum number of flavors of one ClusterQueue; as many resources."""
MAX_TAINTS = 8
"""Maximum number of node taints of one flavor."""


def validate_queues(fleet: Fleet) -> list[Finding]:
    """Limits of Kueue that the fleet's pools would break; nothing without queues."""
    if fleet.spec.queues is None:
        return []
    pools = quota_pools(fleet)
    return [*_uncounted(fleet), *_sizes(fleet, pools), *_taints(pools)]


def _uncounted(fleet: Fleet) -> Iterator[Finding]:
    for pool in fleet.pools:
        made = pool.partition.dra
        if made is None:
            continue
        place = f"{pool.path}.sharing.{pool.partition.mode}"
        if pool_units(pool, fleet):
            yield from _unserved(pool, fleet)
            # Kueue admits a class only under the one name it is mapped to (kubernetes-sigs/kueue
            # `pkg/dra/claims.go`, 05a9e7e).
            yield from _rules("needs", f"{pool.path}.sharing.dra", made=made)
        else:
            yield from _rules("uncounted", place, pool=pool, made=made)


def _unserved(pool: Pool, fleet: Fleet) -> Iterator[Finding]:
    """Kueue counts claims of resource.k8s.io/v1 (kubernetes-sigs/kueue CHANGELOG, 0.15.0)."""
    version = fleet.spec.cluster.kubernetes_version
    if minor_of(version) >= FIRST_WITH_V1 or pool.advertised:
        return
    yield _finding(
        "kueue-claims-kubernetes",
        f"{pool.path}.sharing.{pool.partition.mode}",
        pool=pool.name,
        value=version,
        limit=".".join(map(str, FIRST_WITH_V1)),
    )


def _sizes(fleet: Fleet, pools: Sequence[Pool]) -> Iterator[Finding]:
    groups = flavor_groups(pools, fleet)
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
            yield _finding("kueue-limit-exceeded", found=found, what=what, limit=limit)


def _taints(pools: Sequence[Pool]) -> Iterator[Finding]:
    for pool in pools:
        taints = len(node_taints(pool))
        if taints > MAX_TAINTS:
            yield _finding("kueue-limit-exceeded/taints", pool.path, found=taints, limit=MAX_TAINTS)
