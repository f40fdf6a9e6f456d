"""Every rule of every kind: a document that breaks it, and a similar one that does not."""

import inspect
from pathlib import Path

import pytest

from gpufleet.contract.programs import network_operator_values
from gpufleet.findings import Severity
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.codes import code_space
from gpufleet_policies.configurations.kinds import KINDS, rules_of, validate_text
from tests.policies.configurations.case_rows import FINE, CaseRow
from tests.policies.configurations.rule_cases import CASES
from tools.rule_pages import with_kinds

SEVERITY = {
    Verdict.ACCEPT: Severity.INFO,
    Verdict.WARN: Severity.WARNING,
    Verdict.REJECT: Severity.ERROR,
}
IDS = [
    f"{table}-{number}"
    for table, last in (("MP", 15), ("DP", 18), ("GO", 16), ("DRA", 15), ("NO", 14), ("OUR", 21))
    for number in range(1, last + 1)
] + ["4.2", "4.4", "4.5-single"]

ROWS = [(kind, *row) for kind, rows in CASES.items() for row in rows]


@pytest.mark.parametrize(
    ("kind", "code", "broken", "fine", "circumstances"),
    ROWS,
    ids=[f"{i}-{kind}-{row[0]}" for i, (kind, *row) in enumerate(ROWS)],
)
def test_a_rule_finds_what_breaks_it_and_nothing_else(
    kind: str, code: str, broken: str, fine: str | None, circumstances: dict
) -> None:
    validated = validate_text(kind, broken, **circumstances)
    found = [finding for finding in validated.findings if finding.code == code]
    assert found, [str(finding) for finding in validated.findings]
    rule = rules_of(kind).get(code) or {**_nested()}[code]
    assert found[0].severity is SEVERITY[rule.verdict]
    assert found[0].message
    assert found[0].evidence["rules"] == rule.survey
    if rule.verdict is Verdict.REJECT:
        assert validated.verdict is Verdict.REJECT
        assert validated.advertises is None

    text, where = (FINE[kind], {}) if fine is None else (fine, circumstances)
    fine_validated = validate_text(kind, text, **where)
    assert code not in {finding.code for finding in fine_validated.findings}
    assert fine_validated.verdict is not Verdict.REJECT, [str(f) for f in fine_validated.findings]


def _nested() -> dict:
    """Rules of documents inside the GPU Operator's values."""
    return {**rules_of("device-plugin"), **rules_of("mig-parted")}


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_rule_of_a_kind_has_a_case(kind: str) -> None:
    rows: list[CaseRow] = CASES[kind]
    rules = set(rules_of(kind))
    if kind == "network-operator-values":  # the rules of the nested configs have cases there
        rules -= {*network_operator_values.RDMA.RULES, *network_operator_values.SRIOV.RULES}
    assert not rules - {row[0] for row in rows}


def test_every_id_of_the_survey_has_a_rule() -> None:
    known = {number for kind in KINDS for rule in rules_of(kind).values() for number in rule.survey}
    assert not [number for number in IDS if number not in known]


@pytest.mark.parametrize("number", IDS)
def test_every_id_of_the_survey_has_a_case_and_a_line(number: str) -> None:
    """A document that breaks it and one that does not, and a row of the page under its id."""
    codes = {code for kind in KINDS for code, r in rules_of(kind).items() if number in r.survey}
    tried = {row[0] for rows in CASES.values() for row in rows}
    assert codes & tried
    page = (Path(__file__).parents[3] / "docs" / "check.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    under = [
        row[1].split("`")[1] for row in rows if number in row[0].removeprefix("| ").split(", ")
    ]
    assert codes <= set(under)


def test_nested_configs_are_judged_by_their_own_rules() -> None:
    policy = (
        "{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, "
        "metadata: {name: nic-cluster-policy}, spec: {sriovDevicePlugin: {image: x, "
        "repository: nvcr.io/x, config: '%s'}}}"
    )
    fine = validate_text("network-operator-values", policy % FINE["sriov-config"])
    assert fine.verdict is Verdict.ACCEPT
    broken = policy % FINE["sriov-config"].replace("hostdev", "host-dev")
    (finding,) = validate_text("network-operator-values", broken).findings
    assert finding.code == "sriov-item-invalid"
    assert finding.path == "spec.sriovDevicePlugin.config.resourceList[0].resourceName"
    assert set(network_operator_values.SRIOV.RULES) < set(network_operator_values.RULES)


def test_the_page_holds_every_rule() -> None:
    page = (Path(__file__).parents[3] / "docs" / "check.md").read_text(encoding="utf-8")
    assert with_kinds(page) == page


@pytest.mark.parametrize("kind", list(KINDS))
def test_fine_documents_are_accepted(kind: str) -> None:
    assert validate_text(kind, FINE[kind]).verdict is Verdict.ACCEPT


def test_every_code_that_is_reported_has_a_rule() -> None:
    """A code without a rule would end in a KeyError during a user's check."""
    import importlib
    import re

    from gpufleet.contract.programs import context

    known = code_space()
    folder = Path(inspect.getfile(context)).parent
    for file in folder.glob("*.py"):
        importlib.import_module(f"gpufleet.contract.programs.{file.stem}")
        for code in re.findall(r'\.add\(\s*"([a-z0-9-]+)"', file.read_text(encoding="utf-8")):
            assert code in known, (file.name, code)
