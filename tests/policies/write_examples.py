"""Writes the examples of the rules, for the reference and `gpufleet policies explain`.

PYTHONPATH=components:policies:sandbox:. python -m tests.policies.write_examples
"""

import difflib
import json
from collections.abc import Mapping
from typing import Any

from gpufleet.documents.whole_file import write_whole_text
from gpufleet.documents.writing import yaml_text
from gpufleet_policies.rule_examples import FILE
from tests.policies.cases import CASES, Case

LONG = 60
"""Lines from which an object is shown by its change alone."""
CONTEXT = 3
"""Unchanged lines shown around a change."""


def examples_text() -> str:
    """The first case of each rule, as the data file has it."""
    found: dict[str, dict[str, str]] = {}
    for case in CASES:
        found.setdefault(case.rule, _example(case))
    return json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _example(case: Case) -> dict[str, str]:
    good, bad = (_lines(document) for document in case.shown())
    change = list(difflib.unified_diff(bad, good, n=CONTEXT, lineterm=""))[2:]
    return {
        "bad": "\n".join(bad) if len(bad) < LONG else "",
        "change": "\n".join(line for line in change if not line.startswith("@@")),
        "message": case.message(),
    }


def _lines(document: Mapping[str, Any]) -> list[str]:
    return yaml_text(document).splitlines()


if __name__ == "__main__":
    write_whole_text(FILE, examples_text())
