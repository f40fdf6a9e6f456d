"""Each rule names the public file or the report that shows it is needed.

`rule_evidence.csv` of the pack has each listed rule (faults of configurations follow the vendor's
code and name it): a file of `jury.jsonl` or of the corpora, or a report with what it
shows. The reference of the rules links them. A new rule needs a row.
"""

import csv
import json
import re
from pathlib import Path

import pytest

from gpufleet.findings import Level
from gpufleet_policies.configurations.codes import CONFIGURATION_GROUPS
from gpufleet_policies.rule_evidence import FILE, RuleEvidence, rule_evidence
from gpufleet_policies.rules.checked import CONFIG_RULES
from gpufleet_policies.rules.registry import PACK_RULES, RULES
from tests.corpus.audits import CORPORA
from tests.policies.objects import CONTAINER, deployment, findings
from tests.policies.test_user_reports import REPORTS
from tests.reading import yaml_data
from tools.rule_pages import pages, reference

HERE = Path(__file__).parent
_REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+")


def test_every_rule_has_a_row_with_evidence() -> None:
    own = [*PACK_RULES, *CONFIGURATION_GROUPS]
    assert {rule.id for rule in RULES} <= {rule.id for rule in own}
    with FILE.open(newline="", encoding="utf-8") as file:
        assert [row["rule"] for row in csv.DictReader(file)] == [rule.id for rule in own]
    assert [rule.id for rule in own if rule.id not in rule_evidence()] == []


def test_the_evidence_is_there() -> None:
    lines = (HERE / "jury.jsonl").read_text().splitlines()
    jury = {f"{one['repository']} {one['path']}": one for one in map(json.loads, lines)}
    known = {one["source"] for one in yaml_data((HERE / "planted.yaml").read_text())["faults"]}
    known |= {one.source for one in REPORTS}
    for rule, found in rule_evidence().items():
        if found.source in jury:
            assert found.commit == jury[found.source]["commit"], rule
        elif _REPORT.fullmatch(found.source):
            assert found.shows or found.source in known, rule
        else:
            assert not CORPORA.is_dir() or _is_file(found.source), rule


def _is_file(source: str) -> bool:
    repository, _, path = source.partition(" ")
    owner = repository.replace("/", "__")
    flat = f"{owner}__{path.replace('/', '__')}"
    configs = (CORPORA / "nvidia-configs").glob(f"*/{flat}")
    return (CORPORA / owner / path).is_file() or any(configs)


def test_the_reference_links_the_evidence() -> None:
    text = reference() + "".join(pages().values())
    assert [one for one in rule_evidence().values() if one.link not in text] == []


def test_rules_of_vendors_formats_name_their_source() -> None:
    assert all(rule.source for rule in CONFIG_RULES)


def test_a_rule_with_a_false_error_is_advice_until_it_is_repaired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    idle = deployment({f"{CONTAINER}.command": ["sleep", "infinity"]})

    def level() -> Level:
        found = findings(idle, settings={"profile": "strict"})
        return next(one.level for one in found if one.code == "gpu-idle-command")

    assert level() is Level.MANDATORY
    spent = {**rule_evidence(), "gpu-idle-command": RuleEvidence("a/b c", false_errors=1)}
    monkeypatch.setattr("gpufleet_policies.rule_evidence.rule_evidence", lambda: spent)
    assert level() is Level.ADVISORY
