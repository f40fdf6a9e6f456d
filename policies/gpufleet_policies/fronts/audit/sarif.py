"""SARIF 2.1.0, as code scanning reads it (OASIS, Static Analysis Results Interchange Format)."""

import os
from typing import Any
from urllib.parse import quote

from gpufleet_policies.fronts.audit.created import manifest
from gpufleet_policies.fronts.audit.placed import PlacedFinding
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.rule import Level, Profile

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "gpufleetFinding/v1"
_LEVELS = {Level.MANDATORY: "error", Level.ADVISORY: "warning", Level.OFF: "none"}


def as_sarif(result: Audit, version: str) -> dict[str, Any]:
    """One run with every rule that found something, findings of the baseline suppressed."""
    found = [*result.findings, *result.known]
    ids = sorted({one.finding.rule for one in found})
    index = {rule: at for at, rule in enumerate(ids)}
    known = {id(one) for one in result.known}
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
                        "executionSuccessful": True,
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
                "results": [_result(one, index, id(one) in known) for one in found],
            }
        ],
    }


def _rule(rule_id: str) -> dict[str, Any]:
    rule = by_id().get(rule_id)
    if rule is None:
        text = "A note about the policy itself."
        return {
            "id": rule_id,
            "shortDescription": {"text": text},
            "help": {"text": f"See docs/policies.md#{rule_id}."},
            "defaultConfiguration": {"level": "warning"},
        }
    money = f" Money: {rule.formula}." if rule.formula else ""
    keep = f'Keep a finding for a while: annotate {rule.annotation}: "<reason>; until=YYYY-MM-DD".'
    text = f"{rule.sentence}{money} {keep} Source: {rule.source}. See {rule.docs}."
    return {
        "id": rule.id,
        "name": "".join(word.title() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": text.replace(rule.annotation, f"`{rule.annotation}`")},
        "defaultConfiguration": {"level": _LEVELS[rule.levels[Profile.PROD]]},
        "properties": {"tags": ["gpu", "cost" if rule.formula else "correctness", rule.family]},
    }


def _result(one: PlacedFinding, index: dict[str, int], is_known: bool) -> dict[str, Any]:
    finding = one.finding
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVELS[finding.level],
        "message": {"text": finding.message},
        "locations": [
            {
                **_location(one.file, one.line),
                "logicalLocations": [
                    {"fullyQualifiedName": str(finding.locator), "kind": "resource"}
                ],
            }
        ],
        "partialFingerprints": {FINGERPRINT: one.fingerprint},
    }
    money = finding.violation.money
    if money is not None and money.usd_per_month is not None:
        result["properties"] = {"usdPerMonth": money.usd_per_month, "money": money.kind.value}
    if finding.violation.creates:
        created = [manifest(creation) for creation in finding.violation.creates]
        result["properties"] = {**result.get("properties", {}), "create": created}
    if is_known:
        result["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
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
