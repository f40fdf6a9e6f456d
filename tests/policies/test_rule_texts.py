"""Rows of `texts.jsonl` and the findings of rules that have them fit each other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from gpufleet_policies import rules
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.written import RuleWithTexts, texts

FOLDER = Path(str(rules.__file__)).parent
ARGUMENTS = {"case", "certain", "money", "provenance", "remediation", "creates", "evidence"}
REPLACED = {"limit", "alternative", "at_most"}
TEXTS = ("where", "found", "limit", "alternative")


def calls() -> Iterator[tuple[str, ast.Call]]:
    """The row of each call of `say`, and the call."""
    for file in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = {
            one.name: ast.literal_eval(made.args[0])
            for one in tree.body
            if isinstance(one, ast.FunctionDef)
            for made in one.decorator_list
            if isinstance(made, ast.Call) and ast.unparse(made.func) == "written_rule"
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                name = ast.unparse(call.func.value)
                if call.func.attr == "say" and name in names:
                    case = [one.value for one in call.keywords if one.arg == "case"]
                    word = f"/{ast.literal_eval(case[0])}" if case else ""
                    yield names[name] + word, call


def test_each_row_is_shown_and_each_finding_has_its_row():
    assert {code for code, _ in calls()} == set(texts())


CALLS = tuple(calls())


@pytest.mark.parametrize(("code", "call"), CALLS, ids=[code for code, _ in CALLS])
def test_a_finding_gives_the_facts_that_its_row_names(code: str, call: ast.Call):
    row, given = texts()[code], {str(one.arg) for one in call.keywords}
    assert row.keys() <= {"code", "evidence", "at_most", "note", *TEXTS}
    assert not row.keys() & given & REPLACED, "the text of the row is never shown"
    assert not (call.args and "where" in row), "the place of the row is never shown"
    fields = [field for key in TEXTS for _, field, *_ in Formatter().parse(row.get(key, ""))]
    facts = [one for one in row.get("evidence", {}).values() if isinstance(one, str)]
    named = {re.split(r"[.\[]", one)[0] for one in (*fields, *facts) if one}
    assert named == given - ARGUMENTS - REPLACED


def test_a_finding_without_a_fact_of_its_row_is_an_error():
    rule = by_id()["gpu-server-in-job"]
    assert isinstance(rule, RuleWithTexts)
    assert rule.say("spec", certain=False).level == "advisory"
    with pytest.raises(KeyError):
        rule.say("spec", case="other")
