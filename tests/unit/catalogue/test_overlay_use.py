"""One overlay with its own GPU, machine, price and model, used by every command, and its changes to
the edition."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet.cli.compile import command as compile_command
from gpufleet.findings import FleetError
from gpufleet_planner.commands.pack import command as pack_command
from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.commands.size import command as size_command
from gpufleet_policies.commands.audit import command as audit_command
from tests.unit.catalogue.test_overlay import FACTS, fleet, written

VARIABLE = "GPUFLEET_CATALOGUE_OVERLAY"


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The overlay, named by the environment variable, and the folder of it."""
    monkeypatch.setenv(VARIABLE, str(written(tmp_path, FACTS)))
    return tmp_path


def run(command: Any, folder: Path, data: Any, *options: str) -> Any:
    file = folder / "input" / "file.yaml"
    file.parent.mkdir(exist_ok=True)
    documents = data if isinstance(data, list) else [data]
    file.write_text(yaml.safe_dump_all(documents))
    arguments = [str(file), *options] if data is not None else list(options)
    return json.loads(CliRunner().invoke(command, [*arguments, "--format", "json"]).stdout)


def test_compile(facts: Path) -> None:
    pool = {"name": "big", "instanceTypes": ["p9.48xlarge"], "nodes": {"min": 1, "max": 2}}
    cluster = {"name": "ml", "region": "eu-central-1"}
    data = {"catalogue": "2026.11", "platform": "eks", "cluster": cluster, "pools": [pool]}
    answer = run(compile_command, facts, data)
    assert [one["code"] for one in answer["findings"]] == ["overlay-region-unknown"]
    assert answer["fleet"]["pools"][0]["gpu"] == "B300X-300GB"
    assert "199" in json.dumps(answer["fleet"])


def test_size(facts: Path) -> None:
    options = "--model My-Model-7B --workload inference --context 8192 --gpu B300X"
    answer = run(size_command, facts, None, *options.split(), "--region", "eu-central-1")
    best = answer["choices"][0]
    assert (best["gpu"], best["machine"]["name"]) == ("B300X-300GB", "p9.48xlarge")


def test_plan(facts: Path) -> None:
    work = {
        "name": "chat", "workload": "inference", "model": "My-Model-7B", "context": 8192,
        "batch": 8, "gpus": ["B300X-300GB"],
    }  # fmt: skip
    cluster = {"name": "ml", "region": "eu-central-1"}
    answer = run(plan_command, facts, {"platform": "eks", "cluster": cluster, "workloads": [work]})
    assert answer["spec"]["pools"][0]["instanceTypes"] == ["p9.48xlarge"]
    assert answer["cost"]["usdPerHour"] == "99.500000"


def test_pack(facts: Path) -> None:
    data = {
        "machines": [{"name": "big", "instanceType": "p9.48xlarge", "maxNodes": 2}],
        "shares": [{"name": "train", "gpus": 8, "count": 2}],
    }
    answer = run(pack_command, facts, data)
    assert (answer["cost"], answer["gpus"]) == (199.0, 16)


def test_audit(facts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Karpenter pool of the overlay's machine has its price in the findings."""
    requirement = {
        "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p9.48xlarge"],
    }  # fmt: skip
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    template = {"spec": {"requirements": [requirement], "nodeClassRef": node_class}}
    pool = {
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "big"},
        "spec": {"template": template, "limits": {"nvidia.com/gpu": 16}},
    }  # fmt: skip
    priced = "1 x p9.48xlarge onDemand at 99.50 USD/h"
    assert priced in json.dumps(run(audit_command, facts, pool))
    monkeypatch.delenv(VARIABLE)
    assert priced not in json.dumps(run(audit_command, facts, pool))


def test_changed_files_are_read_again(tmp_path: Path) -> None:
    file = written(tmp_path, FACTS)
    first = load(overlay=file)
    assert load(overlay=file) is first
    changed = {**FACTS, "prices": [{**FACTS["prices"][0], "usd": "77"}]}
    written(tmp_path, changed)
    os.utime(file, ns=(1, 1))
    second = load(overlay=file)
    assert second.in_region("eu-central-1").instance("p9.48xlarge").on_demand.usd_per_hour == 77
    written(tmp_path, {**FACTS, "date": "soon"})
    with pytest.raises(FleetError):
        load(overlay=file)


def test_a_new_file_in_a_folder_is_read(tmp_path: Path) -> None:
    rows = {"date": FACTS["date"], "models": FACTS["models"]}
    written(tmp_path, rows, "a.yaml")
    assert "p9.48xlarge" not in load(overlay=tmp_path).instances
    more = {"date": FACTS["date"], "gpus": FACTS["gpus"], "instances": FACTS["instances"]}
    written(tmp_path, more, "b.yaml")
    assert "p9.48xlarge" in load(overlay=tmp_path).instances


def test_other_facts_of_a_known_gpu_are_named(tmp_path: Path) -> None:
    """The MIG slices of the edition would not fit memory of the user's own."""
    row = {
        **FACTS["gpus"][0],
        "key": "A100-80GB",
        "nominalGb": 80,
        "memoryMib": 76_000,
        "architecture": "ampere",
        "computeCapability": "8.0",
    }
    result = fleet(
        written(tmp_path, {"date": "2026-11-20", "gpus": [row]}),
        pools=[{"name": "a", "gpu": "A100-80GB", "nodes": {"min": 0, "max": 1}}],
    )
    (found,) = [one for one in result.findings if one.code == "overlay-replaces-fact"]
    assert found.severity == "warning"
    assert found.path == "catalogueOverlay.gpus.A100-80GB"
    assert "memory_mib 76000 instead of 81920" in found.message
    assert "its MIG slices stay those of the edition" in found.message


def test_rows_of_ones_own_change_nothing(tmp_path: Path) -> None:
    facts = {**FACTS, "prices": FACTS["prices"][:2]}
    codes = {one.code for one in fleet(written(tmp_path, facts)).findings}
    assert not {code for code in codes if code.startswith("overlay-")}


def test_a_price_of_an_odd_region_is_named(tmp_path: Path) -> None:
    row = {"instance": "g6.xlarge", "buy": "onDemand", "region": "eu-centrall-1", "usd": "1"}
    result = fleet(written(tmp_path, {**FACTS, "prices": [*FACTS["prices"], row]}))
    odd = [one for one in result.findings if one.code == "overlay-region-unknown"]
    found = {one.evidence["found"]: one for one in odd}
    assert set(found) == {"eu-centrall-1", "eu-west-9"}
    assert found["eu-centrall-1"].fix == "write eu-central-1"
