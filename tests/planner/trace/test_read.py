"""The tables of a trace, and the command that places it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet_planner.commands.pack import command, trace_as_dict
from gpufleet_planner.trace.read import read_trace

# Lines as the README of alibaba/clusterdata, cluster-trace-gpu-v2023, shows them (0c9677bb).
NODES = """sn,cpu_milli,memory_mib,gpu,model
openb-node-0227,32000,262144,0,nan
openb-node-0228,128000,786432,8,G3
openb-node-0229,96000,786432,8,V100M32
"""
TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time
openb-pod-0035,16000,32768,1,1000,V100M16|V100M32,LS,9967058,9968575
openb-pod-0017,88000,327680,8,1000,,Burstable,9437497,10769854
openb-pod-0022,4000,15258,1,220,nan,BE,9679175,9973826
"""


def test_published_lines() -> None:
    trace, findings = read_trace(NODES, TASKS)
    assert findings == ()
    assert trace is not None
    assert [(n.name, n.gpus, n.model) for n in trace.nodes] == [
        ("openb-node-0227", 0, ""),
        ("openb-node-0228", 8, "G3"),
        ("openb-node-0229", 8, "V100M32"),
    ]
    assert [t.name[-4:] for t in trace.tasks] == ["0017", "0022", "0035"]  # by creation_time
    shared, constrained = trace.tasks[1].shape, trace.tasks[2].shape
    assert (shared.cpu_milli, shared.memory_mib, shared.gpus, shared.milli) == (4000, 15258, 1, 220)
    assert shared.models == frozenset()
    assert constrained.models == {"V100M16", "V100M32"}
    assert (trace.tasks[0].created, trace.tasks[0].deleted) == (9437497, 10769854)


def test_every_problem_at_once() -> None:
    nodes = "sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,\na,x,1,65,G\n"
    tasks = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
        ",1,1,1,0,9,3\nx,1,1,1,1,9,3\n"
    )
    trace, findings = read_trace(nodes, tasks)
    assert trace is None
    assert [(f.code, f.path) for f in findings] == [
        ("pack-trace-value", "nodes[0]"),
        ("pack-trace-value", "nodes[1].cpu_milli"),
        ("pack-trace-value", "nodes[1].gpu"),
        ("pack-trace-value", "tasks[0].name"),
        ("pack-trace-value", "tasks[1]"),
    ]
    assert "must be a whole number" in findings[1].message
    assert "'x'" in findings[1].message
    assert all(f.fix for f in findings)


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ("sn,gpu\na,1\n", "pack-trace-columns"),
        ("", "pack-trace-columns"),
        ("sn,cpu_milli,memory_mib,gpu,model\n", "pack-trace-empty"),
        ("sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\na,1,1,0,\n", "pack-name-repeated"),
    ],
)
def test_tables_that_are_none(nodes: str, code: str) -> None:
    trace, findings = read_trace(nodes, TASKS)
    assert trace is None
    assert [f.code for f in findings] == [code]


def test_many_wrong_values_are_counted() -> None:
    lines = "".join(f"n{i},x,1,0,\n" for i in range(50))
    _, findings = read_trace("sn,cpu_milli,memory_mib,gpu,model\n" + lines, TASKS)
    assert len(findings) == 21
    assert "30 more" in findings[-1].message


@pytest.mark.parametrize(
    ("slices", "requested", "handed_out"),
    [(None, 333, 333), (4, 220, 250), (4, 250, 250), (4, 251, 1000)],
)
def test_what_is_handed_out(slices: int | None, requested: int, handed_out: int) -> None:
    tasks = f"name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,1,{requested}\n"
    trace, findings = read_trace(NODES, tasks, slices)
    assert trace is not None, findings
    assert trace.tasks[0].shape.milli == handed_out


def files(tmp_path: Path, tasks: str = TASKS) -> list[str]:
    (tmp_path / "nodes.csv").write_text(NODES, "utf-8")
    (tmp_path / "tasks.csv").write_text(tasks, "utf-8")
    return [str(tmp_path / "nodes.csv"), "--trace", str(tmp_path / "tasks.csv")]


