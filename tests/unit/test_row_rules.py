"""Rules of `findings.jsonl` that fields alone decide."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import gpufleet
from gpufleet.catalogue import InstanceType
from gpufleet.contract.platform import PlatformValue
from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.findings.row_rules import rules_in
from gpufleet.findings.rows import FindingRow, rows_of
from gpufleet.fleet.model import DevicePluginPlan, Machine, OperatorPlan, Pool
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.platforms.gke.shape import CapacityStep, GkeShape
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool, Kubelet, Provisioner

ROOT = Path(gpufleet.__path__[0])
FOLDERS = sorted(table.parent for table in ROOT.rglob("findings.jsonl"))
SUBJECTS: Mapping[str, Any] = {
    "spec": FleetSpec,
    "pool": Pool | GpuPool,
    "old": Pool,
    "pools": Sequence[Pool],
    "machines": Sequence[Machine],
    "row": InstanceType,
    "shape": EksShape | GkeShape,
    "step": CapacityStep,
    "facts": PlatformFacts,
    "platform": PlatformValue,
    "provisioner": Provisioner,
    "plan": OperatorPlan,
    "plugin": DevicePluginPlan,
    "kubelet": Kubelet,
}
"""Types of what rules begin with. Others are plain data or have a type of their platform."""


def fields_of(kind: Any, name: str) -> Iterator[Any]:
    """Types of a field, of each alternative that has it."""
    origin = get_origin(kind)
    if kind is Any or origin in {dict, Mapping} or kind in {dict, Mapping}:
        yield Any
    elif origin in {Union, UnionType}:
        for one in get_args(kind):
            yield from fields_of(one, name)
    elif name.isdigit() or name in {"*", "#"}:
        if get_args(kind):
            yield int if name == "#" else get_args(kind)[0]
    elif isinstance(kind, type):
        if name in (hints := get_type_hints(kind)):
            yield hints[name]
        elif isinstance(found := getattr(kind, name, None), property):
            yield get_type_hints(found.fget)["return"]


def paths_of(row: FindingRow) -> Iterator[str]:
    for case in [row.when] if isinstance(row.when, Mapping) else row.when:
        for path, condition in case.items():
            yield path
            tests = condition.values() if isinstance(condition, Mapping) else [condition]
            yield from (one[1:] for one in tests if isinstance(one, str) and one[:1] == "=")
    for written in row.values.values():
        if not isinstance(written, Mapping):
            yield from written if isinstance(written, list) else [written]


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_each_path_of_a_rule_exists(folder: Path) -> None:
    for row in rows_of(folder).values():
        for path in (*paths_of(row), *([row.each] if row.each else ())) if row.of else ():
            head, *rest = path.split(".")
            if head == "one":
                head, *rest = (*row.each.split("."), "*", *rest)
            kinds = [SUBJECTS.get(head, Any)]
            for name in rest:
                kinds = [found for kind in kinds for found in fields_of(kind, name)]
            assert kinds, (row.code, path)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Box:
    colour: Colour | None
    size: int
    parts: tuple["Box", ...] = ()


BOX = Box(Colour.RED, 3, (Box(None, 1), Box(Colour.RED, 5)))
RAW = {"a": {"b": "c"}, "set": {"c", "e"}, "frozen": frozenset("d")}


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"box.colour": "red"}, True),
        ({"box.colour": ["blue", "red"]}, True),
        ({"box.colour": {"not": ["blue", "red"]}}, False),
        ({"box.colour": {"starts": ["re"]}}, True),
        ({"box.colour": {"not starts": ["re", "b"]}}, False),
        ({"raw.a.b": {"matches": "^c$"}}, True),
        ({"raw.a.b": {"not matches": "^[cd]$"}}, False),
        ({"box.size": {"above": 2, "below": 3}}, False),
        ({"box.size": {"above": 2, "not above": 3}}, True),
        ({"box.parts": {"given": True}}, True),
        ({"box.parts.0.parts": {"given": True}}, False),
        ({"box.parts.7.size": None}, True),
        ({"box.parts.7.size": {"above": 0}}, False),
        ({"box.parts.#": {"below": "=box.size"}}, True),
        ({"box.parts.*.size": 5}, True),
        ({"box.parts.*.size": {"not": 5}}, False),
        ({"box.parts.*.size": {"other": [1]}}, True),
        ({"box.parts.*.size": {"other": [1, 5]}}, False),
        ({"box.parts.0.parts.*.size": 5}, False),
        ({"box.parts.0.parts.*.size": {"not": 5}}, True),
        ({"box.parts.0.parts.*.size": {"not above": 1}}, True),
        ({"box.parts.0.parts.*.size": {"other": [1]}}, False),
        ({"raw.z": {"not above": 1}}, False),
        ({"raw.z": {"not below": 1}}, False),
        ({"raw.z": {"other": [1]}}, False),
        ({"raw.z": {"not starts": ["a"]}}, False),
        ({"raw.z": {"not matches": "a"}}, False),
        ({"box.size": {"above": "=raw.z"}}, False),
        ({"box.size": {"not above": "=raw.z"}}, False),
        ({"box.size": {"other": "=raw.z"}}, False),
        ({"box.parts.*.colour": {"other": ["blue"]}}, True),
        ({"box.parts.*.colour": {"other": ["red"]}}, False),
        ({"raw.z": {"not": "c", "given": False}}, True),
        ({"raw.a.b": "c"}, True),
        ({"raw.a.z": None, "raw.z.b": None}, True),
        ({"raw.a.b.c": None}, True),
        ({"raw.set.#": 2, "raw.set.*": "c", "raw.frozen.#": 1, "raw.frozen.*": "d"}, True),
        ([{"box.size": 1}, {"raw.a.b": "c"}], True),
        ([{"box.size": 1}, {"raw.a.b": "d"}], False),
    ],
)
def test_a_rule_applies_if_each_of_its_conditions_holds(
    when: object, holds: bool, tmp_path: Path
) -> None:
    row = {"code": "found", "of": "box", "when": when, "message": "it is"}
    (tmp_path / "findings.jsonl").write_text(json.dumps(row))
    found = rules_in(f"{tmp_path}/rules.py")("box", "here", box=BOX, raw=RAW)
    assert [one.path for one in found] == ["here"] * holds


def test_a_rule_of_entries_names_the_entry_and_its_facts(tmp_path: Path) -> None:
    row = {
        "code": "small",
        "of": "box",
        "each": "box.parts",
        "when": {"one.size": {"below": 2}},
        "at": "parts[#].size",
        "message": "{size} of {sizes}, since {day}, as {rule}",
        "values": {
            "size": "one.size",
            "sizes": ["box.size", "box.parts.1.size"],
            "day": "day",
            "rule": {"is": "told"},
        },
    }
    (tmp_path / "findings.jsonl").write_text(json.dumps(row))
    rules = rules_in(f"{tmp_path}/rules.py")
    (found,) = rules("box", "here", box=BOX, day=datetime(2026, 11, 30, tzinfo=UTC))
    assert found.path == "parts[0].size", "an absolute place"
    assert found.message == "1 of 3, 5, since 2026-11-30T00:00:00+00:00, as told"
    with pytest.raises(KeyError, match="nothing"):
        list(rules("nothing"))


def test_a_rule_may_choose_entries_and_another_place(tmp_path: Path) -> None:
    row = {
        "code": "red",
        "of": "box",
        "sets": {"red": {"of": "box.parts", "when": {"one.colour": "red"}}},
        "when": {"red": {"given": True}, "version": {"below": [1, 14]}},
        "place": "where",
        "at": ".parts",
        "message": "{sizes}",
        "values": {"sizes": "red.*.size"},
    }
    (tmp_path / "findings.jsonl").write_text(json.dumps(row))
    rules = rules_in(f"{tmp_path}/rules.py")
    (found,) = rules("box", "here", box=BOX, where="there", version=(1, 9, 3))
    assert (found.path, found.message) == ("there.parts", "5")
    assert not list(rules("box", "here", box=BOX, where="there", version=(1, 14)))


def test_only_the_first_rule_of_a_chain_applies_to_an_entry(tmp_path: Path) -> None:
    small = {"of": "box", "each": "box.parts", "chain": "size", "at": "[#]", "message": "it is"}
    rows = [
        {**small, "code": "small", "when": {"one.size": {"below": 2}}},
        {**small, "code": "any", "when": {}},
    ]
    (tmp_path / "findings.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = rules_in(f"{tmp_path}/rules.py")("box", box=BOX)
    assert [(one.code, one.path) for one in found] == [("small", "[0]"), ("any", "[1]")]


def test_a_field_that_a_class_does_not_have_is_an_error(tmp_path: Path) -> None:
    row = {"code": "found", "of": "box", "when": {"box.colours": "red"}, "message": "it is"}
    (tmp_path / "findings.jsonl").write_text(json.dumps(row))
    with pytest.raises(AttributeError):
        list(rules_in(f"{tmp_path}/rules.py")("box", box=BOX))
