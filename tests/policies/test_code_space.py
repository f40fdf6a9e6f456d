"""One code space: each code has one meaning and one rule, and former ids stay valid."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpufleet
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.contract.programs.validation import Verdict
from gpufleet_policies.configurations.codes import code_space, tables
from gpufleet_policies.fronts.audit.baseline import baseline_text, read_baseline, without_known
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.placed import fingerprint
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.former_names import covered, replaced
from gpufleet_policies.rules.registry import FORMER_NAME, PACK_RULES, by_id, validating
from gpufleet_policies.rules.rule import Level, Profile
from gpufleet_policies.rules.settings import read_settings
from tests.policies.cases.sharing import operator, plugin_config
from tests.policies.objects import TODAY, findings

FINDINGS = {"Finding", "error", "warning", "info"}
"""Functions whose first argument is the code of a finding."""


def test_a_code_has_one_meaning_for_all_kinds():
    assert code_space(), "raises where two kinds differ"
    for kind, table in tables().items():
        assert all(code == rule.code for code, rule in table.items()), kind


def test_every_code_of_a_configuration_is_a_rule_of_its_own():
    levels = {
        Verdict.REJECT: Level.MANDATORY,
        Verdict.WARN: Level.ADVISORY,
        Verdict.ACCEPT: Level.OFF,
    }
    for code, found in code_space().items():
        rule = by_id()[code]
        assert rule.sentence == found.rule.sentence
        assert rule.source == found.rule.source
        assert rule.family == found.kind
        assert rule.levels == dict.fromkeys(Profile, levels[found.rule.verdict])
        assert rule in validating(NvidiaConfig)


def test_no_code_of_compile_has_another_meaning_among_the_rules():
    """A code that components report and a rule has must be that rule's."""
    shared = {
        code: places
        for code, places in _codes_of_components().items()
        if code in {rule.id for rule in PACK_RULES} or code in code_space()
    }
    assert set(shared) == SHARED, "register it once, or give one of the two another code"


SHARED = {
    "dra-gate-unknown",
    "dra-gates-conflict",
    "driver-not-for-gpu",
    "gpu-unknown",
    "karpenter-gpu-count-drops-fractions",
    "karpenter-matches-nothing",
    "mig-compute-instance-mixed",
    "mig-layout-impossible",
    "mig-placement-inferred",
    "mig-placement-unknown",
    "mig-profile-renamed",
    "mig-unsupported",
    "vgpu-unlicensed",
}
"""Codes that compile reports of a FleetSpec and a rule of somebody's document, with one meaning."""


def _codes_of_components() -> dict[str, set[str]]:
    """Code -> modules outside the rules of configurations that report it."""
    folder = Path(gpufleet.__path__[0])
    found: dict[str, set[str]] = {}
    for file in folder.rglob("*.py"):
        if "programs" in file.parts:
            continue
        for code in _codes(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(code, set()).add(str(file.relative_to(folder)))
    assert len(found) > 50
    return found


def _codes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = node.func
        name = getattr(function, "id", "") or getattr(function, "attr", "")
        first = node.args[0]
        if name in FINDINGS and isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


def test_former_ids_lead_to_rules():
    for old, rules in covered().items():
        assert rules, old
        assert set(rules) <= set(by_id()), old
    assert not set(replaced()) & set(by_id())


BROKEN = plugin_config("mps", flags="mixed")


def test_a_setting_by_a_former_id_holds_for_the_rules_and_is_noted():
    settings = read_settings({"rules": {"nvidia-config-rejected": "off"}})
    assert settings.levels["device-plugin-mps-mixed"] is Level.OFF
    (note,) = settings.notes
    assert note.code == FORMER_NAME
    assert "nvidia-config-rejected is the former name of" in note.message
    both = {"nvidia-config-rejected": "off", "device-plugin-mps-mixed": "advisory"}
    assert read_settings({"rules": both}).levels["device-plugin-mps-mixed"] is Level.ADVISORY
    (found,) = findings(BROKEN.facts(), settings={"rules": both})
    assert (found.rule, found.level) == ("device-plugin-mps-mixed", Level.ADVISORY)


@pytest.mark.parametrize("old", ["nvidia-config-rejected", "mps-with-mig"])
def test_an_annotation_by_a_former_id_silences_and_is_noted(old: str):
    import copy

    properties = copy.deepcopy(BROKEN.properties)
    properties["metadata"]["annotations"] = {f"gpufleet.dev/ignore-{old}": "x; until=2027-01-31"}
    thing = type(BROKEN)(BROKEN.type, properties)
    found = [f for fact in thing.all_facts() for f in findings(fact)]
    noted = [FORMER_NAME] if old in replaced() else []
    assert sorted({f.rule for f in found}) == noted


def test_a_baseline_with_the_former_ids_still_knows_its_findings(tmp_path: Path):
    import hashlib
    import json

    import yaml

    file = tmp_path / "plugin.yaml"
    file.write_text(yaml.safe_dump(BROKEN.properties))
    result = audit([Input(str(file))], read_settings({}), TODAY)
    (found,) = result.findings
    assert found.finding.rule == "device-plugin-mps-mixed"
    violation = found.finding.violation
    evidence = {"code": "device-plugin-mps-mixed", **violation.evidence}
    parts = ["mps-with-mig", str(found.finding.locator), violation.where, evidence]
    text = json.dumps(parts, sort_keys=True, default=str)
    old = hashlib.sha256(text.encode()).hexdigest()[:32]
    baseline = tmp_path / "baseline.json"
    now = fingerprint(found.finding)
    baseline.write_text(baseline_text(result.findings).replace(now, old))
    left = without_known(result, read_baseline(baseline))
    assert left.findings == ()
    assert len(left.known) == 1


def test_a_finding_of_a_configuration_names_its_rule_alone():
    (found,) = findings(operator({"mig": {"strategy": "mixd"}}).all_facts()[1])
    assert found.rule == "gpu-operator-choice-unknown"
    assert found.message.startswith("[gpu-operator-choice-unknown] Release gpu-operator")
    assert found.docs == "docs/policies.md#gpu-operator-choice-unknown"
