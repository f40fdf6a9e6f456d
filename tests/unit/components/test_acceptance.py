"""GpuAcceptance: its objects, and what it makes of the verdicts."""

import json
from typing import Any

import pytest

from gpufleet.addons.acceptance import GpuAcceptance, verdict
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.gpu_fleet import GpuFleet

DAEMON_SET, JOB = "kubernetes:apps/v1:DaemonSet", "kubernetes:batch/v1:Job"
TRAIN = {
    "name": "train",
    "instance_types": ["p5.48xlarge"],
    "nodes": {"min": 2, "max": 4},
    "intent": "training",
    "fabric": "efa",
    "acceptance": {},
}
ARGS: Any = {
    "catalogue": "2026.11",
    "platform": "eks",
    "region": "us-east-1",
    "pools": [TRAIN, {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 3}}],
}


def entry(verdict: str, key: str = "k", **tests: tuple[str, str, str]) -> str:
    figures = {
        name: dict(zip(("figure", "expected", "verdict"), found, strict=True))
        for name, found in tests.items()
    }
    return json.dumps({"verdict": verdict, "key": key, "figures": figures})


def test_each_pool_that_is_tested_has_its_own(run: Any) -> None:
    recorded = run(lambda: GpuAcceptance("a", ARGS))
    (daemons,) = recorded.all(DAEMON_SET)
    assert daemons.inputs["metadata"]["name"] == "acceptance-train"
    names = [one["name"] for one in daemons.inputs["spec"]["template"]["spec"]["initContainers"]]
    assert names == ["tools", "hold", "facts", "dcgm", "nccl", "work-0"]
    jobs = sorted(one.inputs["metadata"]["name"].split("-")[0] for one in recorded.all(JOB))
    assert jobs == ["nccl", "wait"]


def test_a_fleet_tests_after_the_nodes_are_there(run: Any) -> None:
    spec = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "ml"},
        "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
        "acceptance": {"strict": True},
    }
    recorded = run(lambda: GpuFleet("fleet", {"spec": spec}))
    assert recorded.one(DAEMON_SET).parent == "fleet-acceptance"


def test_without_a_pool_that_is_tested_it_says_so(run: Any) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuAcceptance("a", {**ARGS, "pools": ARGS["pools"][1:]})
        assert "no pool has `acceptance`" in str(caught.value)

    assert run(program).resources == []


def test_verdicts_are_those_of_the_present_tests() -> None:
    data = {
        "node-a": entry("accepted", gpus=("8", "8", "passed")),
        "node-b": entry("refused", gpus=("7", "8", "refused"), clock=("1", "unknown", "reported")),
        "node-c": entry("accepted", key="older"),
        "node-d": "not JSON",
        "_waiting": "node-c node-a",
        "_between-nodes": entry("refused", nccl=("90", "at least 300", "refused")),
    }
    found = verdict("A", "train", "k", data, strict=False)
    assert found["accepted"] == ["node-a"]
    assert found["refused"] == {
        "node-b": {"gpus": "7, expected 8"},
        "_between-nodes": {"nccl": "90, expected at least 300"},
        "node-c": {"verdict": "none yet, expected one"},
    }


def test_strict_names_every_node_and_figure() -> None:
    data = {
        "node-a": entry("refused", gpus=("7", "8", "refused"), nccl=("90", "300", "refused")),
        "node-b": entry("refused", gpus=("6", "8", "refused")),
    }
    with pytest.raises(InvalidArgumentsError) as caught:
        verdict("A", "train", "k", data, strict=True)
    text = str(caught.value)
    assert all(one in text for one in ("node-a", "node-b", "7, expected 8", "90, expected 300"))


@pytest.mark.parametrize("data", [None, {}])
def test_no_verdict_is_neither(data: Any) -> None:
    assert verdict("A", "train", "k", data, strict=True) == {
        "accepted": [],
        "refused": {},
        "figures": {},
    }
