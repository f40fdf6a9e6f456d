"""One code space: each code has one meaning and one rule."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import gpufleet
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.findings import Level
from gpufleet.rules.rule import Profile, Verdict
from gpufleet_policies.configurations.codes import RELATIONS, code_space, tables
from gpufleet_policies.rules.registry import PACK_RULES, by_id, validating
from tests.policies.cases.sharing import operator
from tests.policies.objects import findings

FINDINGS = {"Finding", "error", "warning", "info", "_finding"}
"""Functions whose first argument is the code of a finding."""


def test_a_code_has_one_meaning_for_all_kinds():
    assert code_space(), "raises where two kinds differ"
    for kind, table in tables().items():
        assert all(code == rule.id for code, rule in table.items()), kind


def test_every_code_of_a_configuration_is_a_rule_of_its_own():
    levels = {
        Verdict.REJECT: Level.MANDATORY,
        Verdict.WARN: Level.ADVISORY,
        Verdict.ACCEPT: Level.OFF,
    }
    for code, found in code_space().items():
        rule = by_id()[code]
        assert rule.sentence == found.sentence
        assert rule.source == found.source
        assert rule.family == found.family
        assert rule.levels == dict.fromkeys(Profile, levels[found.verdict])
        assert rule in validating(NvidiaConfig)


def test_no_code_of_compile_has_another_meaning_among_the_rules():
    """A code that components report and a rule has must be that rule's."""
    shared = {
        code: places
        for code, places in _codes_of_components().items()
        if (code in {rule.id for rule in PACK_RULES} and not _is_relation(code, places))
        or code in code_space()
    }
    assert set(shared) == SHARED, "register it once, or give one of the two another code"


SHARED = {
    "dra-gate-unknown",
    "dra-kubernetes-gate-off",
    "dra-gates-conflict",
    "driver-not-for-gpu",
    "gpu-unknown",
    "health-two-janitors",
    "health-without-floor",
    "karpenter-gpu-count-drops-fractions",
    "karpenter-matches-nothing",
    "mig-layout-impossible",
    "mig-placement-inferred",
    "mig-placement-unknown",
    "mig-profile-renamed",
    "mig-unsupported",
    "node-feature-discovery-twice",
    "node-repair-blind-with-mig",
    "taint-never-removed",
    "two-advertisers",
    "vgpu-unlicensed",
}
"""Codes that compile reports of a FleetSpec and a rule of a document, with one meaning."""


def _is_relation(code: str, places: set[str]) -> bool:
    """True if only the contract reports it, whose relations are rules of the pack as they are."""
    inside = all(Path(place).parts[0] == "contract" for place in places)
    return inside and by_id()[code].family == RELATIONS


def _codes_of_components() -> dict[str, set[str]]:
    """Code -> modules outside the rules of configurations that report it."""
    folder = Path(gpufleet.__path__[0])
    found: dict[str, set[str]] = {}
    for file in folder.rglob("*.py"):
        inside = file.relative_to(folder)
        if "programs" in inside.parts:
            continue
        for code in _codes(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(code, set()).add(str(inside))
    for file in folder.rglob("findings.jsonl"):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            if "of" in row and "programs" not in file.parts:  # reported without a call
                code = row["code"].partition("/")[0]
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
            yield first.value.partition("/")[0]


def test_a_finding_of_a_configuration_names_its_rule_alone():
    (found,) = findings(operator({"mig": {"strategy": "mixd"}}).all_facts[1])
    assert found.code == "gpu-operator-choice-unknown"
    assert found.text.startswith("[gpu-operator-choice-unknown] Release gpu-operator")
    assert found.docs == ("docs/policies/gpu-operator-configuration.md#gpu-operator-choice-unknown")
