"""The audit for programs."""

from dataclasses import asdict
from typing import Any

from gpufleet.findings import Finding
from gpufleet.findings.waiver import Waiver
from gpufleet_policies.fronts.audit.node_use import free_usd_per_month
from gpufleet_policies.fronts.audit.patches import offered
from gpufleet_policies.fronts.audit.placed import fingerprint
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.money.attribution import totals
from gpufleet_policies.money.stack import spend_as_dict


def finding_as_dict(one: Finding) -> dict[str, Any]:
    """One finding: the form of every command, with where it is and what would fix it."""
    money = one.money
    return {
        **one.as_dict(),
        "file": one.file,
        "line": one.line,
        "object": str(one.locator),
        "where": one.path,
        "level": one.level.value,
        "text": one.text,
        "usdPerMonth": None if money is None else money.usd_per_month,
        "money": None if money is None else money.kind.value,
        "patch": [dict(operation) for operation in offered(one)],
        "fingerprint": fingerprint(one),
        "waiver": _waiver(one.waiver),
    }


def _waiver(waiver: Waiver | None) -> dict[str, Any] | None:
    if waiver is None:
        return None
    return {
        "kind": waiver.kind.value,
        "place": waiver.place,
        "reason": waiver.reason,
        "until": None if waiver.until is None else waiver.until.isoformat(),
    }


def as_json(result: Audit) -> dict[str, Any]:
    """Everything, in the order of the inputs."""
    return {
        "findings": [finding_as_dict(one) for one in result.findings],
        "files": len(result.files),
        "objects": sum(file.objects for file in result.files),
        "unread": [{"file": file.name, "reason": file.problem} for file in result.unread],
        "notJudged": [one.as_dict() for one in result.not_judged],
        "waived": [finding_as_dict(one) for one in result.waived],
        "inBaseline": len(result.known),
        "usdPerMonth": asdict(totals(result.findings, result.spend)),
        "nodes": [row.as_dict() for row in result.nodes],
        "freeUsdPerMonth": free_usd_per_month(result.nodes),
        "spend": None if result.spend is None else spend_as_dict(result.spend),
    }
