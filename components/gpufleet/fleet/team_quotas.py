"""What each team gets of each pool, in units that its jobs can use, and where that is nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from gpufleet.findings import Finding, error, warning
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
from gpufleet.fleet.quota import split
from gpufleet.spec.queues import Queues, Team


@dataclass(frozen=True, slots=True)
class TeamQuota:
    """Quota of a team of one resource of a pool."""

    team: Team
    pool: Pool
    resource: str
    units: int
    """Nominal quota, in units of the resource."""
    of_node: int
    """Units that each node advertises."""
    usable: int
    """Fewest units that a job can use."""

    @property
    def borrows(self) -> int | None:
        """Units beyond its quota; None: whatever is idle."""
        return borrowing_limit(self.team, self.units)

    @property
    def lends(self) -> int | None:
        """Units that others may use while they are idle; None: all of them."""
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


def team_quotas(fleet: HasPools, queues: Queues) -> Iterator[TeamQuota]:
    """Every quota, by pool, resource and team, in the order of the declaration."""
    for pool in quota_pools(fleet):
        quota = nominal_quota(pool, fleet, queues.teams)
        for resource, of_node in pool_units(pool, fleet).items():
            usable = usable_unit(pool, of_node)
            for team in queues.teams:
                units = quota[team.name][resource]
                yield TeamQuota(team, pool, resource, units, of_node, usable)


def validate_quotas(fleet: HasPools, queues: Queues | None) -> Iterator[Finding]:
    """Shares, borrowing and lending that are declared and come out as nothing."""
    if queues is None:
        return
    for found in team_quotas(fleet, queues):
        there = found.of_node * found.pool.available_nodes
        owner = found.pool.spec.team
        others = owner is not None and owner in {team.name for team in queues.teams}
        if there == 0 or (others and owner != found.team.name):
            continue  # outside of every window, or another team's pool
        path = f"queues.teams[{queues.teams.index(found.team)}]"
        if found.units < found.usable:
            yield _nothing(found, queues.teams, path, there)
            continue
        if found.team.borrowing and found.borrows is not None and found.borrows < found.usable:
            yield _rounded(found, f"{path}.borrowing", "borrow", found.team.borrowing)
        if found.team.lending and found.lends is not None and found.lends < found.usable:
            yield _rounded(found, f"{path}.lending", "lend", float(found.team.lending))


def _nothing(found: TeamQuota, teams: Sequence[Team], path: str, there: int) -> Finding:
    """Kueue names such workloads ExceedsMaxQuota (kubernetes-sigs/kueue KEP-10852)."""
    alone = found.team.borrowing == 0
    say = error if alone else warning
    outcome = (
        "no job of the team is ever admitted there"
        if alone
        else "its jobs run there only on what others leave idle"
    )
    name, pool = found.team.name, found.pool
    ways = [
        *_share(found, teams, there // found.usable),
        f"let {pool.name} have {_size(found, teams)} nodes",
        *((f"give it the pool: `team: {name}`",) if len(teams) > 1 else ()),
    ]
    return say(
        "team-quota-of-nothing",
        f"{path}.share",
        f"share {found.team.share:g} of {pool.name} is {found.units} of {there:,} "
        f"{found.resource}, and a job there takes {found.usable:,}: {outcome}",
        ", or ".join(ways),
        team=name,
        pool=pool.name,
        found=found.units,
        limit=found.usable,
    )


def _share(found: TeamQuota, teams: Sequence[Team], parts: int) -> Iterator[str]:
    """The smallest share, in hundredths, with which one job of the team fits."""
    shares = {team.name: team.share for team in teams}
    for hundredths in range(1, 101):
        shares[found.team.name] = hundredths / 100
        if sum(shares.values()) > 1 + 1e-9:
            return
        if hundredths / 100 > found.team.share and split(parts, shares)[found.team.name]:
            yield f"write share: {hundredths / 100:g}"
            return


def _size(found: TeamQuota, teams: Sequence[Team]) -> int:
    """The smallest number of nodes with which one job of the team fits."""
    shares = {team.name: team.share for team in teams}
    nodes = ceil(Fraction(found.usable, found.of_node))
    while not split(nodes * found.of_node // found.usable, shares)[found.team.name]:
        nodes += 1
    return nodes


def _rounded(found: TeamQuota, path: str, verb: str, part: float) -> Finding:
    least = ceil(Fraction(found.usable * 1000, found.units)) / 1000
    return warning(
        "team-quota-of-nothing",
        path,
        f"{part:g} times {found.units:,} {found.resource} of {found.pool.name} is less than one "
        f"job takes ({found.usable:,}): {found.team.name} can {verb} nothing there",
        f"write {least:g} or more",
        team=found.team.name,
        pool=found.pool.name,
        limit=least,
    )
