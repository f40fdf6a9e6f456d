"""Rows of findings and the calls that write them fit each other."""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gpufleet
import gpufleet_planner
import gpufleet_policies
from gpufleet.findings import Severity
from gpufleet.findings.rows import FACT, findings_in, rows_of

PACKAGES = (gpufleet, gpufleet_planner, gpufleet_policies)
ROOTS = tuple(Path(one.__path__[0]) for one in PACKAGES)
FOLDERS = sorted(table.parent for root in ROOTS for table in root.rglob("findings.jsonl"))


@dataclass(frozen=True)
class Call:
    """One call of a writer, or of the rules with this `of`."""

    place: str
    row: str
    facts: frozenset[str]
    has_fix: bool


def calls(folder: Path) -> Iterator[Call]:
    for file in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            by_name = isinstance(node.func, ast.Name) and node.func.id in {"_finding", "_rules"}
            if not by_name and not (
                isinstance(node.func, ast.Attribute) and node.func.attr in {"say", "apply"}
            ):
                continue
            if isinstance(row := node.args[0], ast.Constant):
                names = {one.arg or "**" for one in node.keywords}
                if ast.unparse(node.func) in {"_rules", "report.apply"}:
                    asked = [one for one in rows_of(folder).values() if one.of == row.value]
                    for one in asked:
                        yield Call(f"{file}", one.code, frozenset(one.values), False)
                    assert asked, f"{file}:{node.lineno}"
                    continue
                place = f"{file}:{node.lineno}"
                own = {"code", "fix", "uncertain"}
                yield Call(place, str(row.value), frozenset(names - own), "fix" in names)


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_each_row_is_written_and_each_call_has_its_row_and_facts(folder: Path) -> None:
    rows = rows_of(folder)
    written = list(calls(folder))
    assert {call.row for call in written} == set(rows)
    assert not {call.row for call in written if rows[call.row].of} & {
        call.row for call in written if ".py:" in call.place
    }
    for call in written:
        row = rows[call.row]
        named = FACT.findall(row.message + ("" if call.has_fix else row.fix or ""))
        named += [one for link in row.because for text in link for one in FACT.findall(text)]
        assert {name for name, _ in named} - {"path"} <= call.facts, call
        assert row.fix is None or not call.has_fix, f"{call}: the row's fix is never shown"


def table(folder: Path, *rows: dict[str, Any]) -> str:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "findings.jsonl").write_text(text, encoding="utf-8")
    return str(folder / "rules.py")


ROW = {
    "code": "pool-wide/zone",
    "severity": "warning",
    "at": ".zones",
    "message": "{pool} is in {found}, of {limit!r}: {spot: {}}",
    "fix": "name one of {found}",
    "source": "a page",
}


def test_a_finding_has_code_place_texts_and_all_facts(tmp_path: Path) -> None:
    finding = findings_in(table(tmp_path, ROW))
    one = finding("pool-wide/zone", "pools[0]", pool="chat", found=("a", "b"), limit="x", more=3)
    assert (one.code, one.severity, one.path) == ("pool-wide", Severity.WARNING, "pools[0].zones")
    assert one.message == "chat is in a, b, of 'x': {spot: {}}"
    assert one.fix == "name one of a, b"
    assert one.evidence == {
        "pool": "chat",
        "found": ["a", "b"],
        "limit": "x",
        "more": 3,
        "source": "a page",
    }


def test_the_facts_of_a_row_follow_those_of_its_rule(tmp_path: Path) -> None:
    row = {**ROW, "because": [["{pool} has one zone", "{path}"], ["a zone is a place", "a book"]]}
    finding = findings_in(table(tmp_path, row))
    given = [{"fact": "it was asked", "source": "a report"}]
    one = finding("pool-wide/zone", "pools[0]", pool="chat", found="a", limit="x", facts=given)
    assert one.because == (
        "it was asked (a report)",
        "chat has one zone (pools[0].zones)",
        "a zone is a place (a book)",
    )
    assert "path" not in one.evidence


def test_what_a_user_wrote_is_never_a_place_for_a_fact(tmp_path: Path) -> None:
    finding = findings_in(table(tmp_path, ROW))
    one = finding("pool-wide/zone", pool="{found}", found={"b", "a"}, limit=1, fix="write {pool}")
    assert one.message == "{found} is in a, b, of 1: {spot: {}}"
    assert (one.path, one.fix) == (".zones", "write {pool}")


def test_a_fact_that_is_missing_and_a_row_that_is_written_twice_are_errors(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    finding = findings_in(table(tmp_path / "one", ROW))
    with pytest.raises(KeyError, match="found"):
        finding("pool-wide/zone", pool="chat", limit=1)
    with pytest.raises(ValueError, match="two rows have one code"):
        findings_in(table(tmp_path, ROW, ROW))("pool-wide/zone")


def test_values_are_written_as_files_have_them(tmp_path: Path) -> None:
    finding = findings_in(table(tmp_path, ROW))
    limit = {"a": [1, None], "b": {"c": True}}
    one = finding("pool-wide/zone", pool=None, found=(False, {}), limit=limit)
    assert one.message == "null is in false, {}, of {a: [1, null], b: {c: true}}: {spot: {}}"
