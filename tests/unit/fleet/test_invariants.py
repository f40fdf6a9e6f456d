"""A declared quantity that becomes zero has a finding, with the change that gives one unit."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data

BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "usdPerHour": "31"}
WHOLE = {"instanceTypes": ["p5.48xlarge"], "fabric": "efa", "zones": ["us-east-1a"]}
TWO = {"teams": [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]}
L4 = {"instanceTypes": ["g6.xlarge"], "nodes": {"min": 0, "max": 1}}


def found(pool: dict[str, Any], at: datetime | None = None, **rest: Any) -> list[Finding]:
    document = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
        "pools": [{"name": "p", **pool}],
        **rest,
    }
    return [*compile_data(document, as_of=at).findings]


def sized(count: int) -> list[dict[str, Any]]:
    return [{"reserved": {"id": BLOCK["id"], "zone": BLOCK["zone"], "instances": count}}]


def blocks(*windows: tuple[str, str]) -> list[dict[str, Any]]:
    return [
        {"capacityBlock": {**BLOCK, "starts": starts, "until": until, "instances": 2}}
        for starts, until in windows
    ]


DECEMBER = ("2026-12-01T11:30:00Z", "2026-12-20T11:30:00Z")
JANUARY = ("2027-01-01T11:30:00Z", "2027-01-20T11:30:00Z")
LATER = {"team": "a", "gpus": 8, "starts": "2027-02-01T00:00:00Z", "until": "2027-02-03T00:00:00Z"}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str]] = {
    "fewer machines than the smallest size": (
        {**WHOLE, "nodes": {"min": 3, "max": 4}, "capacity": sized(1)},
        {},
        "error pools[0].nodes.min",
        "p has 3 to 4 nodes, and its capacity has at most 1 instances: further nodes never",
        "write nodes.min: 1, or add `onDemand: {}` or what else was bought to capacity",
    ),
    "blocks one after the other": (
        {
            **WHOLE,
            "nodes": {"min": 0, "max": 4},
            "provisioner": "karpenter",
            "capacity": blocks(DECEMBER, JANUARY),
        },
        {},
        "warning pools[0].nodes.max",
        "p has 0 to 4 nodes, and its capacity has at most 2 instances",
        "write nodes.max: 2, or add",
    ),
    "a promise of less than a node": (
        {**WHOLE, "nodes": {"min": 0, "max": 2}, "commitments": [{"team": "a", "gpus": 4}]},
        {"queues": TWO},
        "warning pools[0].commitments[0].gpus",
        "4 GPUs of p are promised to a, and a job there takes a node with 8: its quota is 0",
        "write 8",
    ),
    "a promise outside of every window": (
        {
            **WHOLE,
            "nodes": {"min": 0, "max": 2},
            "capacity": blocks(DECEMBER),
            "commitments": [LATER],
        },
        {"queues": TWO},
        "warning pools[0].commitments[0]",
        "8 GPUs of p are promised to a for a time in which the pool has no nodes",
        "buy capacity for that time, or move the commitment",
    ),
    "a promise of more than there is": (
        {**WHOLE, "nodes": {"min": 0, "max": 1}, "commitments": [{"team": "a", "gpus": 16}]},
        {"queues": TWO},
        "warning pools[0].commitments[0].gpus",
        "16 GPUs of p are promised to a, and the pool never has more than 8 in that time",
        "write 8 or less, or let p have 2 nodes",
    ),
    "a promise that leaves the others nothing": (
        {**WHOLE, "nodes": {"min": 0, "max": 1}, "commitments": [{"team": "a", "gpus": 8}]},
        {"queues": TWO},
        "warning queues.teams[1].share",
        "share 0.5 of p is 0 of 8 nvidia.com/gpu",
        "let p have 3 nodes, or give it the pool: `team: b`",
    ),
    "only the owner of every pool": (
        {**L4, "team": "a"},
        {"queues": TWO},
        "warning queues.teams[1]",
        "every pool belongs to another team (`team`), and b has no quota: its jobs run only on",
        "give b a pool (`team: b`)",
    ),
    "an owner who lends nothing": (
        {**L4, "team": "a"},
        {"queues": {"teams": [{"name": "a", "share": 0.5, "lending": 0}, TWO["teams"][1]]}},
        "error queues.teams[1]",
        "every pool belongs to another team (`team`), and b has no quota: none ever runs",
        "give b a pool",
    ),
    "borrowing a multiple of nothing": (
        L4,
        {"queues": {"teams": [TWO["teams"][0], {"name": "b", "share": 0.5, "borrowing": 1}]}},
        "error queues.teams[1].share",
        "no job of the team is ever admitted there",
        "let p have 2 nodes",
    ),
    "one team, and nothing to borrow": (
        L4,
        {"queues": {"teams": [{"name": "a", "share": 0.5}]}},
        "error queues.teams[0].share",
        "no job of the team is ever admitted there",
        "write share: 1, or let p have 2 nodes",
    ),
    "nodes that report nothing": (
        {"instanceTypes": ["trn1.32xlarge"], "nodes": {"min": 0, "max": 2}},
        {"monitoring": {"backend": "prometheus"}},
        "warning monitoring",
        "DCGM reports nothing for p",
        "scrape the metrics of the vendor",
    ),
    "a budget below one node": (
        {**WHOLE, "nodes": {"min": 0, "max": 2}},
        {"budget": {"usdPerHour": 20}},
        "error budget.usdPerHour",
        "all pools at their largest size cost 110.08 USD/h, and the budget is 20",
        "write 55.04 or more, the minimum with nodes of each pool",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_silent(name: str) -> None:
    pool, rest, where, message, fix = CASES[name]
    here = [one for one in found(pool, **rest) if f"{one.severity.value} {one.path}" == where]
    assert any(message in one.message and fix in (one.fix or "") for one in here), here


def test_what_is_there_has_no_finding() -> None:
    pool = {**WHOLE, "nodes": {"min": 2, "max": 2}, "capacity": sized(2)}
    commitments = [{"team": "a", "gpus": 8}]
    assert not found({**pool, "commitments": commitments}, queues={"teams": TWO["teams"][:1]})


def test_a_window_that_opens_later_says_when() -> None:
    pool = {**WHOLE, "nodes": {"min": 0, "max": 2}, "capacity": blocks(DECEMBER)}
    said = found(pool, datetime(2026, 11, 30, tzinfo=UTC), queues=TWO)
    assert [(one.code, one.severity.value) for one in said] == [("pool-without-nodes-now", "info")]
    assert "until 2026-12-01T11:30:00+00:00" in said[0].message


def test_hosts_that_cannot_hold_the_pool() -> None:
    options = {"cpus": 16, "memoryGib": 64, "template": "u", "hosts": ["one"], "maxPerHost": 2}
    document = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "pools": [{"name": "p", "gpu": "L4", "nodes": {"min": 3, "max": 3}, "vsphere": options}],
    }
    said = [one for one in compile_data(document).findings if one.code == "vsphere-hosts-too-few"]
    assert said[0].fix == "name 2 hosts, or write nodes: {min: 2, max: 2}"
    options["hosts"] = ["one", "two"]
    assert "vsphere-hosts-too-few" not in {one.code for one in compile_data(document).findings}


def test_two_hundred_teams_with_nothing_are_answered() -> None:
    """The smallest size is looked for once for a pool, not once for a team (it took minutes)."""
    teams = [{"name": f"t{index}", "share": 0.001} for index in range(200)]
    codes = [one.code for one in found(L4, queues={"teams": teams})]
    assert codes.count("team-quota-of-nothing") == 200


def notebooks(count: int, exempt: int, **pool: Any) -> list[Finding]:
    names = [f"n{index}" for index in range(count)]
    idle = {
        "afterMinutes": 30,
        "notebooks": [{"name": name, "namespace": "lab"} for name in names],
        "exempt": names[:exempt],
    }
    people = {**L4, "intent": "interactive", "idle": idle, **pool}
    said = found(
        people,
        addons={"keda": {"enabled": True}},
        monitoring={"queryUrl": "http://prometheus.monitoring.svc:9090"},
    )
    return [one for one in said if one.code.startswith("notebooks-")]


def test_notebooks_that_no_node_has_room_for() -> None:
    two = {"nodes": {"min": 0, "max": 2}}
    assert notebooks(2, 2, **two) == []
    (turns,) = notebooks(3, 2, **two)
    assert (turns.code, turns.severity.value) == ("notebooks-take-turns", "info")
    (never,) = notebooks(3, 3, **two)
    assert (never.code, never.path) == ("notebooks-beyond-pool", "pools[0].idle.exempt")
    assert "3 notebooks of p never stop, and its maximum number of nodes holds 2" in never.message
    shared = {"sharing": {"timeSlicing": {"replicas": 2}}}
    assert notebooks(4, 4, **two, **shared) == []
    assert notebooks(5, 5, **two, **shared)[0].evidence["limit"] == 4
