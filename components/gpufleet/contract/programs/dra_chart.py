"""Kind `dra-driver-values`: values of the chart of NVIDIA's DRA driver, under both of its names;
other programs that serve the same GPUs."""

from dataclasses import replace
from typing import Any

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.advertising_programs import PLUGIN, offered_twice
from gpufleet.contract.programs.chart_values import report_values, validate_values
from gpufleet.contract.programs.dra_gates import DRIVER, gates_in_force
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import rule_table

_OTHERS = (
    *("dra-gates-conflict", "dra-gate-unknown", "dra-consumable-shares-invalid"),
    *("dra-consumable-shares-gate", "dra-plugin-too"),
)

RULES = rule_table(
    *rules_in("dra_driver_values", "unknown_keys", "schema"),
    *(one for one in rules_in("dra") if one.id.startswith("dra-chart-") or one.id in _OTHERS),
    *rules_in("text_notes"),
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate values of the chart: refused values, feature gates, unknown keys."""
    report = CheckReport(RULES)
    values = validate_values(read, "dra-values", report)
    if values is None:
        return report.validation()
    report_values(values, context.release_of(DRIVER), report)
    before = context.program(DRIVER) or Program()
    inner = replace(context.reading(replace(before, name=DRIVER, values=values)), feature_gates={})
    validate_chart(inner, dict(gates_in_force(inner, report)), report)
    report.findings = [
        replace(f, path=f.path.removeprefix("context.chart.values.")) for f in report.findings
    ]
    return report.validation()


def validate_chart(context: Site, gates: dict[str, bool], report: CheckReport) -> None:
    """Rules of the chart dra-driver-nvidia-gpu (0.5.0) over its values, namespace and cluster."""
    chart = context.chart
    if chart is None:
        return
    _validate_neighbours(context, report)
    if chart.name not in (None, DRIVER):
        return
    paths = {"mode": "webhook.tls.mode", "issuer": "webhook.tls.certManager.issuerType"}
    paths["shares"] = "consumableShares"
    report.apply(
        "dra chart",
        chart=chart,
        site=context,
        minor=".".join(map(str, context.minor or ())),
        gates=gates,
        shown={name: shown(chart.value(path)) for name, path in paths.items()},
    )


def consumable_shares(context: Site) -> Any:
    """The chart's consumableShares, None if it is not written."""
    return None if context.chart is None else context.chart.value("consumableShares")


def _validate_neighbours(context: Site, report: CheckReport) -> None:
    """Another program of the cluster that serves the GPUs of the driver."""
    driver = next((one for one in context.programs if one.name == DRIVER), None)
    beside = [one for one in context.programs if one is not driver]
    for twice in offered_twice((driver or Program(name=DRIVER, values={}), *beside)):
        if not twice.plugins:
            whose = "its own chart" if twice.other.name == PLUGIN else "the GPU Operator"
            report.add(
                "dra-plugin-too",
                f"{twice.other.place}.devicePlugin.enabled",
                f"the device plugin of {whose} serves the GPUs that this driver serves",
                twice.fix,
            )
