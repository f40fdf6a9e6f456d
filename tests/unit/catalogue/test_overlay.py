"""Your own facts on top of an edition: used everywhere, and refused with every problem."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import AWS, editions, load
from gpufleet.catalogue.edition import edition_folder, read_rows
from gpufleet.catalogue.overlay_rows import TABLES
from gpufleet.cli.catalogue import command as catalogue_command
from gpufleet.findings import FleetError
from gpufleet.platforms.compiled import Compiled, compile_data

FACTS: dict[str, Any] = {
    "date": "2026-11-20",
    "source": "Price list of a regional provider",
    "gpus": [
        {
            "key": "B300X-300GB",
            "name": "NVIDIA B300X",
            "vendor": "nvidia",
            "architecture": "blackwell",
            "computeCapability": "10.3",
            "nominalGb": 300,
            "memoryMib": 300_000,
            "boards": {"sxm": {"gbs": 8000, "bf16": 2500, "fp8": 5000}},
        }
    ],
    "instances": [
        {
            "cloud": "aws",
            "name": "p9.48xlarge",
            "family": "p9",
            "architecture": "amd64",
            "vcpu": 192,
            "memoryGib": 2048,
            "gpu": "B300X-300GB",
            "count": 8,
        }
    ],
    "models": [
        {
            "name": "My-Model-7B",
            "config": {
                "model_type": "llama",
                "num_hidden_layers": 32,
                "hidden_size": 4096,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "intermediate_size": 14336,
                "vocab_size": 128256,
                "tie_word_embeddings": False,
            },
            "parametersBillion": "8.03",
        }
    ],
    "prices": [
        {"instance": "p9.48xlarge", "buy": "onDemand", "region": "eu-central-1", "usd": "99.5"},
        {"instance": "g6.xlarge", "buy": "onDemand", "region": "eu-central-1", "usd": "1.0"},
        {"instance": "g6.xlarge", "buy": "onDemand", "region": "eu-west-9", "usd": "2.0"},
    ],
}


def written(folder: Path, facts: dict[str, Any], name: str = "facts.yaml") -> Path:
    file = folder / name
    file.write_text(yaml.safe_dump(facts), encoding="utf-8")
    return file


def fleet(overlay: Path, **changes: Any) -> Compiled:
    return compile_data(
        {
            "catalogue": "2026.11",
            "catalogueOverlay": str(overlay),
            "platform": "eks",
            "cluster": {"name": "ml", "region": "eu-central-1"},
            "pools": [{"name": "big", "gpu": "B300X-300GB", "nodes": {"min": 1, "max": 2}}],
            **changes,
        }
    )


def test_an_unknown_gpu_machine_price_and_model_are_known(tmp_path: Path) -> None:
    catalogue = load(overlay=written(tmp_path, FACTS))
    assert catalogue.find_gpu("b300x").memory_bytes == 300_000 << 20
    assert catalogue.model("My-Model-7B").kv_bytes_per_token == 2 * 32 * 2 * 8 * 128
    row = catalogue.in_region("eu-central-1", estimate=False).instance("p9.48xlarge")
    assert row.on_demand.micro_usd_per_hour == 99_500_000
    assert row.on_demand.source.key == "overlay:facts.yaml"
    assert catalogue.sources["overlay:facts.yaml"].title == "Price list of a regional provider"
    assert load().gpus.keys() < catalogue.gpus.keys()


def test_a_fleet_is_compiled_with_it(tmp_path: Path) -> None:
    result = fleet(written(tmp_path, FACTS), environment="prod", budget={"usdPerHour": "150"})
    assert result.fleet is not None
    (pool,) = result.fleet.pools
    assert (pool.machines[0].name, pool.hourly_micro_usd) == ("p9.48xlarge", 99_500_000)
    assert [one.code for one in result.findings if one.severity == "error"] == ["budget-exceeded"]


def test_a_folder_and_the_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"date": FACTS["date"], "gpus": FACTS["gpus"]}, "a.yaml")
    written(tmp_path, {"date": FACTS["date"], "instances": FACTS["instances"]}, "b.yaml")
    monkeypatch.setenv("GPUFLEET_CATALOGUE_OVERLAY", str(tmp_path))
    assert load().instance("p9.48xlarge").source.key == "overlay:b.yaml"
    listed = CliRunner().invoke(catalogue_command, ["gpus", "--format", "json"]).output
    assert "B300X-300GB" in listed


def test_prices_of_several_files_add_up(tmp_path: Path) -> None:
    regions = {"a.yaml": "eu-west-8", "b.yaml": "eu-west-9"}
    for name, region in regions.items():
        row = {"instance": "g6.xlarge", "buy": "onDemand", "region": region, "usd": "1.5"}
        written(tmp_path, {"date": FACTS["date"], "prices": [row]}, name)
    known = load(overlay=tmp_path).prices[AWS]["g6.xlarge", "onDemand"]
    assert {*regions.values(), "us-east-1"} <= {price.region for price in known}


def test_a_row_of_the_editions_name_replaces_it(tmp_path: Path) -> None:
    row = {
        **FACTS["gpus"][0],
        "key": "L4",
        "name": "NVIDIA L4",
        "nominalGb": 24,
        "memoryMib": 24000,
    }
    catalogue = load(overlay=written(tmp_path, {"date": "2026-11-20", "gpus": [row]}))
    assert catalogue.gpu("L4").memory_bytes == 24_000 << 20
    assert len(catalogue.gpus) == len(load().gpus)


def test_every_problem_at_once(tmp_path: Path) -> None:
    wrong = {
        "date": "soon",
        "gpus": [{**FACTS["gpus"][0], "computeCapability": 10.3, "colour": "green"}],
        "instances": [{**FACTS["instances"][0], "gpu": "B999"}, {"name": "p9.24xlarge"}],
        "prices": [{"instance": "g6.xlarge", "buy": "never", "region": "eu-west-1", "usd": "1"}],
        "machines": [],
    }
    with pytest.raises(FleetError) as caught:
        load(overlay=written(tmp_path, wrong))
    told = {(one.code, one.path) for one in caught.value.findings}
    assert {
        ("overlay-bad-date", "facts.yaml.date"),
        ("overlay-unknown-table", "facts.yaml.machines"),
        ("overlay-bad-row", "facts.yaml.gpus[0].computeCapability"),
        ("overlay-bad-row", "facts.yaml.gpus[0].colour"),
        ("overlay-bad-row", "facts.yaml.instances[1].vcpu"),
        ("overlay-unknown-gpu", "instances.p9.48xlarge.gpu"),
        ("overlay-bad-row", "facts.yaml.prices[0].buy"),
    } <= told
    assert "must be text, found 10.3" in str(caught.value)


@pytest.mark.parametrize("edition", editions())
@pytest.mark.parametrize("table", ["gpus", "images", "charts"])
def test_rows_of_an_edition_keep_the_rules_of_an_overlay(edition: str, table: str) -> None:
    model, _ = TABLES[table]
    for row in read_rows(edition_folder(edition), table):
        kept = {k: v for k, v in row.items() if k not in ("source", "also", "date")}
        kept = {k: v for k, v in kept.items() if k in model.model_fields}
        model.model_validate_json(json.dumps(kept), by_name=True, by_alias=False)


def test_a_missing_overlay_is_a_finding(tmp_path: Path) -> None:
    result = fleet(tmp_path / "nothing")
    assert [one.code for one in result.findings] == ["overlay-not-found"]
    assert str(tmp_path / "nothing") in result.findings[0].message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": "ten"}, "num_hidden_layers of config must be a whole number"),
        ({"num_attention_heads": 0}, "a whole number of at least 1, found 0"),
        ({"vocab_size": True}, "found true"),
        ({"head_dim": [1]}, "head_dim of config must be"),
        ({"text_config": 3}, "text_config must be a mapping"),
        ({"text_config": {"hidden_size": 1.5}}, "hidden_size of config must be"),
        ({"hidden_size": 1 << 40}, "hidden_size of config must be"),
    ],
)
def test_sizes_of_a_model_are_whole_numbers(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (row,) = FACTS["models"]
    facts = {**FACTS, "models": [{**row, "config": {**row["config"], **change}}]}
    (found,) = (one for one in fleet(written(tmp_path, facts)).findings if "models" in one.path)
    assert found.code == "overlay-bad-row"
    assert words in found.message


def test_rows_of_another_type_are_said_in_words_of_files(tmp_path: Path) -> None:
    facts = {"models": [None, {"name": []}], "prices": [3]}
    found = [one.message for one in fleet(written(tmp_path, facts)).findings]
    assert "date must be the day the facts are of, found null" in found
    assert "must be a mapping, found null" in found
    assert "must be a mapping, found 3" in found
    assert "must be text, found a list of 0" in found
    assert not [one for one in found if "Input" in one or "None" in one]
