"""A team's promised quota can be used by a job, or a finding gives the reason.

Random fleets of every platform with random teams, owners, promises and purchases: 300 with each run
of the tests, 10,000 at night. The usable amount of a team is added up here from the rendered
objects, as Kueue does: its quota, its borrowing limit and the others' lending limits.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from gpufleet.fleet import Fleet
from gpufleet.fleet.kueue_quota import pool_units, quota_pools, usable_unit
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.kueue_queues import cluster_queues
from gpufleet.render.kueue_rules import validate_queues
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
CLAIMS = st.sampled_from([{}, {"clients": 4, "sharing": "timeSlicing"}, {"devices": "mig"}])


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


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A fleet with teams; some pools are a team's, promised, claimed or bought in a number."""
    document, shared = draw(EVERY), draw(teams())
    names = st.sampled_from([team["name"] for team in shared])
    for pool in document["pools"]:
        if draw(st.integers(0, 5)) == 0:
            pool["team"] = draw(names)
        elif draw(st.integers(0, 5)) == 0:
            pool["commitments"] = [{"team": draw(names), "gpus": draw(st.integers(1, 40))}]
        if draw(st.integers(0, 9)) == 0 and "fabric" not in pool:
            pool["sharing"] = {"dra": {"namespaces": ["research"], **draw(CLAIMS)}}
        if draw(st.integers(0, 5)) == 0:
            names_of = [f"notebook-{index}" for index in range(draw(st.integers(1, 40)))]
            pool["idle"] = {
                "afterMinutes": 30,
                "notebooks": [{"name": name, "namespace": "lab"} for name in names_of],
                "exempt": names_of[: draw(st.integers(0, len(names_of)))],
            }
        for way in pool.get("capacity", []):
            for bought in (one for one in (way.get("reserved"), way.get("capacityBlock")) if one):
                if draw(st.booleans()):
                    bought["instances"] = draw(st.integers(1, 4))
    return {**document, "queues": {"teams": shared}}


def amounts(fleet: Fleet) -> Iterator[tuple[str, str, int, int, int]]:
    """Team, pool, quota, what it can ever use, and what one job takes; from the ClusterQueues."""
    entries: dict[tuple[str, str], list[tuple[str, dict[str, int | None]]]] = {}
    for queue in cluster_queues(fleet):
        for group in queue["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                for one in flavor["resources"]:
                    sizes = {
                        key: int(one[key]) if key in one else None
                        for key in ("nominalQuota", "borrowingLimit", "lendingLimit")
                    }
                    key = (flavor["name"], one["name"])
                    entries.setdefault(key, []).append((queue["metadata"]["name"], sizes))

    def lent(sizes: dict[str, int | None]) -> int:
        nominal, limit = sizes["nominalQuota"] or 0, sizes["lendingLimit"]
        return nominal if limit is None else min(nominal, limit)

    for (name, resource), members in entries.items():
        pool = fleet.pool(name)
        units = pool_units(pool, fleet)
        if resource not in units:
            continue  # another pool of the group has it
        for team, sizes in members:
            nominal, limit = sizes["nominalQuota"] or 0, sizes["borrowingLimit"]
            others = sum(lent(of) for other, of in members if other != team)
            most = nominal + (others if limit is None else min(limit, others))
            yield team, name, nominal, most, usable_unit(pool, units[resource])


def check(document: dict[str, Any], seen: dict[str, int]) -> None:
    compiled = compile_data(document)
    fleet = compiled.fleet
    if fleet is None:
        return
    seen["fleets"] += 1
    codes = {(one.code, one.path) for one in compiled.findings}
    said: dict[tuple[str, object], str] = {}
    for one in compiled.findings:
        if one.code == CODE and not one.path.endswith(("borrowing", "lending")):
            said[str(one.evidence["team"]), one.evidence.get("pool")] = one.severity.value
            assert one.fix
    seen["found"] += bool(said)
    owned = {pool.name: pool.spec.team for pool in fleet.pools if pool.spec.team is not None}
    served: set[str] = set()
    for team, pool, nominal, most, usable in amounts(fleet):
        if owned.get(pool, team) == team:
            served.add(team)
            found = said.pop((team, pool), None)
            expected = "error" if most < usable else "warning"
            assert found == (None if nominal >= usable else expected), (team, pool)
    # Claims that Kueue cannot count are named with the queues that are rendered.
    named = {one.path for one in (*compiled.findings, *validate_queues(fleet))}
    for team in document["queues"]["teams"]:
        if quota_pools(fleet) and team["name"] not in served:
            assert said.pop((team["name"], None), None), team
    assert not said
    for pool in fleet.pools:
        counted = pool in quota_pools(fleet) or pool.gpu.vendor != "nvidia"
        assert counted or f"{pool.path}.sharing.dra" in named or not pool.partition.dra
        sized = [
            (way.capacity_block or way.reserved).instances  # type: ignore[union-attr]
            for way in pool.capacity
            if way.capacity_block or way.reserved
        ]
        if sized and len(sized) == len(pool.capacity) and None not in sized:
            reached = sum(one or 0 for one in sized) >= pool.nodes.maximum
            assert reached or {f"{pool.path}.nodes.min", f"{pool.path}.nodes.max"} & named
        elif pool.spec.idle is not None and pool.partition.dra is None:
            room = pool.nodes.maximum * sum(pool.advertised.values())
            never = len(pool.spec.idle.exempt) > room
            seen["notebooks"] += never
            assert (("notebooks-beyond-pool", pool.path + ".idle.exempt") in codes) is never


def nothing_becomes_nothing(examples: int, part: int = 0) -> None:
    seen = {"fleets": 0, "found": 0, "notebooks": 0}

    @settings(
        deadline=None,
        max_examples=examples,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @seed(part)
    @given(declarations())
    def body(document: dict[str, Any]) -> None:
        check(document, seen)

    body()
    assert min(seen["fleets"], seen["found"]) > examples // 20, seen
    assert seen["notebooks"], seen


def test_three_hundred_fleets() -> None:
    nothing_becomes_nothing(300)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(1, 11))
def test_ten_thousand_fleets(part: int) -> None:
    nothing_becomes_nothing(1_000, part)


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
        "there only on idle quota of other teams"
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
