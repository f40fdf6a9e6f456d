"""The ledger: minutes and worth of notebooks that had no replica."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.cli.cost import command
from tests.unit.fleet.test_idle_rules import spec

BEGIN = 1_700_000_040  # a whole minute
STEP = 60
HOUR = 60
MACHINE = {"instanceTypes": ["g6.xlarge"], "gpu": None}
PRICE = 804_800
"""Micro-dollars an hour of g6.xlarge, one L4, in us-east-1 on demand."""


def series(name: str, values: list[float | None], **labels: str) -> dict[str, Any]:
    """One sample a minute; None: none."""
    return {
        "metric": {"__name__": name, **labels},
        "values": [[BEGIN + STEP * i, str(v)] for i, v in enumerate(values) if v is not None],
    }


def holding(pod: str, minutes: range, units: int = 1) -> dict[str, Any]:
    values = [units if i in minutes else None for i in range(2 * HOUR)]
    labels = {"namespace": "research", "pod": pod, "node": "n1", "resource": "nvidia_com_gpu"}
    return series("gpu:requested:count", values, **labels)


def replicas(name: str, zero: range, kind: str = "statefulset") -> dict[str, Any]:
    values: list[float | None] = [0 if i in zero else 1 for i in range(2 * HOUR)]
    what = {
        "statefulset": "kube_statefulset_replicas",
        "deployment": "kube_deployment_spec_replicas",
    }
    return series(what[kind], values, namespace="research", **{kind: name})


NODE = series("gpu:node:pool", [1] * 2 * HOUR, node="n1", pool="lab")


def report(tmp_path: Path, found: list[dict[str, Any]], *options: str, **idle: Any) -> str:
    (tmp_path / "dump.json").write_text(json.dumps({"data": {"result": [NODE, *found]}}))
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump(spec(idle, pool=MACHINE)))
    given = [str(tmp_path / "dump.json"), "--spec", str(tmp_path / "fleet.yaml"), *options]
    result = CliRunner().invoke(command, given)
    assert result.exit_code == 0, result.output
    return result.output


def ledger(tmp_path: Path, found: list[dict[str, Any]], **idle: Any) -> dict[str, Any]:
    return json.loads(report(tmp_path, found, "--format", "json", **idle))


ALICE = [holding("alice-0", range(40)), replicas("alice", range(40, 97))]
BOB = [
    holding("bob-5d4f6c7b8-abcde", range(10)),
    holding("bob-5d4f6c7b8-fghij", range(20, 120)),
    replicas("bob", range(10, 20), "deployment"),
]


def test_each_stop_to_the_minute_with_what_it_was_worth(tmp_path: Path) -> None:
    stopped = ledger(tmp_path, [*ALICE, *BOB])["stopped"]
    assert [(one["notebook"], one["minutes"], one["units"]) for one in stopped] == [
        ("research/bob", 10, {"nvidia.com/gpu": 1}),
        ("research/alice", 57, {"nvidia.com/gpu": 1}),
    ]
    assert [one["microUsd"] for one in stopped] == [
        round(PRICE * 10 / 60),
        round(PRICE * 57 / 60),
    ]
    # 2023-11-14T22:14Z, and 10 and 40 minutes later
    assert [one["from"] for one in stopped] == ["2023-11-14T22:24Z", "2023-11-14T22:54Z"]
    assert [one["to"] for one in stopped] == ["2023-11-14T22:34Z", "2023-11-14T23:51Z"]


def test_for_people(tmp_path: Path) -> None:
    said = report(tmp_path, [*ALICE, *BOB])
    assert "stopped" in said
    assert "research/alice" in said
    assert " 67 " in said


def test_two_stops_of_one_notebook(tmp_path: Path) -> None:
    values: list[float | None] = [0 if i in (5, 6, 50) else 1 for i in range(2 * HOUR)]
    asked = series("kube_statefulset_replicas", values, namespace="research", statefulset="alice")
    stopped = ledger(tmp_path, [asked, *BOB])["stopped"]
    assert [one["minutes"] for one in stopped if one["notebook"] == "research/alice"] == [2, 1]


def test_what_a_notebook_held_is_not_guessed(tmp_path: Path) -> None:
    stopped = ledger(tmp_path, [replicas("alice", range(120)), *BOB])["stopped"]
    (alice,) = [one for one in stopped if one["notebook"] == "research/alice"]
    assert (alice["minutes"], alice["units"], alice["microUsd"]) == (120, {}, None)


def test_a_sum_without_one_of_its_parts_is_a_lower_bound(tmp_path: Path) -> None:
    alice = replicas("alice", range(120))
    some = report(tmp_path, [alice, *BOB]).splitlines()[-2]
    assert [cell.strip() for cell in some.split("│")[1:-1]] == [
        *("all, at least", "", "130", ""),
        "0.134133",  # bob: PRICE x 10/60
    ]
    none = report(tmp_path, [alice], exempt=["bob"]).splitlines()[-2]
    assert none.split("│")[-2].strip() == "not known"


def test_pods_of_another_workload_are_not_its_own(tmp_path: Path) -> None:
    other = holding("alice-large-0", range(40), units=8)
    stopped = ledger(tmp_path, [*ALICE, other, *BOB])["stopped"]
    assert [one["units"] for one in stopped] == [{"nvidia.com/gpu": 1}] * 2


def test_an_exempt_notebook_is_not_in_it(tmp_path: Path) -> None:
    stopped = ledger(tmp_path, [*ALICE, *BOB], exempt=["alice"])["stopped"]
    assert [one["notebook"] for one in stopped] == ["research/bob"]


def test_a_dump_without_replicas_says_that_it_does_not_know(tmp_path: Path) -> None:
    found = ledger(tmp_path, [ALICE[0], *BOB])
    (unknown,) = [one for one in found["findings"] if one["code"] == "cost-stops-unknown"]
    assert unknown["path"] == "research/alice"
    assert "kube_statefulset_replicas" in unknown["fix"]


@pytest.mark.parametrize("missing", [range(45, 50)])
def test_minutes_without_samples_are_not_counted(tmp_path: Path, missing: range) -> None:
    values: list[float | None] = [
        None if i in missing else 0 if i >= 40 else 1 for i in range(2 * HOUR)
    ]
    asked = series("kube_statefulset_replicas", values, namespace="research", statefulset="alice")
    stopped = ledger(tmp_path, [ALICE[0], asked, *BOB])["stopped"]
    alice = [one["minutes"] for one in stopped if one["notebook"] == "research/alice"]
    assert alice == [5, 70]
