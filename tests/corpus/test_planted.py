"""Reported faults, planted into public files that do not have them, are found.

`planted.yaml` has the changed field and the report of each.
"""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.corpus.audits import CORPORA, needs_corpora
from tests.policies.objects import TODAY
from tests.reading import read_yaml, yaml_documents

PLANTED = read_yaml(Path(__file__).with_name("planted.yaml"))
FAULTS: list[dict[str, Any]] = PLANTED["faults"]
LEAST_FAULTS, LEAST_FOUND = 40, 36


def edit(documents: list[Any], path: str, value: Any) -> None:
    *steps, last = path.split("|")
    at: Any = documents
    for number, step in enumerate(steps):
        if isinstance(at, list):
            at = at[int(step)]
        elif step in at and at[step] is not None:
            at = at[step]
        elif value is None:
            return
        else:
            assert number, path
            at[step] = {}
            at = at[step]
    if last == "+":
        at.append(value)
    elif isinstance(at, list):
        at[int(last)] = value
    elif value is None:
        at.pop(last, None)
    else:
        at[last] = value


def rules_in(documents: list[Any], fault: dict[str, Any], folder: Path) -> set[str]:
    name = Path(PLANTED["files"][fault["file"]]).name
    folder.mkdir()
    (folder / name).write_text(yaml.safe_dump_all(documents, sort_keys=False))
    settings = {"profile": fault["profile"]} if "profile" in fault else {}
    result = audit(find_inputs([str(folder)]), read_settings(settings), TODAY)
    return {found.code for found in result.findings}


def was_found(fault: dict[str, Any], folder: Path) -> bool:
    original = list(yaml_documents((CORPORA / PLANTED["files"][fault["file"]]).read_text()))
    planted = copy.deepcopy(original)
    for path, value in fault["edits"].items():
        edit(planted, path, value)
    assert planted != original, fault
    assert fault["rule"] not in rules_in(original, fault, folder / "before"), fault
    return fault["rule"] in rules_in(planted, fault, folder / "after")


@needs_corpora
def test_faults_of_public_reports_are_found(
    tmp_path: Path, record_property: pytest.FixtureRequest
) -> None:
    found = [
        fault for number, fault in enumerate(FAULTS) if was_found(fault, _new(tmp_path, number))
    ]
    unexpected = [
        f"{fault['rule']} in {fault['file']}: {fault['edits']}"
        for fault in FAULTS
        if (fault in found) == ("missed" in fault)
    ]
    record_property("planted", f"{len(found)} of {len(FAULTS)}")  # type: ignore[operator]
    assert unexpected == []
    assert len(found) >= LEAST_FOUND


def _new(folder: Path, number: int) -> Path:
    (folder / str(number)).mkdir()
    return folder / str(number)


def test_each_planted_fault_has_a_public_source() -> None:
    assert len(FAULTS) >= LEAST_FAULTS
    assert [fault for fault in FAULTS if "#" not in fault["source"]] == []
