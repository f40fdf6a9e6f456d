"""Dumps of live objects that are not what their programs print."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.change.cut_over_steps import read_cut_over_state
from gpufleet.change.live_node import read_nodes
from gpufleet.change.live_pods import read_pods
from gpufleet.cli import change as module
from tests.exit_status import exit_status
from tests.unit.change.fleets import WHOLE, fleet_data

POD = {"kind": "Pod", "spec": {"nodeName": "n1"}}


def listed(*items: Any) -> dict[str, Any]:
    return {"kind": "List", "items": list(items)}


def slice_of(**spec: Any) -> dict[str, Any]:
    return {"kind": "ResourceSlice", "spec": {"driver": "gpu.nvidia.com", "nodeName": "n1", **spec}}


def run(tmp_path: Path, *options: str, dump: str | None = None) -> Result:
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump(fleet_data(WHOLE)))
    return CliRunner().invoke(module.command, [str(file), str(file), *options], input=dump)


@pytest.mark.parametrize("document", [{"kind": ["List"], "items": []}, listed({"kind": ["x"]})])
def test_a_kind_that_is_no_text(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="kind Node"):
        read_nodes(document)


def test_what_has_another_form_is_not_there() -> None:
    odd = {
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"conditions": [{"type": ["x"]}], "allocatable": {"nvidia.com/gpu": "²"}},
    }
    (node,) = read_nodes(listed(odd))
    assert (node.ready, dict(node.offers)) == (True, {})


@pytest.mark.parametrize(
    "spec",
    [{"containers": "abc"}, {"containers": ["abc", None]}, {"containers": 5}, {}],
)
def test_pods_of_another_form_hold_nothing(spec: dict[str, Any]) -> None:
    pod = {"kind": "Pod", "spec": {"nodeName": "n1", **spec}, "status": {"phase": ["x"]}}
    dump = listed(pod, slice_of(devices=3))
    state = read_cut_over_state(dump, read_pods(dump) or ())
    assert (state.holders, state.published) == ({}, {"n1": 0})


@pytest.mark.parametrize("generation", ["abc", None, [1]])
def test_a_slice_without_a_generation(tmp_path: Path, generation: object) -> None:
    dump = json.dumps(listed(POD, slice_of(pool={"generation": generation})))
    result = run(tmp_path, "--nodes", "-", dump=dump)
    assert "of a ResourceSlice is not a whole number" in str(result.exception)


def test_a_dump_without_nodes_says_so(tmp_path: Path) -> None:
    result = run(tmp_path, "--nodes", "-", dump=json.dumps(listed()))
    assert exit_status(result) == 2
    assert str(result.exception) == "-: no node is in it, so nothing is known about them"
    other = json.dumps(listed({"kind": "Node", "metadata": {"name": "n1"}}))
    result = run(tmp_path, "--nodes", "-", dump=other)
    assert result.exit_code == 0
    assert "Nodes now: the file has none of these pools" in result.stdout


@pytest.mark.parametrize("count", ["²", "9" * 5000, "-1", ""])
def test_a_count_that_is_no_number(tmp_path: Path, count: str) -> None:
    text = str(run(tmp_path, "--count", f"cut={count}").exception)
    assert text.startswith("--count wants POOL=NODES, at most 9 digits, found 'cut=")
    assert len(text) < 200
