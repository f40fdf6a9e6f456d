"""Nodes and tasks of one YAML file, and the options that belong to one form of packing only."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet_planner.commands.pack import command
from gpufleet_planner.trace.read import read_tasks_file, read_trace
from tests.planner.trace.checker import broken
from tests.planner.trace.generated_trace import generated_trace

pytest.importorskip("numpy")

FILE: dict[str, Any] = {
    "nodes": [
        {"name": "h", "count": 2, "instanceType": "p5.48xlarge"},
        {"name": "l", "gpu": "L4", "cpu": 8, "memory": "32GiB"},
        {"name": "c", "cpu": 64, "memory": "256GiB"},
    ],
    "tasks": [
        {"name": "train", "gpus": 8, "models": ["H100-80GB"], "cpu": 96, "memory": "1TiB"},
        {"name": "chat", "count": 3, "part": "1/4", "models": ["L4", "H100-80GB"], "cpu": 1},
        {
            "name": "book",
            "part": "250m",
            "cpu": "500m",
            "memory": "2GiB",
            "arrives": 9,
            "leaves": 20,
        },
        {"name": "prep", "cpu": 16, "memory": "64GiB"},
    ],
}


def run(document: Any, *arguments: str) -> Any:
    text = yaml.safe_dump(document)
    return CliRunner().invoke(command, ["-", "--format", "json", *arguments], input=text)


def test_a_file_gives_what_its_tables_give() -> None:
    trace, findings = read_tasks_file(FILE, None, load())
    assert findings == ()
    assert trace is not None
    # p5.48xlarge: 192 vCPU, 2,048 GiB, eight H100 (AWS, EC2 instance types).
    nodes = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
        f"h-{i},192000,2097152,8,H100-80GB\n" for i in (0, 1)
    )
    nodes += "l,8000,32768,1,L4\nc,64000,262144,0,\n"
    tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
    tasks += "train,96000,1048576,8,1000,H100-80GB,0,\n"
    tasks += "".join(f"chat-{i},1000,0,1,250,L4|H100-80GB,0,\n" for i in range(3))
    tasks += "prep,16000,65536,0,0,,0,\nbook,500,2048,1,250,,9,20\n"
    expected, problems = read_trace(nodes, tasks)
    assert problems == ()
    assert trace == expected


def test_tasks_are_placed_with_cpu_memory_models_and_parts() -> None:
    done = run(FILE)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["placed"] == answer["tasks"] == 6
    places = {one["task"]: one["node"] for one in answer["assignment"]}
    assert places["train"].startswith("h-")
    assert places["prep"] != "l"


def test_a_generated_cluster_in_both_forms(tmp_path: Path) -> None:
    trace = generated_trace(7, 60)
    document: dict[str, Any] = {"nodes": [], "tasks": []}
    nodes, tasks = StringIO(), StringIO()
    table = csv.writer(nodes)
    table.writerow(["sn", "cpu_milli", "memory_mib", "gpu", "model"])
    for node in trace.nodes:
        table.writerow([node.name, node.cpu_milli, node.memory_mib, node.gpus, node.model])
        entry = {"name": node.name, "cpu": f"{node.cpu_milli}m", "memory": f"{node.memory_mib}Mi"}
        document["nodes"].append(
            entry | ({"gpu": node.model, "gpus": node.gpus} if node.gpus else {})
        )
    table = csv.writer(tasks)
    table.writerow(["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"])
    for task in trace.tasks:
        shape = task.shape
        models = sorted(shape.models)
        row = [task.name, shape.cpu_milli, shape.memory_mib, shape.gpus, shape.milli]
        table.writerow([*row, "|".join(models)])
        entry = {"name": task.name, "gpus": shape.gpus, "models": models}
        entry |= {"cpu": f"{shape.cpu_milli}m"} if shape.cpu_milli else {}
        entry |= {"memory": f"{shape.memory_mib}Mi"} if shape.memory_mib else {}
        entry |= {"part": f"{shape.milli}m"} if shape.gpus else {}
        document["tasks"].append(entry)
    one, findings = read_tasks_file(document, None, load())
    two, problems = read_trace(nodes.getvalue(), tasks.getvalue())
    assert findings == problems == ()
    assert one == two
    paths = {"nodes.csv": nodes, "tasks.csv": tasks}
    for name, text in paths.items():
        (tmp_path / name).write_text(text.getvalue(), "utf-8")
    (tmp_path / "both.yaml").write_text(yaml.safe_dump(document), "utf-8")
    files = [str(tmp_path / name) for name in ("both.yaml", "nodes.csv", "tasks.csv")]
    first = CliRunner().invoke(command, [files[0], "--format", "json"])
    second = CliRunner().invoke(command, [files[1], "--trace", files[2], "--format", "json"])
    assert first.exit_code == second.exit_code == 0, first.output
    assert json.loads(first.stdout) == json.loads(second.stdout)


def test_placements_pass_the_independent_checker() -> None:
    from gpufleet_planner.trace.place import place_trace

    trace, _ = read_tasks_file(FILE, 2, load())
    assert trace is not None
    assert {task.shape.milli for task in trace.tasks if task.name.startswith("chat")} == {500}
    assert broken(trace, place_trace(trace), departures=True) == []


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"nodes": [{"name": "a"}]}, "nodes[0]", "instanceType, or cpu and memory"),
        (
            {"nodes": [{"name": "a", "instanceType": "p5.48xlarg"}]},
            "nodes[0].instanceType",
            "p5.48",
        ),
        (
            {"nodes": [{"name": "a", "instanceType": "p5.48xlarge", "gpus": 4}]},
            "nodes[0]",
            "follow",
        ),
        ({"nodes": [{"name": "a", "gpus": 4, "cpu": 1, "memory": "1GiB"}]}, "nodes[0]", "model"),
        ({"nodes": [{"name": "a", "cpu": -1, "memory": "1GiB"}]}, "nodes[0].cpu", "CPUs"),
        ({"nodes": []}, "nodes", "at least"),
        ({"tasks": [{"name": "t", "part": 2}]}, "tasks[0].part", "at most 1"),
        ({"tasks": [{"name": "t", "part": "1500m"}]}, "tasks[0].part", "at most 1"),
        ({"tasks": [{"name": "t", "models": ["L5"]}]}, "tasks[0].models", "no node"),
        ({"tasks": [{"name": "t", "gpus": 0, "part": 0.5}]}, "tasks[0]", "gpus is 0"),
        ({"tasks": [{"name": "t", "gpu": 1}]}, "tasks[0].gpu", "is not a key here"),
        ({"tasks": [{"name": "t", "arrives": 9, "leaves": 3}]}, "tasks[0]", "before arrives"),
        ({"tasks": [{"name": "t"}, {"name": "t"}]}, "tasks", "twice"),
        (
            {"tasks": [{"name": f"t{i}", "count": 200_000} for i in range(3)]},
            "tasks",
            "600000 tasks",
        ),
        ({"groups": []}, "groups", "is not a key here"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], path: str, words: str) -> None:
    done = run({**FILE, **change})
    assert done.exit_code == 1, done.output
    findings = json.loads(done.stdout)["findings"]
    found = [f for f in findings if f["path"] == path]
    assert found, findings
    assert words in found[0]["message"] + (found[0]["fix"] or "")


SHARES = {"machines": [{"gpu": "L4"}], "shares": [{"name": "x", "gpus": 1}]}


@pytest.mark.parametrize(
    "option",
    [
        ("--time-slices", "4"),
        ("--no-departures",),
        ("--departures",),
    ],
)
def test_options_of_tasks_are_refused_where_there_are_shares(option: tuple[str, ...]) -> None:
    done = run(SHARES, *option)
    assert done.exit_code == 2
    assert option[0] in done.output
    assert "--trace" in done.output
    assert run(FILE, *option).exit_code == 0


@pytest.mark.parametrize("option", [("--svg", "x.svg"), ("--no-solver",)])
def test_options_of_shares_are_refused_where_there_are_tasks(
    option: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(FILE, *option)
    assert done.exit_code == 2
    assert option[0] in done.output
    Path("n.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\n", "utf-8")
    traced = CliRunner().invoke(command, ["n.csv", "--trace", "n.csv", *option])
    assert traced.exit_code == 2
    assert option[0] in traced.output
    assert not list(tmp_path.glob("x.*"))


def test_both_forms_refuse_too_many_pairs_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufleet_planner.trace.trace.MOST_SCORES", 3)
    nodes = "sn,cpu_milli,memory_mib,gpu,model\na,4000,4096,0,\nb,4000,4096,0,\n"
    tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1000,1024,0,0\ny,2000,1024,0,0\n"
    _, of_tables = read_trace(nodes, tasks)
    node = {"cpu": 4, "memory": "4GiB"}
    document = {
        "nodes": [{"name": "a", **node}, {"name": "b", **node}],
        "tasks": [{"name": "x", "cpu": 1}, {"name": "y", "cpu": 2}],
    }
    _, of_file = read_tasks_file(document, None, load())
    assert of_tables == of_file
    assert [found.code for found in of_file] == ["pack-trace-too-varied"]
