"""The doctor with the declaration: healthy clusters differ in nothing, and drift has its edit."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.doctor.cause import Diagnosis
from gpufleet_policies.doctor.diagnosis import diagnose
from gpufleet_policies.doctor.snapshot import cluster_of
from tests.policies.doctor.clusters import POOLS, World, compiled
from tests.policies.doctor.steps import Broken
from tests.reading import yaml_data
from tests.unit.test_use_cases import use_cases

ROOT = Path(__file__).parents[3]
_ELSEWHERE = re.compile(r"ct5lp|\bT4\b|inf2\.")
"""Pools of which the simulated operands make no node."""
_FILES = {path.parent.name: path.read_text() for path in ROOT.glob("examples/**/fleet.yaml")} | {
    f"{case.title}: {name}": text
    for case in use_cases()
    for name, text in case.files.items()
    if "\npools:" in text and "\nplatform:" in text
}
DECLARED = {name: text for name, text in _FILES.items() if not _ELSEWHERE.search(text)}
"""Declarations of examples and of the page of use cases."""


def of_world(world: World, fleet: Fleet | None) -> tuple[Diagnosis, ...]:
    return diagnose(cluster_of(world.dump()), fleet)


@pytest.mark.parametrize("kind", [kind for kind in POOLS if not kind.startswith("mig")])
def test_a_healthy_cluster_is_as_declared(kind: str) -> None:
    """Pools `mig*` are declared without MIG, and partitioned by hand."""
    assert of_world(World(kind), compiled(kind)) == ()


@pytest.mark.parametrize("name", DECLARED)
def test_the_cluster_of_an_example_has_no_finding(name: str) -> None:
    fleet = compile_data(yaml_data(DECLARED[name])).fleet
    assert fleet is not None
    world = World("declared", fleet)
    for declared in (fleet, None):
        assert [one.text("message") for one in of_world(world, declared)] == []


LABEL = "gpufleet.dev/pool"
DRIFT: list[tuple[str, dict[str, Any], str, str, str]] = [
    (
        "node-of-no-pool",
        {"patch": "Node/gpu-1", "with": {"metadata": {"labels": {LABEL: "old"}}}},
        "whole",
        "1 nodes with GPUs belong to no pool of the declaration: gpu-1",
        "pools: [{name: ..., ownership: existing}]  # NVIDIA-H100-80GB-HBM3",
    ),
    (
        "pool-below-minimum",
        {"delete": "Node/gpu-1"},
        "whole",
        "gpu has 1 nodes, the declared minimum is 2",
        "pools[0].nodes.min: 1",
    ),
    (
        "node-taint-missing",
        {"patch": "Node/gpu-0", "with": {"spec": {"taints": []}}},
        "whole",
        "gpu-0 lacks the taint nvidia.com/gpu=present:NoSchedule of gpu",
        "pools[0].taints",
    ),
]


@pytest.mark.parametrize("row", DRIFT, ids=lambda row: row[0])
def test_drift_is_named_with_the_edit(row: tuple[str, dict[str, Any], str, str, str]) -> None:
    code, step, kind, said, edit = row
    world = Broken(kind)
    world.do(step)
    found = {one.cause.code: one for one in of_world(world, compiled(kind))}
    assert found[code].text("message") == said
    assert found[code].text("declared") == edit
    assert code not in {one.cause.code for one in of_world(world, None)}


def test_the_edit_of_a_cause_names_its_pool() -> None:
    """By the label of the node, or of the nodes that a NodePool makes."""
    world = Broken("whole")
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-INVALID"}
    world.do({"patch": "Node/gpu-0", "with": {"metadata": {"labels": labels}}})
    full = {"limits": {"nvidia.com/gpu": "8"}, "used": {"nvidia.com/gpu": "8"}}
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["p5"]}
    world.do({"nodepool": "gpu", "requirements": [family], **full})
    template = world.find("NodePool/gpu")["spec"]["template"]
    template["metadata"] = {"labels": {LABEL: "gpu", "example.com/size": "large"}}
    selector = {"nodeSelector": {"example.com/size": "large"}}
    world.do({"pod": "ml/train", "asks": {"nvidia.com/gpu": 8}, "spec": selector})
    edits = {d.cause.code: d.text("declared") for d in of_world(world, compiled("whole"))}
    assert edits["mig-strategy-mismatch"] == "pools[0].sharing.mig.strategy: mixed"
    assert edits["nodepool-limit-reached"] == "pools[0].nodes.max"
    plain = {d.cause.code: d.text("declared") for d in of_world(world, None)}
    assert plain["nodepool-limit-reached"] == "pools[].nodes.max"
