"""The workloads that users start from: no rule of the policy pack has anything against them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_document
from gpufleet_policies.commands.audit import command
from tests.reading import yaml_documents

EXAMPLE = Path(__file__).parents[2] / "examples" / "workload-kinds"
MANIFESTS = sorted((EXAMPLE / "manifests").glob("*.yaml"))


def fleet() -> Fleet:
    compiled = compile_document((EXAMPLE / "fleet.yaml").read_bytes())
    assert compiled.fleet is not None
    assert compiled.deployable
    return compiled.fleet


def documents() -> list[dict[str, Any]]:
    return [
        document
        for file in MANIFESTS
        for document in yaml_documents(file.read_text())
        if document is not None
    ]


def test_there_is_one_of_each_kind() -> None:
    assert [file.stem for file in MANIFESTS] == [
        "batch-spot",
        "claim",
        "neuron",
        "nim",
        "notebooks",
        "pytorch-rdma",
        "small-models",
        "vllm-slice",
    ]


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_the_policy_pack_finds_nothing(file: Path) -> None:
    result = CliRunner().invoke(command, [str(file), "--profile", "strict", "--format", "json"])
    assert json.loads(result.output)["findings"] == [], result.output
    assert result.exit_code == 0


def asked(value: Any) -> set[str]:
    """Every accelerator that a document requests, at any depth."""
    if isinstance(value, dict):
        own = {str(key) for key in value.get("limits", {}) or {}}
        return own.union(*(asked(inner) for inner in value.values()))
    return set().union(*(asked(inner) for inner in value)) if isinstance(value, list) else set()


def test_each_asks_for_what_its_pool_advertises() -> None:
    advertised = {pool.name: set(pool.advertised) for pool in fleet().pools}
    for document in documents():
        text = json.dumps(document)
        for pool, resources in advertised.items():
            if f'"gpufleet.dev/pool": "{pool}"' in text:
                wanted = {
                    name
                    for name in asked(document)
                    if name.startswith(("nvidia.com/", "aws.amazon.com/"))
                }
                assert wanted <= resources, document["metadata"]["name"]


def test_ten_small_models_fit_one_l4() -> None:
    """The need that the manifest states, ten times, is within the memory of the board."""
    (models,) = (d for d in documents() if d["metadata"]["name"] == "small-models")
    need = float(models["metadata"]["annotations"]["gpufleet.dev/min-gpu-memory-gib"])
    pool = fleet().pool("chat")
    (share,) = pool.partition.shares
    assert share.memory_bytes is not None
    assert pool.nodes.minimum * share.per_node >= models["spec"]["replicas"]
    assert need * 2**30 <= share.memory_bytes


def test_queues_exist_for_those_that_name_one() -> None:
    queues = fleet().spec.queues
    assert queues is not None
    teams = {team.name for team in queues.teams}
    named = [
        d["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
        for d in documents()
        if "kueue.x-k8s.io/queue-name" in d["metadata"].get("labels", {})
    ]
    assert named == ["research", "research"]
    assert set(named) <= teams
