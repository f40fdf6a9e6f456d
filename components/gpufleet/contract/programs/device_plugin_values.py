"""Kind `device-plugin-values`: values of the chart nvidia-device-plugin, with their configs."""

from dataclasses import replace
from typing import Any

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.programs import device_plugin
from gpufleet.contract.programs.chart_values import report_values, validate_values
from gpufleet.contract.programs.device_plugin import CHART, validate_chart
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table

RULES = rule_table(
    *rules_in("device_plugin_values", "unknown_keys", "schema"),
    *(one for one in rules_in("device_plugin") if one.id.startswith("device-plugin-chart-")),
    *rules_in("text_notes"),
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate values of the chart; each entry of `config.map` as kind `device-plugin`."""
    report = CheckReport(RULES)
    values = validate_values(read, "device-plugin-values", report)
    if values is None:
        return report.validation()
    report_values(values, context.release_of(CHART), report)
    installed = replace(context.program(CHART) or Program(), name=CHART, values=values)
    inner = replace(context.reading(installed), env=None)
    validate_chart(inner, report)
    for key, text in (as_mapping(value_at(values, "config.map")) or {}).items():
        _validate_config(text, child("config.map", key), inner, report)
    report.findings = [
        replace(f, path=f.path.removeprefix("context.chart.values.")) for f in report.findings
    ]
    return report.validation()


def _validate_config(text: Any, path: str, context: Site, report: CheckReport) -> None:
    if not isinstance(text, str):
        report.say("device-plugin-values-config/type", path, text=shown(text))
        return
    try:
        read = read_go(text)
    except UnreadableDocumentError as problem:
        report.say("device-plugin-values-config/text", path, problem=problem)
        return
    # The chart itself is validated once, not with each configuration.
    plugin = context.program(CHART) or Program(name=CHART)
    flags = {k: v for k, v in (plugin.values or {}).items() if k == "migStrategy"}
    inner = context.reading(replace(plugin, values=flags))
    for finding in device_plugin.validate(read, inner).findings:
        report.extend([replace(finding, path=f"{path}: {finding.path}".rstrip(": "))])
