"""`gpufleet cost`: both kinds of dump, every way of adding up, and what cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.cli.cost import command

SPEC = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
    "pools": [
        {
            "name": "chat",
            "instanceTypes": ["g6.xlarge"],
            "nodes": {"min": 0, "max": 3},
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {
            "name": "slices",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 0, "max": 1},
            "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
        },
    ],
    "queues": {
        "teams": [
            {"name": "lab", "share": 0.5, "namespaces": ["lab-a", "lab-b"]},
            {"name": "app", "share": 0.5},
        ]
    },
}
NODES = [("n1", "chat"), ("n2", "slices")]
HELD = [
    ("lab-a", "train", "n1", "nvidia_com_gpu_shared", 2),
    ("app", "serve", "n1", "nvidia_com_gpu_shared", 1),
    ("lab-b", "notebook", "n2", "nvidia_com_mig_1g_10gb", 8),
    ("other", "stray", "n2", "nvidia_com_mig_1g_10gb", 8),
]
STEP, SAMPLES = 60, 60


def series() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for node, pool in NODES:
        found.append({"__name__": "gpu:node:pool", "node": node, "pool": pool, "value": 1})
    for namespace, pod, node, resource, units in HELD:
        found.append(
            {
                "__name__": "gpu:requested:count",
                "namespace": namespace,
                "pod": pod,
                "node": node,
                "resource": resource,
                "value": units,
            }
        )
    return found


def answer() -> str:
    results: list[dict[str, Any]] = []
    for one in series():
        metric = {key: value for key, value in one.items() if key != "value"}
        values = [[1_700_000_000 + STEP * i, str(one["value"])] for i in range(SAMPLES)]
        results.append({"metric": metric, "values": values})
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": results}})


def lines() -> str:
    found: list[str] = []
    for one in series():
        labels = ", ".join(f'{key}="{value}"' for key, value in one.items() if key != "value")
        for i in range(SAMPLES):
            found.append(f"{{{labels}}} {one['value']} {(1_700_000_000 + STEP * i) * 1000}")
    return "\n".join(found)


def run(tmp_path: Path, text: str, *options: str, spec: Any = SPEC) -> Result:
    (tmp_path / "dump").write_text(text)
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump(spec))
    given = [str(tmp_path / "dump"), "--spec", str(tmp_path / "fleet.yaml"), *options]
    return CliRunner().invoke(command, given)


def rows(result: Result) -> dict[str, int]:
    assert result.exit_code == 0, result.output
    return {row["name"]: row["microUsd"] for row in json.loads(result.output)["rows"]}


@pytest.mark.parametrize("text", [answer(), lines()], ids=["range query", "tsdb dump"])
def test_an_hour_of_two_nodes(tmp_path: Path, text: str) -> None:
    result = run(tmp_path, text, "--format", "json")
    report = json.loads(result.output)
    assert report["nodeSeconds"] == 2 * 3600
    found = rows(result)
    assert sum(found.values()) == report["totalMicroUsd"]
    chat = 804_800  # g6.xlarge in us-east-1, on demand
    big = report["totalMicroUsd"] - chat
    assert found["app"] == chat // 4
    # 8 of 56 slices, 15/16 of the machine together; the other 8 are of no team.
    assert found["lab"] == pytest.approx(chat / 2 + big * 8 / 56 * 15 / 16, abs=2)
    assert found["-"] == pytest.approx(big * 8 / 56 * 15 / 16, abs=2)
    assert found["stranded"] == pytest.approx(big / 16, abs=1)


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("namespace", {"lab-a", "lab-b", "app", "other", "idle", "stranded"}),
        ("pod", {"lab-a/train", "app/serve", "lab-b/notebook", "other/stray", "idle", "stranded"}),
        ("slice", {"nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "stranded"}),
        ("pool", {"chat", "slices"}),
        ("node", {"n1", "n2"}),
    ],
)
def test_every_way_of_adding_up_gives_the_same_total(
    tmp_path: Path, by: str, names: set[str]
) -> None:
    result = run(tmp_path, answer(), "--by", by, "--format", "json")
    report = json.loads(result.output)
    assert {row["name"] for row in report["rows"]} == names
    assert sum(row["microUsd"] for row in report["rows"]) == report["totalMicroUsd"]


def test_for_people(tmp_path: Path) -> None:
    result = run(tmp_path, answer())
    assert result.exit_code == 0
    assert "100.0 %" in result.output
    assert "2.0 node-hours" in result.output


def test_a_gap_is_not_paid(tmp_path: Path) -> None:
    """A node that was away for half an hour costs half an hour less."""
    document = json.loads(answer())
    for one in document["data"]["result"]:
        one["values"] = one["values"][:15] + one["values"][45:]
    report = json.loads(run(tmp_path, json.dumps(document), "--format", "json").output)
    assert report["nodeSeconds"] == 2 * 1800


def test_what_does_not_fit_the_declaration_is_named(tmp_path: Path) -> None:
    spec = {**SPEC, "pools": SPEC["pools"][:1]}  # type: ignore[index]
    result = run(tmp_path, answer(), "--format", "json", spec=spec)
    codes = [f["code"] for f in json.loads(result.output)["findings"]]
    assert codes == ["cost-pool-unknown"]
    assert result.exit_code == 0


def test_a_wrong_declaration_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, answer(), "--format", "json", spec={**SPEC, "platform": "mars"})
    assert result.exit_code == 1
    assert json.loads(result.output)["rows"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("hello", "neither the JSON of a range query nor lines"),
        ("{}", "no `data.result`"),
        ("[1]", "no `data.result`"),
        ("[" * 100_000, "nested deeper"),
        (
            '{"data": {"result": [{"metric": {}, "value": [1, "1"]}]}}',
            "the answer of an instant query",
        ),
        ('{"data": {"result": [{"metric": {}, "values": [[1]]}]}}', "cannot be read"),
        ('{"data": {"result": []}}', "it has no series gpu:node:pool"),
        (
            '{"result": [{"metric": {"__name__": "x"}, "values": [[1764000000000, "1"]]}]}',
            "a sample of x is at 1.764e+12 seconds since 1970, outside the years 1 to 9999",
        ),
        ('{__name__="x"} 1 1764000000000000', "at 1.764e+12 seconds since 1970"),
        ('{"status": "error", "error": "query timed out"}', "an error: query timed out"),
        ('{a="b"} 1 1000\nrest', "line 2 is not a sample"),
        ('{__name__="gpu:node:pool", pool="chat"} 1 1000', "--step"),
    ],
)
def test_what_is_no_dump(tmp_path: Path, text: str, said: str) -> None:
    result = run(tmp_path, text)
    assert said in str(result.exception), result.output


def test_one_sample_counts_as_long_as_said(tmp_path: Path) -> None:
    text = '{__name__="gpu:node:pool", node="n", pool="chat"} 1 1000'
    report = json.loads(run(tmp_path, text, "--step", "7200", "--format", "json").output)
    assert report["totalMicroUsd"] == 2 * 804_800


def cut(first: int, last: int, **labels: str) -> dict[str, Any]:
    """The result for a part of the hour, both ends included, with a server's own labels."""
    whole = json.loads(answer())
    for one in whole["data"]["result"]:
        one["metric"] |= labels
        one["values"] = one["values"][first : last + 1]
    return whole


