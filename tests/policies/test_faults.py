"""Rows of rules/faults.jsonl, each with an example as a reporter would have it (faults.yaml)."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import Finding, Level
from gpufleet_policies.rules.written import rule_rows
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pair_objects import release
from tests.reading import read_yaml

RULE = "release-has-fault"
ROWS = rule_rows()[RULE]["pairs"]
EXAMPLES: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("faults.yaml"))


def _chart(example: Mapping[str, Any], version: str | None = "") -> Thing:
    thing = release(example["chart"], version or example["release"], example.get("values", {}))
    if version is None:
        del thing.properties["version"]
    return thing


def _beside(example: Mapping[str, Any]) -> tuple[Thing, ...]:
    return (*map(manifest, example.get("objects", ())), *map(_chart, example.get("programs", ())))


def _said(thing: Thing, beside: Iterable[Thing], row: Mapping[str, Any]) -> list[Finding]:
    case = Case(RULE, thing, thing, "", alongside=tuple(beside))
    start = row["found"].partition("{")[0].rstrip()
    found = [one for one in case.findings(thing) if one.code == RULE]
    return [one for one in found if start in one.text and row["limit"] in one.text]


def test_each_row_has_an_example():
    assert [row["fault"] for row in ROWS] == [one["fault"] for one in EXAMPLES]


@pytest.mark.parametrize(
    ("row", "example"),
    list(zip(ROWS, EXAMPLES, strict=True)),
    ids=[f"{one['fault']}-{one['release']}" for one in EXAMPLES],
)
def test_the_fault_is_said_as_advice_and_its_neighbours_are_right(
    row: dict[str, Any], example: dict[str, Any]
):
    beside = _beside(example)
    (found,) = _said(_chart(example), beside, row)
    assert found.level is Level.ADVISORY
    assert example["release"] in found.text or "{release}" not in row["found"]
    assert found.fix
    assert _said(_chart(example, None), beside, row) == []
    if "fixed" in example:
        assert _said(_chart(example, example["fixed"]), beside, row) == []
    if beside:
        assert _said(_chart(example), (), row) == []
    if "values" in example and any("default" not in test for test in _tests(row)):
        assert _said(_chart({**example, "values": {}}), beside, row) == []


def _with(example: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The example with another value of its chart."""
    changed = deepcopy(example)
    here = changed.setdefault("values", {})
    *above, last = path.split(".")[1:]
    for key in above:
        here = here.setdefault(key, {})
    here[last] = value
    return changed


@pytest.mark.parametrize(
    ("row", "example"),
    list(zip(ROWS, EXAMPLES, strict=True)),
    ids=[f"{one['fault']}-{one['release']}" for one in EXAMPLES],
)
def test_another_image_another_node_and_a_part_that_is_off_have_not_the_fault(
    row: dict[str, Any], example: dict[str, Any]
):
    for path, test in row["at"].items():
        if isinstance(test, dict) and "tags" in test:
            assert _said(_chart(_with(example, path, "0.0.1-own")), _beside(example), row) == []
        if test == {"default": True, "is": True}:
            assert _said(_chart(_with(example, path, False)), _beside(example), row) == []
    if any("admits" in one.get("spec.taints", "") for one in row["with"]):
        away = deepcopy(example)
        for one in away["objects"]:
            one.setdefault("spec", {})["taints"] = [{"key": "team", "effect": "NoSchedule"}]
        assert _said(_chart(away), _beside(away), row) == []


def _tests(row: Mapping[str, Any]) -> list[Any]:
    tests = (test for path, test in row["at"].items() if path.startswith("values"))
    return [test if isinstance(test, dict) else {"is": test} for test in tests]
