"""PolicyFinding: a violation with its object, level and links."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpufleet.cluster import Locator, UncompiledFleet
from gpufleet.findings import Finding, Severity
from gpufleet_policies.rules.exceptions import Waiver
from gpufleet_policies.rules.remediation import JsonPatch
from gpufleet_policies.rules.rule import Level, Violation


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """What a front reports."""

    rule: str
    level: Level
    locator: Locator
    violation: Violation
    annotation: str
    """The annotation that silences it; empty where nothing does."""
    docs: str
    waiver: Waiver | None = None
    """Why it does not count; None: it counts."""
    beneath: tuple[str, ...] = ()
    """Of a workload's waste: the pools it may run on, as messages name them. Their waste and the
    workload's can be the same machines."""

    @property
    def remediation(self) -> JsonPatch:
        """Operations of RFC 6902 on the validated object; empty: a person must decide."""
        return self.violation.remediation

    @property
    def message(self) -> str:
        """Everything in one text: what, where, found, limit, way out, money, how to silence."""
        v = self.violation
        place = f"{self.locator}" + (f", {v.where}" if v.where else "")
        text = f"[{self.rule}] {place}: {v.fact}."
        if v.alternative:
            text += f" Instead: {v.alternative}."
        if v.money is not None:
            text += f" It {v.money}."
        if self.annotation:
            text += f" {self._silence()}"
        return f"{text} {self._more()}"

    def _more(self) -> str:
        """Where more is said: the program has it, wherever it is installed."""
        if not self.annotation:
            return f"See {self.docs}"
        return f"More: gpufleet policies explain {self.rule}"

    def _silence(self) -> str:
        if not self.locator.annotated or self.locator.kind == "GpuFleet":
            return (
                "To keep it for a while, add to `exceptions` of the policy settings: "
                f'{{rule: {self.rule}, object: "{self.locator}", reason: "...", '
                "until: YYYY-MM-DD}."
            )
        return f'To keep it for a while, annotate {self.annotation}: "<reason>; until=YYYY-MM-DD".'

    def as_finding(self) -> Finding:
        """The form that commands print: mandatory is an error, advisory a warning."""
        v = self.violation
        money = v.money
        return Finding(
            code=self.rule,
            severity=Severity.ERROR if self.level is Level.MANDATORY else Severity.WARNING,
            path=f"{self.locator}" + (f" {v.where}" if v.where else ""),
            message=v.fact + ("" if money is None else f"; it {money}"),
            evidence={
                **v.evidence,
                "level": self.level.value,
                "urn": self.locator.urn,
                "usd_per_month": None if money is None else money.usd_per_month,
                "money": None if money is None else money.kind.value,
                "docs": self.docs,
            },
            fix=v.alternative or None,
        )


def of_compile(fleet: UncompiledFleet) -> Iterator[PolicyFinding]:
    """What `gpufleet compile` finds in a declaration: errors are mandatory, warnings advice."""
    levels = {Severity.ERROR: Level.MANDATORY, Severity.WARNING: Level.ADVISORY}
    for one in fleet.findings:
        if one.severity in levels:
            yield PolicyFinding(
                one.code,
                levels[one.severity],
                fleet.locator,
                Violation(one.path, one.message, "", one.fix or "", evidence=one.evidence),
                "",
                "docs/fleet-spec.md",
            )
