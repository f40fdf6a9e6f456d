"""Waste with a cheaper pool in the same input is refused by its amount; a waiver is reported."""

from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Finding, Level, finding
from gpufleet.findings.money import AmountKind, Money
from gpufleet.rules.context import RuleContext
from gpufleet.rules.rule import Rule, rule
from gpufleet_policies.rules.registry import add_rules, remove_own_rules
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.cases.workloads import deployment
from tests.policies.objects import TODAY, changed
from tests.policies.test_crossguard import ADVISORY, DEPLOYMENT_TYPE, IDLE, Host, request

MONTH = 730


def wasting(usd_per_month: int, *, here: bool) -> Rule:
    """A rule that gives advice about this amount of waste."""

    @rule("own-waste", "Waste.", dev=Level.MANDATORY, source="a test")
    def own(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
        del context, workload
        hourly = Fraction(usd_per_month * 1_000_000, MONTH)
        yield finding(
            where="spec",
            found="wastes",
            limit="a cheaper place is here",
            alternative="use it",
            money=Money(AmountKind.WASTE, hourly, Fraction(1), "one GPU"),
            at_most=Level.ADVISORY,
            evidence={"cheaper_here": here},
        )

    return own


@pytest.mark.parametrize(
    ("profile", "thresholds", "usd", "here", "level"),
    [
        ("prod", {}, 999, True, Level.ADVISORY),
        ("prod", {}, 1000, True, Level.MANDATORY),
        ("prod", {}, 5000, False, Level.ADVISORY),
        ("prod", {"refusedWasteUsdPerMonth": 200}, 200, True, Level.MANDATORY),
        ("prod", {"refusedWasteUsdPerMonth": 6000}, 5000, True, Level.ADVISORY),
        ("strict", {"refusedWasteUsdPerMonth": 6000}, 10, True, Level.MANDATORY),
        ("dev", {"refusedWasteUsdPerMonth": 1}, 5000, True, Level.ADVISORY),
    ],
)
def test_waste_is_refused_from_the_amount_of_the_settings(
    profile: str, thresholds: dict[str, int], usd: int, here: bool, level: Level
) -> None:
    settings = read_settings({"profile": profile, "thresholds": thresholds})
    add_rules([wasting(usd, here=here)])
    try:
        context = RuleContext(today=TODAY, load_catalogue=load, thresholds=settings.thresholds)
        found = validate(deployment().facts(), context, settings)
    finally:
        remove_own_rules()
    assert [one.level for one in found if one.code == "own-waste"] == [level]


def test_a_waived_finding_has_a_line_in_the_preview(tmp_path: Path) -> None:
    until = TODAY + timedelta(days=9)
    path = 'metadata.annotations."gpufleet.dev/ignore-gpu-idle-command"'
    host = Host(tmp_path)
    waived = changed(IDLE, {path: f"a trial; until={until}"})
    (one,) = host.servicer.Analyze(request(DEPLOYMENT_TYPE, waived, "w"), None).diagnostics
    assert one.enforcementLevel == ADVISORY
    assert "waived" in one.message
    assert "a trial" in one.message
    assert str(until) in one.message
