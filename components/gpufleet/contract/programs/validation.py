"""The result of `check`: a verdict with findings, and the rules that lead to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.findings import Finding, Severity, ordered
from gpufleet.findings.row_rules import RowRules
from gpufleet.findings.rows import rows_of
from gpufleet.rules.rows import RuleTable
from gpufleet.rules.rule import Verdict

_TEXTS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class AdvertisedByConfig:
    """Resources and labels of a node once the configuration is in force."""

    allocatable: Mapping[str, int]
    """Extended resource -> amount per node."""
    labels: Mapping[str, str]
    """Node labels that GPU Feature Discovery derives from it."""

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"allocatable": dict(self.allocatable), "labels": dict(self.labels)}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of `check`."""

    findings: tuple[Finding, ...] = ()
    advertises: AdvertisedByConfig | None = None
    """None if the configuration advertises nothing, or its effect is not known."""

    @property
    def verdict(self) -> Verdict:
        """The most severe verdict of its findings."""
        severities = {finding.severity for finding in self.findings}
        if Severity.ERROR in severities:
            return Verdict.REJECT
        return Verdict.WARN if Severity.WARNING in severities else Verdict.ACCEPT

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "verdict": self.verdict.value,
            "findings": [finding.as_dict() for finding in self.findings],
            "advertises": self.advertises.as_dict() if self.advertises is not None else None,
        }


@dataclass(slots=True)
class CheckReport:
    """Collects findings under the rules of one kind."""

    rules: RuleTable
    findings: list[Finding] = field(default_factory=list[Finding])
    texts: Path = _TEXTS
    """Folder of the rows with conditions, and of others that this folder does not have."""

    def add(
        self,
        code: str,
        path: str,
        message: str,
        fix: str | None = None,
        *,
        uncertain: bool = False,
        **evidence: object,
    ) -> None:
        """Add the finding of a rule, as a warning if the case is uncertain. Raises KeyError for
        a code without a rule."""
        rule = self.rules[code]
        facts: dict[str, object] = {"rules": rule.survey, **evidence, "source": rule.source}
        severity = Severity.WARNING if uncertain else rule.severity
        self.findings.append(Finding(code, severity, path, message, facts, fix))

    def say(
        self,
        row: str,
        path: str,
        *,
        code: str | None = None,
        fix: str | None = None,
        uncertain: bool = False,
        **facts: object,
    ) -> None:
        """Add the finding of a row of `findings.jsonl`; its severity and source are the rule's.
        `code` and `fix` replace those of the row; facts fill the texts and are evidence."""
        found = rows_of(_TEXTS).get(row) or rows_of(self.texts)[row]
        message, fix = found.texts(fix, facts)
        self.add(code or row.partition("/")[0], path, message, fix, uncertain=uncertain, **facts)

    def apply(self, of: str, path: str = "", **subjects: object) -> None:
        """Add the findings of the rows with this `of` whose conditions hold (`row_rules`)."""
        for one in RowRules(self.texts)(of, path, **subjects):
            facts: dict[str, Any] = dict(one.evidence)
            self.add(one.code, one.path.removeprefix("."), one.message, one.fix, **facts)

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add findings of another validation."""
        self.findings.extend(findings)

    @property
    def rejected(self) -> bool:
        """Whether any finding so far is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def validation(self, advertises: AdvertisedByConfig | None = None) -> Judgement:
        """The result; a rejected configuration advertises nothing."""
        return Judgement(ordered(self.findings), None if self.rejected else advertises)


# The MIG strategy in force on a node, if the context gives it.

OPERATOR_STRATEGY = "single"
"""`mig.strategy` of the gpu-operator chart if it is not set (v26.7.0)."""


def allows_mps(strategy: str | None) -> bool:
    """Whether the device plugin shares GPUs by MPS under a MIG strategy, which applies to the whole
    cluster. Under `mixed` it does not start, with or without MIG on the node: the rule
    `device-plugin-mps-mixed` has the source."""
    return strategy != "mixed"


def mig_strategy(context: Site) -> str | None:
    """MIG_STRATEGY in the plugin's environment; None if it is not set or not known.

    An explicit environment has precedence, then the chart that sets it: the GPU Operator exports
    its `mig.strategy`, the device plugin's chart its `migStrategy`.
    """
    if context.env is not None and "MIG_STRATEGY" in context.env:
        return context.env["MIG_STRATEGY"]
    written = written_strategy(context)
    if written is not None or context.chart is None:
        return written
    return OPERATOR_STRATEGY if context.chart.name == "gpu-operator" else None


def written_strategy(context: Site) -> str | None:
    """The strategy in the values of the chart; None if the chart's default applies."""
    chart = context.chart
    written = chart and (chart.value("mig.strategy") or chart.value("migStrategy"))
    return written if isinstance(written, str) else None
