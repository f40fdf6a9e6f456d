"""Queues that cannot work are refused while they are still a file."""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.monitoring_artefacts import recording_rules

POOLS: list[dict[str, Any]] = [
    {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}, "provisioner": "karpenter"},
    {
        "name": "train",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 4},
        "provisioner": "clusterAutoscaler",
        "fabric": "efa",
    },
    {"name": "fixed", "instanceTypes": ["p5.48xlarge"], "nodes": {"min": 2, "max": 2}},
    {
        "name": "claimed",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 2, "max": 2},
        "sharing": {"dra": {}},
    },
]
TEAMS: list[dict[str, Any]] = [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]


def found(platform: str = "eks", **queues: Any) -> dict[str, Any]:
    """Findings about queues, by code."""
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": POOLS,
            "queues": {"teams": TEAMS, **queues},
        }
    )
    about = [f for f in result.findings if f.path.startswith("queues")]
    assert len({(f.code, f.path) for f in about}) == len(about)
    return {f.code: f for f in about}


LEGAL: list[dict[str, Any]] = [
    {},
    {"cohorts": [{"name": "labs"}, {"name": "vision", "parent": "labs"}]},
    {"teams": [{**TEAMS[0], "cohort": "labs"}, TEAMS[1]], "cohorts": [{"name": "labs"}]},
    {"preemption": {"whileBorrowing": True}},
    {"fairSharing": {}, "teams": [{**TEAMS[0], "weight": 0}, TEAMS[1]]},
    {"topologies": [{"name": "fabric", "pools": ["fixed"]}]},
    {"topologies": [{"name": "fabric", "pools": ["train"]}], "atomicScaleUp": ["train"]},
    {"priorities": [{"name": "urgent", "value": 1000}]},
    {"defaultQueue": True},
]


@pytest.mark.parametrize("queues", LEGAL)
def test_legal(queues: dict[str, Any]) -> None:
    assert found(**queues) == {}


@pytest.mark.parametrize(
    ("queues", "code", "path", "said"),
    [
        ({"teams": [TEAMS[0], TEAMS[0]]}, "team-twice", "queues.teams[1].name", "'a'"),
        (
            {"teams": [{"name": "a", "share": 0.7}, TEAMS[1]]},
            "team-shares-over-one",
            "queues.teams",
            "1.2",
        ),
        (
            {"teams": [{**TEAMS[0], "weight": 3}, TEAMS[1]]},
            "team-weight-without-fair-sharing",
            "queues.teams[0].weight",
            "weight 3",
        ),
        (
            {"teams": [{**TEAMS[0], "cohort": "labs"}, TEAMS[1]]},
            "cohort-unknown",
            "queues.teams[0].cohort",
            "declared are gpufleet",
        ),
        (
            {"cohorts": [{"name": "x", "parent": "y"}]},
            "cohort-unknown",
            "queues.cohorts[0].parent",
            "'y'",
        ),
        (
            {"cohorts": [{"name": "x", "parent": "x"}]},
            "cohort-cycle",
            "queues.cohorts[0].parent",
            "x is in x",
        ),
        ({"cohorts": [{"name": "gpufleet"}]}, "cohort-twice", "queues.cohorts", "of the fleet"),
        (
            {
                "defaultQueue": True,
                "teams": [{**TEAMS[0], "namespaces": ["n"]}, {**TEAMS[1], "namespaces": ["n"]}],
            },
            "default-queue-twice",
            "queues.defaultQueue",
            "a and b both run in n",
        ),
        (
            {"fairSharing": {}, "preemption": {"whileBorrowing": True}},
            "borrowing-preemption-with-fair-sharing",
            "queues.preemption.whileBorrowing",
            "fairSharing",
        ),
        (
            {"preemption": {"whileBorrowing": True, "reclaim": "never"}},
            "borrowing-preemption-without-reclaim",
            "queues.preemption.whileBorrowing",
            "reclaim: never",
        ),
        (
            {"priorities": [{"name": "p", "value": 1}, {"name": "p", "value": 2}]},
            "priority-twice",
            "queues.priorities",
            "2 times",
        ),
        (
            {"topologies": [{"name": "t", "pools": ["train"]}]},
            "topology-scales-from-zero",
            "queues.topologies[0].pools[0]",
            "0 to 4 nodes",
        ),
        (
            {"topologies": [{"name": "t", "pools": ["claimed"]}]},
            "topology-with-claims",
            "queues.topologies[0].pools[0]",
            "claims",
        ),
        (
            {"topologies": [{"name": "t", "pools": ["fixed"]}, {"name": "u", "pools": ["fixed"]}]},
            "topology-twice",
            "queues.topologies[1].pools[0]",
            "is in t already",
        ),
        (
            {"topologies": [{"name": "t", "pools": ["nix"]}]},
            "queue-pool-unknown",
            "queues.topologies[0].pools[0]",
            "'nix'",
        ),
        (
            {"atomicScaleUp": ["chat"]},
            "atomic-scale-up-without-autoscaler",
            "queues.atomicScaleUp[0]",
            "karpenter",
        ),
        ({"atomicScaleUp": ["nix"]}, "queue-pool-unknown", "queues.atomicScaleUp[0]", "'nix'"),
    ],
)
def test_refused(queues: dict[str, Any], code: str, path: str, said: str) -> None:
    findings = found(**queues)
    assert code in findings, findings
    assert findings[code].path == path
    assert said in findings[code].message


