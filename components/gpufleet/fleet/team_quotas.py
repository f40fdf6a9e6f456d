"""Quota of each team in each pool, in units that its jobs can use, and empty quotas."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import ceil

from gpufleet.findings import Finding, error, findings_in, warning
from gpufleet.fleet.kueue_quota import (
    HasPools,
    borrowing_limit,
    lending_limit,
    nominal_quota,
    pool_units,
    quota_pools,
    usable_unit,
)
from gpufleet.fleet.model import Pool
from gpufleet.spec.queues import Queues, Team

_finding = findings_in(__file__)

FEW = 16
"""Additional nodes for which a pool is evaluated, to find the smallest sufficient number."""
MOST = 10_000
"""Maximum number of nodes of a pool."""
Sized = Callable[[int], dict[str, dict[str, int]]]
"""Quotas of a pool with a given number of nodes."""


@dataclass(frozen=True, slots=True)
class TeamQuota:
    """Quota of a team for one resource of a pool."""

    team: Team
    pool: Pool
    resource: str
    units: int
    """Nominal quota, in units of the resource."""
    of_node: int
    """Units that each node advertises."""
    usable: int
    """Minimum number of units that a job can use."""

    @property
    def borrows(self) -> int | None:
        """Units beyond its quota; None: all idle units."""
        return borrowing_limit(self.team, self.units)

    @property
    def lends(self) -> int | None:
        """Units that other teams may use while they are idle; None: all of them."""
        return lending_limit(self.team, self.units)

    @property
    def in_words(self) -> str:
        """`2 nodes (16 nvidia.com/gpu), borrows 8, lends all`."""
        jobs = self.units // self.usable
        many = "" if jobs == 1 else "s"
        of_units = f"{self.units} {self.resource}"
        amount = of_units if self.usable == 1 else f"{jobs} {self._unit}{many} ({of_units})"
        borrows = "what is idle" if self.borrows is None else f"{self.borrows:,}"
        lends = "all" if self.lends is None else f"{self.lends:,}"
        return f"{amount}, borrows {borrows}, lends {lends}"

    @property
    def _unit(self) -> str:
        return "node" if self.usable == self.of_node else "slice"


def team_quotas(fleet: HasPools, queues: Queues, only: Pool | None = None) -> Iterator[TeamQuota]:
    """Every quota (`only`: of one pool), by pool, resource and team, in the order of the
    declaration."""
    for pool in quota_pools(fleet) if only is None else (only,):
        quota = nominal_quota(pool, fleet, queues.teams)
        for resource, of_node in pool_units(pool, fleet).items():
            usable = usable_unit(pool, of_node)
            for team in queues.teams:
                units = quota[team.name][resource]
                yield TeamQuota(team, pool, resource, units, of_node, usable)


def validate_quotas(fleet: HasPools, queues: Queues) -> Iterator[Finding]:
    """Declared shares, borrowing and lending that yield nothing, and teams without any pool."""
    names = {team.name for team in queues.teams}
    paths = {team.name: f"queues.teams[{index}]" for index, team in enumerate(queues.teams)}
    served: set[str] = set()
    borrowed: dict[str, bool] = {}
    for pool in quota_pools(fleet):
        quotas = [*team_quotas(fleet, queues, pool)]
        if pool.available_nodes == 0:  # outside of every window nothing is promised
            served |= names
            continue
        owned = pool.spec.team in names
        sized = cache(partial(nominal_quota, pool, fleet, queues.teams))
        for found, reach in zip(quotas, _reach(quotas), strict=True):
            name = found.team.name
            if found.units >= found.usable:
                served.add(name)
                yield from _limits(found, paths[name])
            elif owned and pool.spec.team != name:
                borrowed[name] = borrowed.get(name, False) or reach >= found.usable
            else:
                served.add(name)
                yield _nothing(found, queues.teams, paths[name], reach, sized)
    for name in borrowed.keys() - served:
        yield _without_pool(name, paths[name], later=borrowed[name])


def _reach(quotas: Sequence[TeamQuota]) -> Iterator[int]:
    """Maximum units that each team can use of one pool: its quota and what it may borrow. A
    borrowing limit is a multiple of the quota, so without quota it is 0."""
    lent: dict[str, int] = {}
    for one in quotas:
        part = one.units if one.lends is None else one.lends
        lent[one.resource] = lent.get(one.resource, 0) + part
    for one in quotas:
        others = lent[one.resource] - (one.units if one.lends is None else one.lends)
        yield one.units + (others if one.borrows is None else min(one.borrows, others))


def _limits(found: TeamQuota, path: str) -> Iterator[Finding]:
    if found.team.borrowing and found.borrows is not None and found.borrows < found.usable:
        yield _rounded(found, f"{path}.borrowing", "borrow", found.team.borrowing)
    if found.team.lending and found.lends is not None and found.lends < found.usable:
        yield _rounded(found, f"{path}.lending", "lend", float(found.team.lending))


def _nothing(
    found: TeamQuota, teams: Sequence[Team], path: str, reach: int, sized: Sized
) -> Finding:
    """Kueue names such workloads ExceedsMaxQuota (kubernetes-sigs/kueue KEP-10852)."""
    alone = reach < found.usable
    say = error if alone else warning
    outcome = (
        "no job of the team is ever admitted there"
        if alone
        else "its jobs run there only on idle quota of other teams"
    )
    name, pool = found.team.name, found.pool
    there = found.of_node * pool.available_nodes
    ways = [
        *_share(found, teams),
        *_size(found, sized),
        *(
            (f"give it the pool: `team: {name}`",)
            if len(teams) > 1 and pool.spec.team != name
            else ()
        ),
    ] or [f"let {pool.name} have {-(-found.usable // found.of_node)} nodes"]
    return say(
        "team-quota-of-nothing",
        f"{path}.share",
        f"share {found.team.share:g} of {pool.name} is {found.units} of {there:,} "
        f"{found.resource}, and a job there takes {found.usable:,}: {outcome}",
        ", or ".join(ways) or None,
        team=name,
        pool=pool.name,
        found=found.units,
        limit=found.usable,
    )


def _share(found: TeamQuota, teams: Sequence[Team]) -> Iterator[str]:
    """The smallest share, in hundredths, that is enough for one job, whatever the others have."""
    pool = found.pool
    promised = ceil(Fraction(sum(pool.committed_gpus.values()), pool.gpus_per_node))
    parts = found.of_node * (pool.available_nodes - promised) // found.usable
    others = sum(team.share for team in teams if team is not found.team)
    least = ceil(Fraction(100, parts)) / 100 if parts > 0 else 2
    if found.team.share < least <= 1 - others + 1e-9:
        yield f"write share: {least:g}"


def _size(found: TeamQuota, sized: Sized) -> Iterator[str]:
    """The smallest number of nodes with which one job of the team fits; a TPU slice has a fixed
    number of nodes."""
    pool, name, now = found.pool, found.team.name, found.pool.available_nodes
    if found.usable > found.of_node:
        return
    for nodes in range(now + 1, min(now + FEW, MOST) + 1):
        if sized(nodes)[name][found.resource] >= found.usable:
            yield f"let {pool.name} have {nodes} nodes"
            return


def _without_pool(name: str, path: str, *, later: bool) -> Finding:
    if later:
        return _finding("team-quota-of-nothing/idle", path, team=name, found=0, limit=1)
    return _finding("team-quota-of-nothing", path, team=name, found=0, limit=1)


def _rounded(found: TeamQuota, path: str, verb: str, part: float) -> Finding:
    least = ceil(Fraction(found.usable * 1000, found.units)) / 1000
    return _finding(
        "team-quota-of-nothing/rounded",
        path,
        team=found.team.name,
        pool=found.pool.name,
        resource=found.resource,
        part=f"{part:g}",
        units=f"{found.units:,}",
        usable=f"{found.usable:,}",
        verb=verb,
        limit=least,
    )
