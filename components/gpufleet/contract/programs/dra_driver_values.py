"""Kind `dra-driver-values`: values of NVIDIA's DRA driver's chart, under either of its names."""

from dataclasses import replace

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.chart_release import chart_codes
from gpufleet.contract.programs.chart_values import validate_values
from gpufleet.contract.programs.dra_chart import validate_chart
from gpufleet.contract.programs.dra_gates import DRIVER, gates_in_force
from gpufleet.contract.programs.dra_rules import RULES as DRA
from gpufleet.contract.programs.text_notes import TEXT_RULES
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import (
    SCHEMA_RULES,
    report_problems,
    schema_codes,
    values_problems,
)
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import reject, rule_table

CODES = schema_codes("the chart")
_VALUES = ("dra-gates-conflict", "dra-gate-unknown", "dra-consumable-shares-invalid",
           "dra-consumable-shares-gate", "dra-plugin-too")  # fmt: skip

RULES = rule_table(
    reject(
        "dra-values-no-mapping",
        ("DRA-13",),
        "The document is not a mapping of values.",
        "docs/check.md",
    ),
    *SCHEMA_RULES,
    *(rule for code, rule in DRA.items() if code.startswith("dra-chart-") or code in _VALUES),
    *TEXT_RULES,
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate values of the chart: what it refuses, feature gates, keys it does not know."""
    report = CheckReport(RULES)
    values = validate_values(read, "dra-values", report)
    if values is None:
        return report.validation()
    driver = context.release_of(DRIVER)
    codes = chart_codes(CODES, driver)
    report_problems(values_problems(driver, values), codes, report)
    before = context.program(DRIVER) or Program()
    inner = replace(context.reading(replace(before, name=DRIVER, values=values)), feature_gates={})
    validate_chart(inner, dict(gates_in_force(inner, report)), report)
    report.findings = [
        replace(f, path=f.path.removeprefix("context.chart.values.")) for f in report.findings
    ]
    return report.validation()
