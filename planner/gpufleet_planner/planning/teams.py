"""Teams of a plan: each one's part of the planned GPUs becomes its Kueue quota."""

from collections.abc import Sequence
from typing import Any, cast

from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.workloads import PlanHead


def queues_data(
    head: PlanHead, planned: Sequence[tuple[str | None, Option]]
) -> dict[str, Any] | None:
    """The FleetSpec's `queues`: a share for each team, next to what the file's `spec` says of
    queues and teams; None when no workload names a team."""
    shares = team_shares(planned)
    if not shares:
        return None
    stated = {str(team.get("name")): team for team in _stated_teams(head)}
    teams = [{"share": part, **stated.pop(name, {}), "name": name} for name, part in shares.items()]
    return {**(head.spec.get("queues") or {}), "teams": [*teams, *stated.values()]}


def team_shares(planned: Sequence[tuple[str | None, Option]]) -> dict[str, float]:
    """Each team's part of the planned GPUs. Rounded down, so that they never add up to more than 1;
    what belongs to no team is no one's share."""
    parts: dict[str, float] = {}
    total = 0.0
    for team, option in planned:
        part = float(option.gpu_part)
        total += part
        if team is not None:
            parts[team] = parts.get(team, 0.0) + part
    return {
        name: max(int(10_000 * part / total) / 10_000, 0.0001)
        for name, part in sorted(parts.items())
    }


def _stated_teams(head: PlanHead) -> list[dict[str, Any]]:
    """Teams that the file's `spec` describes further: namespaces, borrowing, weight."""
    queues = head.spec.get("queues")
    teams: object = cast("dict[str, Any]", queues).get("teams") if isinstance(queues, dict) else []
    if not isinstance(teams, list):
        return []
    rows = cast("list[object]", teams)
    return [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
