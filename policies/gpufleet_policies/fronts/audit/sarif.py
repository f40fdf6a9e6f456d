"""SARIF 2.1.0, as code scanning reads it (OASIS, Static Analysis Results Interchange Format)."""

import os
from typing import Any
from urllib.parse import quote

from gpufleet.findings import Finding, Level
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.explanation import explanation
from gpufleet_policies.fronts.audit.placed import fingerprint
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.pack_folder import documentation_site
from gpufleet_policies.rules.registry import NOTES, by_id

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "gpufleetFinding/v1"
_LEVELS = {Level.MANDATORY: "error", Level.ADVISORY: "warning", Level.OFF: "none"}


def as_sarif(result: Audit, version: str) -> dict[str, Any]:
    """One run with every rule that found something; waived findings are suppressed."""
    found = [*result.findings, *result.waived]
    ids = sorted({one.code for one in found})
    index = {rule: at for at, rule in enumerate(ids)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gpufleet",
                        "version": version,
                        "semanticVersion": version,
                        "rules": [_rule(rule) for rule in ids],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": result.looked_at > 0,
                        "toolExecutionNotifications": [
                            {
                                "level": "warning",
                                "message": {"text": f"not read: {file.problem}"},
                                "locations": [_location(file.name, 1)],
                            }
                            for file in result.unread
                        ],
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, index) for one in found],
            }
        ],
    }


def _rule(rule_id: str) -> dict[str, Any]:
    rule = by_id().get(rule_id)
    if rule is None:
        is_note = rule_id in NOTES
        text = "A note about the policy itself." if is_note else "A declaration does not compile."
        more = "See the section about waivers in the documentation of audits."
        return {
            "id": rule_id,
            "shortDescription": {"text": text},
            "help": {"text": more if is_note else "`gpufleet compile` reports the same."},
            "defaultConfiguration": {"level": "warning" if is_note else "error"},
        }
    detail = f" {rule.detail}" if rule.detail else ""
    more = f"`gpufleet policies explain {rule.id}` shows examples and how to waive a finding."
    text = f"{rule.sentence}{detail} Source: {rule.source}. {more}"
    return {
        "id": rule.id,
        "name": "".join(word.title() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": "\n".join(explanation(rule))},
        **_help_uri(rule),
        "defaultConfiguration": {"level": _LEVELS[rule.levels[Profile.PROD]]},
        "properties": {"tags": ["gpu", "cost" if rule.formula else "correctness", rule.family]},
    }


def _help_uri(rule: Rule) -> dict[str, str]:
    """The page of the documentation, where the installed distribution names one."""
    site = documentation_site()
    return {} if site is None else {"helpUri": f"{site.rstrip('/')}/{rule.docs}"}


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.level],
        "message": {"text": finding.text},
        "locations": [
            {
                **_location(finding.file, finding.line),
                "logicalLocations": [
                    {"fullyQualifiedName": str(finding.locator), "kind": "resource"}
                ],
            }
        ],
        "partialFingerprints": {FINGERPRINT: fingerprint(finding)},
    }
    money = finding.money
    if money is not None and money.usd_per_month is not None:
        result["properties"] = {"usdPerMonth": money.usd_per_month, "money": money.kind.value}
    if finding.waiver is not None:
        kind = "inSource" if finding.waiver.kind.in_source else "external"
        justification = str(finding.waiver)
        result["suppressions"] = [
            {"kind": kind, "status": "accepted", "justification": justification}
        ]
    return result


def _location(file: str, line: int) -> dict[str, Any]:
    # As bytes: names of files need not be text of any encoding.
    uri = "stdin" if file == "-" else quote(os.fsencode(file.removeprefix("./")), safe="/")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": max(1, line)},
        }
    }