def test_answers_that_meet_in_a_sample_are_paid_once(tmp_path: Path) -> None:
    """Long times are queried in pieces, and a piece ends with the first sample of the next."""
    pieces = json.dumps([cut(0, 30), cut(30, SAMPLES)])
    once, twice = (
        run(tmp_path, answer(), "--format", "json"),
        run(tmp_path, pieces, "--format", "json"),
    )
    assert json.loads(twice.output) == json.loads(once.output)


def test_two_servers_that_record_the_same_are_paid_once(tmp_path: Path) -> None:
    first, second = cut(0, SAMPLES, replica="a"), cut(0, SAMPLES, replica="b")
    first["data"]["result"] += second["data"]["result"]
    once, twice = (
        run(tmp_path, answer(), "--format", "json"),
        run(tmp_path, json.dumps(first), "--format", "json"),
    )
    assert json.loads(twice.output) == json.loads(once.output)


def test_a_value_that_is_no_number_hides_none(tmp_path: Path) -> None:
    silent = cut(0, SAMPLES, replica="b")
    for one in silent["data"]["result"]:
        one["values"] = [[moment, "NaN"] for moment, _ in one["values"]]
    whole = json.loads(answer())
    whole["data"]["result"] += silent["data"]["result"]
    once, twice = (
        run(tmp_path, answer(), "--format", "json"),
        run(tmp_path, json.dumps(whole), "--format", "json"),
    )
    assert json.loads(twice.output) == json.loads(once.output)
