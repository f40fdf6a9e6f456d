"""Kind `dra-driver-values`: values of the chart of NVIDIA's DRA driver, under both of its names."""

from dataclasses import replace

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.chart_values import chart_codes, validate_values
from gpufleet.contract.programs.dra_chart import validate_chart
from gpufleet.contract.programs.dra_gates import DRIVER, gates_in_force
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import (
    report_problems,
    schema_codes,
    values_problems,
)
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import rule_table

CODES = schema_codes("the chart")
_VALUES = ("dra-gates-conflict", "dra-gate-unknown", "dra-consumable-shares-invalid",
           "dra-consumable-shares-gate", "dra-plugin-too")  # fmt: skip

RULES = rule_table(
    *rules_in("dra_driver_values", "unknown_keys", "schema"),
    *(one for one in rules_in("dra") if one.id.startswith("dra-chart-") or one.id in _VALUES),
    *rules_in("text_notes"),
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate values of the chart: refused values, feature gates, unknown keys."""
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
