"""Writes the examples of the rules, for the reference and `gpufleet policies explain`.

    PYTHONPATH=components:policies:sandbox:. python -m tests.policies.write_examples

They are the first case of each rule in the tables that the tests run: here, and those of the
configurations in tests/policies/configurations.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from gpufleet.documents.whole_file import write_whole_text
from gpufleet.documents.writing import inline_yaml, yaml_text
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.rule_examples import FILE, RuleExample
from gpufleet_policies.rules.registry import by_id
from tests.policies.cases import CASES, Case
from tests.policies.configurations.case_rows import FINE, CaseRow
from tests.policies.configurations.rule_cases import CASES as CONFIGURATIONS

LONG = 20
"""Lines from which an object is shown by its change alone."""
CONTEXT = 3
"""Unchanged lines shown around a change."""
WAIVER = " To keep it for a while,"
"""Here messages end: a page names the annotation of a waiver once for each rule."""


def examples_text() -> str:
    """The first case of each rule, as the data file has it."""
    found: dict[str, RuleExample] = {}
    for case in CASES:
        found.setdefault(case.rule, _of_object(case))
    for rule, example in _of_configurations():
        found.setdefault(rule, example)
    for rule in by_id().values():
        example = found.get(rule.id)
        if rule.group and example is not None and example.bad and (example.good or example.change):
            found.setdefault(rule.group, example)
    rows = {rule: asdict(example) for rule, example in sorted(found.items())}
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def _of_object(case: Case) -> RuleExample:
    good, bad = (_lines(document) for document in case.shown())
    change = list(difflib.unified_diff(bad, good, n=CONTEXT, lineterm=""))[2:]
    return RuleExample(
        bad="\n".join(bad) if len(bad) < LONG else "",
        change="\n".join(line for line in change if not line.startswith("@@")),
        message=case.message().partition(WAIVER)[0],
    )


def _of_configurations() -> Iterator[tuple[str, RuleExample]]:
    for kind, rows in CONFIGURATIONS.items():
        for row in rows:
            example = _of_row(kind, row)
            if example is not None:
                yield row[0], example


def _of_row(kind: str, row: CaseRow) -> RuleExample | None:
    code, broken, fine, circumstances = row
    findings = validate_text(kind, broken, **circumstances).findings
    finding = next((one for one in findings if one.code == code), None)
    if finding is None or "\0" in broken:
        return None
    fix = f" Instead: {finding.fix}." if finding.fix else ""
    return RuleExample(
        bad=broken.strip("\n"),
        good=(FINE[kind] if fine is None else fine).strip() or "# an empty document",
        given=inline_yaml(circumstances) if circumstances else "",
        message=f"{finding.message}.{fix}",
    )


def _lines(document: Mapping[str, Any]) -> list[str]:
    return yaml_text(document).splitlines()


if __name__ == "__main__":
    write_whole_text(FILE, examples_text())
