"""The texts of failures: each row is used, and each use gives every fact that its row names."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufleet_vcenter.errors import failed, said

PACKAGE = Path(__file__).parents[2] / "components" / "gpufleet_vcenter"
TABLE = (PACKAGE / "failures.jsonl").read_text().splitlines()
ROWS: dict[str, dict[str, Any]] = {row["row"]: row for row in map(json.loads, TABLE)}
READINESS = (PACKAGE / "vgpu_readiness.jsonl").read_text().splitlines()
CONDITIONED = [row for row in map(json.loads, [*TABLE, *READINESS]) if "of" in row]
FACT = re.compile(r"\{([a-z_]+)[^}]*\}")


TREES = {file.name: ast.parse(file.read_text()) for file in sorted(PACKAGE.glob("*.py"))}
TEXTS = frozenset(
    node.value
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
)


def uses(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """File and call of these functions."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in names:
                assert isinstance(node, ast.Call)
                yield name, node


USES = list(uses("failed", "said"))


def rows_of(call: ast.Call) -> list[str]:
    """Rows that a call names."""
    return [
        node.value
        for node in ast.walk(call.args[0])
        if isinstance(node, ast.Constant) and node.value in ROWS
    ]


@pytest.mark.parametrize("row", ROWS)
def test_each_row_is_used(row: str) -> None:
    code, _, name = row.partition("/")
    given = "faults" in ROWS[row] or "of" in ROWS[row]
    assert row in TEXTS or {f"{code}/", name} <= TEXTS or given


@pytest.mark.parametrize("row", CONDITIONED, ids=[row["row"] for row in CONDITIONED])
def test_each_row_with_conditions_has_its_facts(row: dict[str, Any]) -> None:
    """Each call of its group gives what its texts and conditions name."""
    calls = [call for _, call in uses("holding") if ast.literal_eval(call.args[0]) == row["of"]]
    texts = [row[name] for name in ("message", "fix", "found") if name in row]
    cases = row["when"] if isinstance(row["when"], list) else [row["when"]]
    wanted = {fact for text in texts for fact in FACT.findall(text)}
    wanted |= {path.partition(".")[0] for case in cases for path in case}
    wanted |= set(re.findall('"=([a-z_]+)', json.dumps(cases)))
    one = {"one"} if "each" in row else set[str]()
    assert calls, row["of"]
    for call in calls:
        given = {str(word.arg) for word in call.keywords}
        assert (wanted - one) | ({row["each"]} if one else set()) <= given


@pytest.mark.parametrize(("file", "call"), USES, ids=[name for name, _ in USES])
def test_each_use_gives_every_fact(file: str, call: ast.Call) -> None:
    given = {str(word.arg) for word in call.keywords}
    if "None" in given:
        return  # facts that other tests give
    for row in rows_of(call):
        wanted = {fact for text in ROWS[row].values() for fact in FACT.findall(text)}
        assert wanted <= given, f"{file}:{call.lineno}"


def test_a_code_that_the_program_compares_is_that_of_a_row() -> None:
    assert len(ROWS) == len(TABLE)
    codes = {f"vsphere-{row.partition('/')[0]}" for row in ROWS}
    assert {text for text in TEXTS if re.fullmatch("vsphere-[a-z-]+", text)} <= codes


def test_several_facts_are_listed() -> None:
    assert said("not-found/attribute", lacking=["'a'", "'b'"], known=[]) == (
        "virtual machines have no custom attribute 'a', 'b'; they have none"
    )
    assert str(failed("interrupted", doing="waiting", left="gpu-0 stays")) == (
        "vsphere-interrupted: waiting: the update was interrupted; a task that vCenter has begun "
        "goes on there. gpu-0 stays. fix: run again."
    )
    with pytest.raises(KeyError):
        failed("not-found/attribute", lacking=["a"])
