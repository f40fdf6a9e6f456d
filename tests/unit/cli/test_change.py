"""`gpufleet change`: text, JSON, exit codes, bad input."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.cli.change import command
from gpufleet.cli.output import UnreadableInputError
from tests.unit.change.fleets import EIGHTHS, HALVES, WHOLE, fleet_data


@pytest.fixture
def call(tmp_path: Path) -> Any:
    def run(old: Any, new: Any, *options: str, **settings: Any) -> Result:
        for name, data in (("old", old), ("new", new)):
            (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(data))
        arguments = [str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml"), *options]
        return CliRunner().invoke(command, arguments, **settings)

    return run


def test_the_plan_for_people(call: Any) -> None:
    changed = fleet_data(HALVES, change={"previous": EIGHTHS, "width": 2})
    result = call(fleet_data(EIGHTHS), changed)
    assert result.exit_code == 0
    out = result.stdout
    assert "cut  GPUs are repartitioned, every pod leaves first" in out
    assert "5 nodes in 3 waves of 2; first sb-cut-0, sb-cut-1" in out
    assert "GPUs                        40      24      40" in out
    assert "4.67 GPU-hours if all goes well, at most 16.67" in out
    assert "Stop when" in out


def test_the_plan_for_programs(call: Any) -> None:
    result = call(fleet_data(EIGHTHS), fleet_data(HALVES), "--format", "json", "--count", "cut=3")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["pools"][0]["waves"] == [[0, 1, 2]]
    assert document["nodes"] is None
    assert "change-all-at-once" in {f["code"] for f in document["findings"]}


def test_an_error_ends_with_1(call: Any) -> None:
    result = call(fleet_data(EIGHTHS), fleet_data(WHOLE))
    assert result.exit_code == 1
    assert "mig-manager-leaves-too-early" in result.stderr


def test_a_declaration_that_does_not_compile(call: Any) -> None:
    result = call(fleet_data(EIGHTHS), fleet_data(HALVES, gpu="L4"), "--format", "json")
    assert result.exit_code == 1
    assert "the new declaration" in result.stderr
    document = json.loads(result.stdout)
    assert document["pools"] is None
    assert document["findings"]
    assert all("new.yaml: " in one["message"] for one in document["findings"])


def test_live_nodes_are_explained(call: Any) -> None:
    labels = {"gpufleet.dev/pool": "cut", "nvidia.com/mig.config.state": "failed"}
    live = {"kind": "Node", "metadata": {"name": "n", "labels": labels}}
    result = call(fleet_data(EIGHTHS), fleet_data(HALVES), "--nodes", "-", input=json.dumps(live))
    assert result.exit_code == 0
    assert "n: stopped, offers nothing" in result.stdout
    assert "gpufleet doctor DUMP --fleet NEW" in result.stdout


@pytest.mark.parametrize(
    ("options", "text", "said"),
    [
        (("--count", "cut"), "", "--count wants POOL=NODES"),
        (("--count", "other=1"), "", "no pool 'other'"),
        (("--nodes", "-"), "[1]", "mapping"),
        (("--nodes", "-"), "kind: Pod", "only objects of kind Node"),
        (("--nodes", "/nowhere"), "", "No such file"),
    ],
)
def test_bad_input_is_one_sentence(
    call: Any, options: tuple[str, ...], text: str, said: str
) -> None:
    result = call(fleet_data(EIGHTHS), fleet_data(HALVES), *options, input=text)
    assert isinstance(result.exception, UnreadableInputError)
    assert said in str(result.exception)


def test_an_unknown_difference_ends_with_1_until_it_is_accepted(call: Any) -> None:
    raw = {"nodeGroup": {"warmPoolConfig": {"minSize": 1}}}
    old, new = (fleet_data(WHOLE, platform="eks", **more) for more in ({}, {"eks": raw}))
    result = call(old, new)
    assert result.exit_code == 1
    assert "change-unknown" in result.stderr
    assert "nodeGroup.warmPoolConfig: none -> declared  [unknown]" in result.stdout
    result = call(old, new, "--accept-unknown", "a lab", "--format", "json")
    assert result.exit_code == 0
    (pool,) = json.loads(result.stdout)["pools"]
    assert {"resource": "nodeGroup", "operation": "update"} in pool["engine"]
    (found,) = [one for one in pool["inputs"] if one["class"] == "unknown"]
    assert found["field"] == "nodeGroup.warmPoolConfig"
    assert isinstance(call(old, new, "--accept-unknown", " ").exception, UnreadableInputError)


def test_only_one_source_is_standard_input() -> None:
    result = CliRunner().invoke(command, ["-", "-"], input="{}")
    assert isinstance(result.exception, UnreadableInputError)


def test_the_text_fits_80_columns(call: Any) -> None:
    """All but the commands that are pasted."""
    result = call(fleet_data(EIGHTHS), fleet_data(HALVES, gpu="H100-80GB"))
    lines = [*result.stdout.splitlines(), *result.stderr.splitlines()]
    assert lines
    assert [line for line in lines if len(line) > 80 and "kubectl" not in line] == []