def test_command(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    answer = CliRunner().invoke(command, [*files(tmp_path), "--format", "json", "--no-departures"])
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    assert (document["nodes"], document["gpus"], document["tasks"], document["placed"]) == (
        3,
        16,
        3,
        3,
    )
    assert document["allocation"] == (8 + 0.22 + 1) / 16
    where = {a["task"]: a["node"] for a in document["assignment"]}
    assert where["openb-pod-0017"] == "openb-node-0228"  # the one of any model leaves V100M32 free
    assert where["openb-pod-0035"] == "openb-node-0229"
    text = CliRunner().invoke(command, files(tmp_path)).output
    assert "3 nodes with 16 GPUs" in text
    assert "3 of 3 tasks placed" in text


def test_errors_have_the_keys_of_answers(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    good = CliRunner().invoke(command, [*files(tmp_path), "--format", "json"])
    bad = CliRunner().invoke(command, [*files(tmp_path, "name\n"), "--format", "json"])
    assert bad.exit_code == 1
    assert (
        json.loads(bad.stdout).keys()
        == json.loads(good.stdout).keys()
        == trace_as_dict(None).keys()
    )
    assert json.loads(bad.stdout)["findings"][0]["code"] == "pack-trace-columns"


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ('name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"x,1,1,1,1\ny,1,1,1,1\n', "not valid CSV"),
        (
            f"name,cpu_milli,memory_mib,num_gpu,gpu_milli\n{'x' * 200_000},1,1,1,1\n",
            "not valid CSV",
        ),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1000\n", "more or fewer values"),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,1,1,1\n", "more or fewer values"),
    ],
)
def test_no_line_is_lost_silently(tasks: str, words: str) -> None:
    trace, findings = read_trace(NODES, tasks)
    assert trace is None
    assert [words in one.message for one in findings] == [True]


def test_parts_of_no_capacity_are_not_known(tmp_path: Path) -> None:
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("\n".join(NODES.splitlines()[:2]), encoding="utf-8")
    tasks.write_text(TASKS, encoding="utf-8")
    shown = CliRunner().invoke(command, [str(nodes), "--trace", str(tasks)])
    assert "no node has a GPU" in shown.output
    shown = CliRunner().invoke(command, [str(nodes), "--trace", str(tasks), "--format", "json"])
    assert json.loads(shown.stdout)["requested"] is None


def test_no_part_is_below_zero(tmp_path: Path) -> None:
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,8,V100\n", "utf-8")
    tasks.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1000,1000,1,500\n", "utf-8")
    shown = CliRunner().invoke(command, [str(nodes), "--trace", str(tasks), "--format", "json"])
    assert json.loads(shown.stdout)["fragmentation"] == 0


def test_two_tables_cannot_both_be_standard_input() -> None:
    shown = CliRunner().invoke(command, ["-", "--trace", "-"], input=NODES)
    assert shown.exit_code == 2
    assert "only one of FILE and --trace" in shown.output


@pytest.mark.parametrize("option", [("--time-slices", "4"), ("--no-departures",)])
def test_options_of_tasks_are_refused_where_there_are_shares(
    option: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "shares.yaml"
    file.write_text("machines: [{gpu: L4}]\nshares: [{name: x, gpus: 1}]\n", "utf-8")
    done = CliRunner().invoke(command, [str(file), *option])
    assert done.exit_code == 2
    assert option[0] in done.output
    assert "--trace" in done.output
    assert CliRunner().invoke(command, [*files(tmp_path), *option]).exit_code == 0


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufleet_planner.trace.read.MOST_SCORES", 3)
    nodes = "sn,cpu_milli,memory_mib,gpu,model\na,4000,4096,0,\nb,4000,4096,0,\n"
    tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1000,1024,0,0\ny,2000,1024,0,0\n"
    _, found = read_trace(nodes, tasks)
    assert [one.code for one in found] == ["pack-trace-too-varied"]
