"""Declared nodes, promises, quotas and monitoring that yield nothing.

One check of the compiled pools, after all other decisions. Quotas of teams are in `team_quotas`,
which this pass also calls; limits by zones or hosts are checked by the platform. Sources are given
at each part.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from gpufleet.findings import Finding, error, findings_in, info, warning
from gpufleet.fleet import windows
from gpufleet.fleet.kueue_quota import HasPools, takes_whole_nodes
from gpufleet.fleet.model import Pool
from gpufleet.fleet.team_quotas import validate_quotas
from gpufleet.spec.capacity import TeamCommitment
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)

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
        yield from _unseen(fleet.pools)


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
    most = most_nodes(pool)
    if most >= pool.nodes.maximum or most == 0:
        return
    short = most < pool.nodes.minimum
    yield (error if short else warning)(
        "nodes-beyond-reservation",
        f"{pool.path}.nodes.{'min' if short else 'max'}",
        f"{pool.name} has {pool.nodes.minimum} to {pool.nodes.maximum} nodes, and its capacity "
        f"has at most {most} instances: further nodes never start",
        f"write nodes.{'min' if short else 'max'}: {most}, or add `onDemand: {{}}` or what else "
        "was bought to capacity",
        found=pool.nodes.maximum,
        limit=most,
    )


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
    if later:
        yield _finding(
            "pool-without-nodes-now",
            pool.path,
            found=at.isoformat(),
            limit=later[0].isoformat(),
            pool=pool.name,
        )


def _notebooks(pool: Pool) -> Iterator[Finding]:
    """Notebooks for which the nodes have no unit left: each takes at least one."""
    idle, made = pool.spec.idle, pool.partition
    if idle is None:
        return
    units = [share.per_node for share in made.shares]
    most = most_nodes(pool) * (max(units) if made.dra is not None else sum(units))
    always = len(idle.notebooks) - len(idle.stopped)
    path = f"{pool.path}.idle"
    if always > most:
        yield _finding("notebooks-beyond-pool", path, pool=pool.name, found=always, limit=most)
    elif (found := len({(one.namespace, one.name) for one in idle.notebooks})) > most:
        yield _finding("notebooks-take-turns", path, pool=pool.name, found=found, limit=most)


def _promised(pool: Pool, one: TeamCommitment, path: str) -> Iterator[Finding]:
    """GPUs that are promised to a team and that it never gets."""
    least = pool.gpus_per_node if takes_whole_nodes(pool) else 1
    if one.gpus < least:
        yield _finding(
            "commitment-of-nothing",
            path,
            found=one.gpus,
            limit=least,
            pool=pool.name,
            team=one.team,
        )
        return
    there = most_nodes(pool, one) * pool.gpus_per_node
    if there < least:
        yield _finding(
            "commitment-of-nothing/promised",
            path,
            found=one.gpus,
            limit=0,
            pool=pool.name,
            team=one.team,
        )
    elif there < one.gpus:
        yield _finding(
            "commitment-of-nothing/more",
            path,
            found=one.gpus,
            limit=there,
            pool=pool.name,
            team=one.team,
            nodes=-(-one.gpus // pool.gpus_per_node),
        )


def _unseen(pools: Sequence[Pool]) -> Iterator[Finding]:
    """Monitored pools without a program that reports metrics: DCGM reads NVIDIA's GPUs."""
    unseen = [pool.name for pool in pools if pool.gpu.vendor != "nvidia"]
    if unseen:
        yield (info if len(unseen) < len(pools) else warning)(
            "monitoring-sees-no-devices",
            "monitoring",
            f"DCGM reports nothing for {', '.join(unseen)}: alerts and panels of use, memory and "
            "faults have no series of these nodes; requests, quotas and cost are available",
            "scrape the metrics of the vendor (neuron-monitor, or GKE's system metrics of TPUs)",
            pools=unseen,
        )
