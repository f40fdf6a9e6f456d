"""Ways to serve that have no formula are refused by name: in requests and plan files."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet_planner.commands.size import command
from gpufleet_planner.planning.plan import plan
from gpufleet_planner.sizing.request import NOT_MODELLED, parse_request
from gpufleet_planner.sizing.sized import size
from tests.planner.plan_files import file

REQUEST: dict[str, Any] = {"model": "Llama-3.1-8B", "context": 8192, "gpu": "H100"}


@pytest.mark.parametrize("key", [*NOT_MODELLED, "speculative-config", "NUM_SPECULATIVE_TOKENS"])
def test_a_key_of_a_request_or_a_workload_is_refused(key: str) -> None:
    request, findings = parse_request({**REQUEST, key: 5})
    assert request is None
    (found,) = findings
    assert (found.code, found.path) == ("serving-not-modelled", key)
    assert "is not modelled: " in found.message
    assert found.fix
    work = {"name": "chat", "workload": "inference", "model": "Llama-3.1-8B", "context": 8192}
    answer = plan(file({**work, key: {"method": "eagle3"}}))
    assert answer.fleet is None
    assert [f.code for f in answer.findings if key in f.path] == ["serving-not-modelled"]


@pytest.mark.parametrize(
    ("experts", "network", "refused"),
    [
        (8, None, False),
        (16, None, True),
        (16, {"kind": "infiniband", "gigabitsPerSecond": 3200}, True),
        (4, {"kind": "infiniband", "gigabitsPerSecond": 3200, "gpusPerNode": 2}, True),
        (16, {"kind": "nvlink", "gigabitsPerSecond": 7200, "gpusPerNode": 16}, False),
    ],
)
def test_experts_over_several_machines_are_refused_for_serving(
    experts: int, network: dict[str, Any] | None, refused: bool
) -> None:
    data = {
        "model": "DeepSeek-V3",
        "context": 8192,
        "parallelism": {"tensor": experts, "expert": experts},
    }
    request, findings = parse_request(data | ({} if network is None else {"network": network}))
    assert request is not None, findings
    found = [f for f in size(request, load()).findings if f.code == "serving-not-modelled"]
    assert bool(found) == refused
    assert all(f.path == "parallelism.expert" for f in found)


def test_a_file_with_one_names_it_in_json(tmp_path: Any) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps({**REQUEST, "speculative": {"model": "x"}}), "utf-8")
    done = CliRunner().invoke(command, [str(path), "--format", "json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["findings"][0]["code"] == "serving-not-modelled"
