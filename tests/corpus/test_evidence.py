"""Each rule names the public file or the report that shows it is needed, or is listed without one.

`evidence.csv` has each rule but those of vendors' formats, which follow the vendor's code and name
it: `repository path` of `jury.jsonl`, a file of the corpora, or a report. A new rule needs a row.
"""

import csv
import json
from pathlib import Path

import yaml

from gpufleet_policies.rules.configurations import CONFIG_RULES
from gpufleet_policies.rules.registry import RULES
from gpufleet_policies.rules.rule import Level
from gpufleet_policies.rules.settings import Profile
from tests.corpus.audits import CORPORA
from tests.policies.test_user_reports import REPORTS

HERE = Path(__file__).parent
OTHER_LINTERS = {
    "gpu-job-keeps-finished-pods": "kube-linter job-ttl-seconds-after-finished",
    "gpu-pod-without-cpu-memory": "kube-linter unset-cpu-requirements, unset-memory-requirements",
}
"""Rules that a general linter has as well."""
MOST_WITHOUT = 63
"""Rules about fleets, clouds' own resources, vGPU, and what is declared together: no public file of
ours has the fault. The number may only fall."""


def rows() -> dict[str, str]:
    with (HERE / "evidence.csv").open(newline="") as file:
        return {row["rule"]: row["evidence"] for row in csv.DictReader(file)}


def test_every_rule_has_a_row_and_few_have_no_evidence() -> None:
    own = [rule for rule in RULES if rule not in CONFIG_RULES]
    assert list(rows()) == [rule.id for rule in own]
    assert sum(not one for one in rows().values()) <= MOST_WITHOUT


def test_the_evidence_is_there() -> None:
    lines = (HERE / "jury.jsonl").read_text().splitlines()
    known = {f"{one['repository']} {one['path']}" for one in map(json.loads, lines)}
    known |= {
        one["source"] for one in yaml.safe_load((HERE / "planted.yaml").read_text())["faults"]
    }
    known |= {one.source for one in REPORTS}
    for rule, evidence in rows().items():
        is_file = CORPORA.is_dir() and (CORPORA / evidence).is_file()
        assert not evidence or evidence in known or is_file or not CORPORA.is_dir(), rule


def test_what_another_linter_says_as_well_is_quiet() -> None:
    rules = {rule.id: rule for rule in RULES}
    for name in OTHER_LINTERS:
        levels = rules[name].levels
        assert levels[Profile.DEV] is levels[Profile.PROD] is Level.OFF, name
    assert rules["gpu-job-keeps-finished-pods"].levels[Profile.STRICT] is Level.OFF


def test_rules_of_vendors_formats_name_their_source() -> None:
    assert all(rule.source for rule in CONFIG_RULES)
