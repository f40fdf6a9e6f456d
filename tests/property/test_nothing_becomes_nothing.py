"""What a team was promised is something that a job can use, or a finding says why not.

Random fleets of every platform with random teams: 100 with each run of the tests, 10,000 at night.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpufleet.fleet import Fleet
from gpufleet.fleet.team_quotas import team_quotas
from gpufleet.platforms.compiled import compile_data
from tests.unit.components.random_fleets import fleets
from tests.unit.components.random_openshift import openshift_fleets
from tests.unit.components.random_own_hardware import own_fleets

CODE = "team-quota-of-nothing"
EVERY = st.one_of(
    fleets(),
    openshift_fleets("openshiftAws"),
    openshift_fleets("openshiftGcp"),
    own_fleets("vsphere"),
    own_fleets("openshift"),
    own_fleets("sandbox"),
)


@st.composite
def teams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One to five teams whose shares make at most 1."""
    parts = draw(st.lists(st.integers(1, 60), min_size=1, max_size=5))
    whole = max(100, sum(parts))
    found: list[dict[str, Any]] = []
    for index, part in enumerate(parts):
        team: dict[str, Any] = {"name": f"team-{index}", "share": round(part / whole, 4)}
        for key, values in (("borrowing", [0, 0.1, 1]), ("lending", [0, 0.05, 1])):
            if draw(st.booleans()):
                team[key] = draw(st.sampled_from(values))
        found.append(team)
    return found


def unusable(fleet: Fleet) -> set[tuple[str, str, str]]:
    """What rounds to less than one job takes: team, pool, field."""
    assert fleet.spec.queues is not None
    found: set[tuple[str, str, str]] = set()
    for one in team_quotas(fleet, fleet.spec.queues):
        place = (one.team.name, one.pool.name)
        if one.units < one.usable:
            found.add((*place, "share"))
            continue
        for field, limit in (("borrowing", one.borrows), ("lending", one.lends)):
            if getattr(one.team, field) and limit is not None and limit < one.usable:
                found.add((*place, field))
    return found


def nothing_becomes_nothing(examples: int) -> None:
    seen = {"fleets": 0, "found": 0}

    @settings(
        deadline=None,
        max_examples=examples,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(EVERY, teams())
    def body(document: dict[str, Any], shared: list[dict[str, Any]]) -> None:
        compiled = compile_data({**document, "queues": {"teams": shared}})
        if compiled.fleet is None:
            return
        seen["fleets"] += 1
        said = [one for one in compiled.findings if one.code == CODE]
        named = {
            (one.evidence["team"], one.evidence["pool"], one.path.rpartition(".")[2])
            for one in said
        }
        seen["found"] += bool(named)
        asked = {pool.name for pool in compiled.fleet.pools if pool.available_nodes}
        silent = {one for one in unusable(compiled.fleet) - named if one[1] in asked}
        assert not silent
        by_name = {team["name"]: team for team in shared}
        for one in said:
            alone = by_name[str(one.evidence["team"])].get("borrowing") == 0
            stops = one.path.endswith(".share") and alone
            assert one.severity.value == ("error" if stops else "warning")
            assert one.fix

    body()
    assert min(seen.values()) > examples // 20, seen


def test_a_hundred_fleets() -> None:
    nothing_becomes_nothing(100)


@pytest.mark.nightly
def test_ten_thousand_fleets() -> None:
    nothing_becomes_nothing(10_000)


SHARES = {"a": 0.34, "b": 0.33, "c": 0.33}
FLEET: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
    "pools": [
        {
            "name": "whole",
            "instanceTypes": ["p5.48xlarge"],
            "nodes": {"min": 0, "max": 2},
            "intent": "training",
            "fabric": "efa",
            "zones": ["us-east-1a"],
        }
    ],
    "queues": {"teams": [{"name": name, "share": share} for name, share in SHARES.items()]},
}


def test_the_fix_gives_one_job() -> None:
    """Two nodes among three teams: a third of a node is nothing for jobs of whole nodes."""
    first = [one for one in compile_data(FLEET).findings if one.code == CODE]
    assert [one.evidence["team"] for one in first] == ["c"]
    assert first[0].message == (
        "share 0.33 of whole is 0 of 16 nvidia.com/gpu, and a job there takes 8: its jobs run "
        "there only on what others leave idle"
    )
    assert first[0].fix == "let whole have 3 nodes, or give it the pool: `team: c`"
    pool = {**FLEET["pools"][0], "nodes": {"min": 0, "max": 3}}
    assert CODE not in {one.code for one in compile_data({**FLEET, "pools": [pool]}).findings}


def test_all_hosts_of_a_slice_are_one_job() -> None:
    """A v5e slice of 4x4 has four hosts with four chips (Google, TPU topologies)."""
    pool = {
        "name": "chips",
        "instanceTypes": ["ct5lp-hightpu-4t"],
        "nodes": {"min": 0, "max": 4},
        "zones": ["us-central1-a"],
        "gke": {"tpuTopology": "4x4"},
    }
    document = {
        **FLEET,
        "platform": "gke",
        "cluster": {"name": "ml", "region": "us-central1"},
        "pools": [pool],
        "queues": {"teams": [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]},
    }
    compiled = compile_data(document)
    found = [one for one in compiled.findings if one.code == CODE]
    assert {one.evidence["limit"] for one in found} == {16}, compiled.findings
