"""`gpufleet catalogue`: rows with source and date, filters, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.catalogue import command

TABLES = {
    "gpus": 60, "mig": 129, "instances": 165, "prices": 332, "models": 73, "charts": 18,
    "images": 25, "sources": 248, "engines": 4, "drivers": 39, "offers": 83,
}  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def rows(*arguments: str) -> list[dict[str, Any]]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(("table", "count"), TABLES.items())
def test_every_row_has_a_source_and_a_date(table: str, count: int) -> None:
    found = rows(table)
    assert len(found) == count
    for row in found:
        assert row["date"]
        assert row["key"] if table == "sources" else row["source"]


@pytest.mark.parametrize("table", TABLES)
def test_text_shows_a_table(table: str) -> None:
    result = run(table)
    assert result.exit_code == 0
    assert f"{table}, edition 2026.11" in result.stdout
    assert len(result.stdout.splitlines()) > TABLES[table]


def test_a_narrow_terminal_gets_the_columns_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = run("gpus").stdout
    assert max(map(len, text.splitlines()[:-1])) <= 80
    assert "A100-80GB" in text
    assert "80.0" in text
    assert "Too narrow for" in text.splitlines()[-1]
    assert "tdp watts" in text.splitlines()[-1]


def test_mig_rows_of_a_gpu_given_by_alias() -> None:
    found = rows("mig", "--gpu", "a100-80")
    assert [row["name"] for row in found] == [
        "1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb",
    ]  # fmt: skip
    assert found[4]["starts"] == [0, 4]
    assert found[1]["resource"] == "nvidia.com/mig-1g.10gb.me"


def test_profiles_without_placements_say_so() -> None:
    found = rows("mig", "--gpu", "RTX-PRO-4500")
    assert {row["evidence"] for row in found} == {"unknown"}
    assert {row["starts"] for row in found} == {None}
    assert "no placements were found" in found[0]["notes"]


def test_instances_by_gpu_and_cloud() -> None:
    found = rows("instances", "--gpu", "L4", "--cloud", "aws")
    assert found[0]["name"] == "g6f.large"
    assert found[0]["accelerator"]["fraction"] == "1/8"
    assert found[0]["accelerator"]["api_count"] == 0
    assert {row["cloud"] for row in found} == {"aws"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--region", "us-moon-1"), "aws or gcp region 'us-moon-1' is not in the catalogue"),
        (("--region", "us-east-1a"), "write us-east-1, and name zones"),
        (("--region", "us-east-1", "--cloud", "gcp"), "'us-east-1' is in aws"),
        (("--region", "us-east-1"), ""),
    ],
)
def test_a_region_that_is_not_known_is_reported(options: tuple[str, ...], said: str) -> None:
    result = run("prices", "--gpu", "L4", *options)
    assert said in result.stderr
    assert bool(said) == bool(result.stderr)


def test_prices_keep_not_sold_and_unknown_apart() -> None:
    found = {(row["instance"], row["buy"]): row for row in rows("prices", "--cloud", "gcp")}
    assert found["a4-highgpu-8g", "onDemand"]["offer"] == "not-sold"
    assert found["a3-edgegpu-8g", "onDemand"]["offer"] == "unknown"
    assert found["a2-highgpu-1g", "onDemand"]["usd_per_hour"] == "3.673385"
    assert found["a3-highgpu-1g", "onDemand"]["list_micro_usd_per_hour"] == 11_061_250


def test_prices_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    price = {"instance": "p5.48xlarge", "buy": "capacityBlock", "region": "us-east-1", "usd": "31"}
    path.write_text(json.dumps({"date": "2026-11-20", "prices": [price]}))
    found = rows("prices", "--gpu", "H100", "--prices", str(path))
    block = next(row for row in found if row["buy"] == "capacityBlock")
    assert (block["usd_per_hour"], block["source"]) == ("31", "overlay:ours.json")


def test_a_bad_price_file_exits_1_with_all_findings(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"date": "no", "prices": [{"instance": "x"}]}')
    result = run("prices", "--prices", str(path))
    assert result.exit_code == 1
    for code in ("overlay-bad-date", "overlay-bad-row"):
        assert code in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gpus", "--gpu", "A100"), "write A100-40GB or A100-80GB"),
        (("gpus", "--gpu", "H1000"), "nearest: H100"),
        (("models", "--gpu", "L4"), "--gpu has no meaning for models"),
        (("mig", "--cloud", "aws"), "--cloud has no meaning for mig"),
        (("gpus", "--edition", "2020.01"), "there is 2026.11"),
        (("everything",), "'everything' is not one of"),
        (("instances", "--cloud", "azure"), "'azure' is not one of"),
    ],
)
def test_wrong_usage_exits_2(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_a_table_without_rows_is_said() -> None:
    assert "No rows" in run("mig", "--gpu", "L4").stdout
    assert rows("mig", "--gpu", "L4") == []