def test_topologies_need_levels_where_the_cloud_has_none() -> None:
    pool = {
        "name": "own",
        "gpu": "H100-80GB",
        "gpusPerNode": 8,
        "nodes": {"min": 2, "max": 2},
        "vsphere": {"cpus": 96, "memoryGib": 1024, "template": "gpu"},
    }
    for levels, codes in (((), ["topology-levels-missing"]), (("example.com/rack",), [])):
        result = compile_data(
            {
                "catalogue": "2026.11",
                "platform": "vsphere",
                "cluster": {"name": "ml"},
                "pools": [pool],
                "queues": {
                    "teams": TEAMS,
                    "topologies": [{"name": "t", "pools": ["own"], "levels": list(levels)}],
                },
            }
        )
        assert [f.code for f in result.findings if f.path.startswith("queues")] == codes


@pytest.mark.parametrize(
    ("kueue", "codes"),
    [
        ({"enabled": False}, ["kueue-disabled-with-queues"]),
        ({"enabled": False, "ownership": "existing"}, []),
        ({}, []),
    ],
)
def test_queues_need_a_controller(kueue: dict[str, Any], codes: list[str]) -> None:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": POOLS,
            "queues": {"teams": TEAMS},
            "addons": {"kueue": kueue},
        }
    )
    assert [f.code for f in result.findings if f.path == "queues"] == codes


def test_a_namespace_of_two_teams_is_booked_on_the_first() -> None:
    teams = [{**team, "namespaces": ["shared", team["name"]]} for team in TEAMS]
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}],
            "queues": {"teams": teams},
            "monitoring": {},
        }
    )
    (said,) = [one for one in result.findings if one.code == "namespace-of-two-teams"]
    assert "booked on a" in said.message
    assert result.deployable
    assert result.fleet.team_of_namespaces() == {"shared": "a", "a": "a", "b": "b"}
    monitoring = result.fleet.spec.monitoring
    assert monitoring is not None
    # Two of a namespace would be an error of the rule that joins them, for all teams.
    named = [
        rule["labels"]["namespace"]
        for rule in recording_rules(result.fleet, monitoring)
        if rule["record"] == "gpu:team:info"
    ]
    assert sorted(named) == ["a", "b", "shared"]


@pytest.mark.parametrize(
    ("name", "fix"),
    [("kubeflow.org/pytorch", "write kubeflow.org/pytorchjob"), ("x", "remove it")],
)
def test_kueue_has_the_frameworks(name: str, fix: str) -> None:
    result = found(teams=TEAMS, frameworks=["ray.io/rayjob", name])
    assert result["kueue-framework-unknown"].path == "queues.frameworks[1]"
    assert result["kueue-framework-unknown"].fix == fix
