"""Declared nodes, promises, quotas and monitoring that yield nothing.

One check of the compiled pools, after all other decisions. Quotas of teams are in `team_quotas`,
which this pass also calls; limits by zones or hosts are checked by the platform. Sources are given
at each part.
"""

from collections.abc import Iterator
from datetime import timedelta

from gpufleet.findings import Finding, rules_in
from gpufleet.fleet import windows
from gpufleet.fleet.kueue_quota import HasPools, takes_whole_nodes
from gpufleet.fleet.model import Pool
from gpufleet.fleet.team_quotas import validate_quotas
from gpufleet.spec.capacity import TeamCommitment
from gpufleet.spec.fleet_spec import FleetSpec

_rules = rules_in(__file__)

_MOMENT = timedelta(seconds=1)


def validate_nothing(spec: FleetSpec, fleet: HasPools) -> Iterator[Finding]:
    """Declared parts of the fleet that nothing can use."""
    for pool in fleet.pools:
        yield from _beyond_bought(pool)
        yield from _closed(pool)
        yield from _notebooks(pool)
        for index, one in enumerate(pool.spec.commitments):
            yield from _promised(pool, one, f"{pool.path}.commitments[{index}]")
    if spec.queues is not None:
        yield from validate_quotas(fleet, spec.queues)
    if spec.monitoring is not None:
        # DCGM reads NVIDIA's GPUs.
        unseen = [pool.name for pool in fleet.pools if pool.gpu.vendor != "nvidia"]
        yield from _rules("monitored", unseen=unseen, seen=len(unseen) < len(fleet.pools))


def most_nodes(pool: Pool, during: TeamCommitment | None = None) -> int:
    """Maximum number of nodes at any time (of a commitment), for every capacity type; maintenance
    counts in commitments only."""
    maintenance = () if during is None else pool.spec.maintenance
    of = pool.spec.commitments if during is None else (during,)
    machine = pool.machines[0].name
    edges = [*windows.edges(pool.capacity, maintenance, of, machine)]
    moments = [moment for one in edges for moment in (one, one - _MOMENT)]
    if during is not None:
        moments = [moment for moment in moments if windows.committed((during,), moment)]
    found = [
        windows.nodes_at(pool.capacity, maintenance, machine, pool.nodes.maximum, moment).total
        for moment in moments or [None]
    ]
    return max(found)


def _beyond_bought(pool: Pool) -> Iterator[Finding]:
    """Nodes beyond the size of blocks and reservations. A reservation that is a group continues on
    demand (Amazon EC2 user guide, Capacity Reservation groups)."""
    sized = [one.capacity_block or one.reserved for one in pool.capacity]
    if any(one is None or one.id.startswith("arn:") for one in sized):
        return
    yield from [*_rules("bought", pool.path, pool=pool, most=most_nodes(pool))][:1]


def _closed(pool: Pool) -> Iterator[Finding]:
    """A pool without nodes at the time of the evaluation, although a window opens later."""
    if pool.at is None or pool.available_nodes:
        return
    machine, at = pool.machines[0].name, pool.at
    edges = windows.edges(pool.capacity, pool.spec.maintenance, (), machine)
    later = sorted(
        moment
        for moment in edges
        if moment > at
        and windows.nodes_at(
            pool.capacity, pool.spec.maintenance, machine, pool.nodes.maximum, moment
        ).total
    )
    yield from _rules("now", pool.path, pool=pool, later=later)


def _notebooks(pool: Pool) -> Iterator[Finding]:
    """Notebooks for which the nodes have no unit left: each takes at least one."""
    idle, made = pool.spec.idle, pool.partition
    if idle is None:
        return
    units = [share.per_node for share in made.shares]
    most = most_nodes(pool) * (max(units) if made.dra is not None else sum(units))
    always = len(idle.notebooks) - len(idle.stopped)
    named, path = len({(one.namespace, one.name) for one in idle.notebooks}), f"{pool.path}.idle"
    yield from [*_rules("notebooks", path, pool=pool, always=always, named=named, most=most)][:1]


def _promised(pool: Pool, one: TeamCommitment, path: str) -> Iterator[Finding]:
    """GPUs that are promised to a team and that it never gets."""
    numbers = {
        "least": pool.gpus_per_node if takes_whole_nodes(pool) else 1,
        "there": most_nodes(pool, one) * pool.gpus_per_node,
        "nodes": -(-one.gpus // pool.gpus_per_node),
    }
    yield from [*_rules("commitment", path, promise=one, pool=pool, **numbers)][:1]
