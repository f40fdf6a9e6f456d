"""SARIF 2.1.0: reports are valid by the schema of the standard, and hold what code scanning needs.

sarif-2.1.0.json is the schema of OASIS (oasis-tcs/sarif-spec, Schemata/sarif-schema-2.1.0.json, in
draft 7 as the crate serde-sarif 0.8.0 has it, commit c1a2c247), without titles and descriptions.
"""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpufleet_policies.fronts.audit.baseline import without_known
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.placed import fingerprint
from gpufleet_policies.fronts.audit.run import Audit, audit
from gpufleet_policies.fronts.audit.sarif import as_sarif
from gpufleet_policies.rules.settings import read_settings
from tests.policies.audit.test_command import IDLE, IDLE_RULE, RAY_JOB
from tests.policies.objects import TODAY

SARIF = json.loads(Path(__file__).with_name("sarif-2.1.0.json").read_text())


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "shell ä.yaml").write_text(IDLE)
    (tmp_path / "train.yaml").write_text(RAY_JOB)
    (tmp_path / "broken.yaml").write_text("a: [1\n")
    return audit(find_inputs(["."]), read_settings({"profile": "prod"}), TODAY)


def results(document: dict[str, Any]) -> list[dict[str, Any]]:
    return document["runs"][0]["results"]


def test_everything_is_where_the_standard_wants_it(result: Audit):
    document = as_sarif(result, "1.2.3")
    jsonschema.Draft7Validator(SARIF).validate(document)
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    for found in results(document):
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
        assert found["message"]["text"]
        assert found["locations"]
        assert found["partialFingerprints"]
    for rule in rules:
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
    (shell,) = [found for found in results(document) if found["ruleId"] == IDLE_RULE]
    place = shell["locations"][0]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20folder/shell%20%C3%A4.yaml"
    assert place["physicalLocation"]["region"] == {"startLine": 9}
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "Pod ml/shell"
    assert shell["level"] == "error"
    (note,) = document["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("not read: line 2")


def test_fingerprints_outlive_moves_and_are_those_of_the_baseline(result: Audit, tmp_path: Path):
    before = {f["ruleId"]: f["partialFingerprints"] for f in results(as_sarif(result, "1"))}
    (tmp_path / "train.yaml").write_text("# moved\n\n" + RAY_JOB)
    again = audit(find_inputs(["."]), read_settings({"profile": "prod"}), TODAY)
    after = {f["ruleId"]: f["partialFingerprints"] for f in results(as_sarif(again, "1"))}
    assert before == after
    for finding in result.findings:
        known = before[finding.code]["gpufleetFinding/v1"]
        assert known == fingerprint(finding)


def test_known_findings_are_suppressed_not_left_out(result: Audit):
    from collections import Counter

    known = Counter(fingerprint(finding) for finding in result.findings)
    document = as_sarif(without_known(result, known), "1")
    jsonschema.Draft7Validator(SARIF).validate(document)
    assert len(results(document)) == len(result.findings)
    assert all(found["suppressions"][0]["kind"] == "external" for found in results(document))


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    return [at, *(place for key, child in children for place in places(child, (*at, key)))]


def accepted(document: dict[str, Any]) -> bool:
    return jsonschema.Draft7Validator(SARIF).is_valid(document)


def test_what_the_standard_does_not_know_is_refused(result: Audit):
    """The check itself bites: at every place of a report, a foreign key, or a wrong type."""
    document = as_sarif(result, "1.2.3")
    assert accepted(document)
    refused = 0
    for place in places(document):
        if "partialFingerprints" in place or "properties" in place:
            continue  # these may hold what they like
        changed = copy.deepcopy(document)
        value = changed
        for step in place[:-1]:
            value = value[step]
        there = value[place[-1]] if place else changed
        if isinstance(there, dict):
            there["foreign"] = 1
        elif place:
            value[place[-1]] = {"foreign": 1}
        assert not accepted(changed), place
        refused += 1
    assert refused > 50
