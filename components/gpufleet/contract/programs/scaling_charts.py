"""Values of charts that no rules are about but those of their shape: DCGM's exporter, Karpenter,
Kueue, KEDA. Each has a kind of its own, all have the same codes."""

from dataclasses import dataclass, replace
from typing import ClassVar

from gpufleet.catalogue.features import numbers
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.chart_values import validate_values
from gpufleet.contract.programs.text_notes import TEXT_RULES
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import (
    SCHEMA_RULES,
    SchemaProblem,
    report_problems,
    says_true,
    schema_codes,
    values_problems,
    values_release,
)
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import RuleTable, reject, rule_table, warn

_SOURCE = "values.yaml and templates of the chart (tools/schemas/scaling_charts.py)"
CODES = schema_codes("the chart")
_QUOTED = "chart-values-quoted-boolean"
RULES = rule_table(
    reject(
        "chart-values-no-mapping",
        ("OUR-5",),
        "The document is no mapping of values.",
        "docs/check.md",
    ),
    warn(
        _QUOTED,
        ("OUR-5",),
        "A boolean is text that says true: the chart asks whether it is set, which every text is, "
        'so that `"false"` would say the same.',
        _SOURCE,
    ),
    *SCHEMA_RULES,
    *TEXT_RULES,
)
"""The rules of each of these kinds."""


@dataclass(frozen=True, slots=True)
class ChartKind:
    """The kind of one chart's values."""

    chart: str
    RULES: ClassVar[RuleTable] = RULES

    def validate(self, read: GoDocument, context: Site) -> Judgement:
        """Validate values of the chart: keys it does not have, types, enumerations, bounds."""
        report = CheckReport(RULES)
        values = validate_values(read, "chart-values", report)
        if values is None:
            return report.validation()
        program = context.release_of(self.chart)
        release, at = values_release(self.chart), program.numbers
        named = None if program.is_default else at
        is_other = named is not None and named[:2] != numbers(release)[:2]
        codes = replace(
            CODES,
            reader=f"the {self.chart} chart of {release}"
            if is_other
            else f"the {self.chart} chart",
            of_release=release if is_other else None,
        )

        def special(problem: SchemaProblem) -> str | None:
            return _QUOTED if says_true(self.chart, problem, values) else None

        problems = values_problems(program, values)
        report_problems(problems, codes, report, special=special)
        return report.validation()


DCGM_EXPORTER, KARPENTER = ChartKind("dcgm-exporter"), ChartKind("karpenter")
KEDA, KUEUE = ChartKind("keda"), ChartKind("kueue")
