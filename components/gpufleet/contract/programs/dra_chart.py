"""Kind `dra-driver-values`: values of the chart of NVIDIA's DRA driver, under both of its names;
other programs that serve the same GPUs."""

from dataclasses import replace
from typing import Any

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.advertising_programs import PLUGIN, offered_twice
from gpufleet.contract.programs.chart_values import chart_codes, validate_values
from gpufleet.contract.programs.dra_gates import DRIVER, gates_in_force
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import report_problems, schema_codes, values_problems
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import rule_table

_KUBERNETES = (1, 32)
_ISSUERS = ("selfsigned", "clusterissuer", "issuer")
_VALUES = "context.chart.values"

CODES = schema_codes("the chart")
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


def validate_chart(context: Site, gates: dict[str, bool], report: CheckReport) -> None:
    """Rules of the chart dra-driver-nvidia-gpu (0.5.0) over its values, namespace and cluster."""
    chart = context.chart
    if chart is None:
        return
    _validate_neighbours(context, report)
    if chart.name not in (None, DRIVER):
        return
    _validate_cluster(chart, context, report)
    if chart.values is None:
        return
    if chart.value("resources.gpus.enabled") is not False and not chart.value(
        "gpuResourcesEnabledOverride"
    ):
        report.say("dra-chart-gpus-override", f"{_VALUES}.gpuResourcesEnabledOverride")
    for key in ("nvidiaCtkPath", "namespace"):
        if chart.value(key):
            report.say(
                "dra-chart-value-removed",
                f"{_VALUES}.{key}",
                fix="remove it" if key == "nvidiaCtkPath" else "install with `--namespace`",
                key=key,
            )
    if chart.value("webhook.enabled"):
        _validate_webhook(chart, report)
    _validate_shares(chart, gates, report)


def _validate_cluster(chart: Program, context: Site, report: CheckReport) -> None:
    if chart.namespace.found == "default" and not chart.value("allowDefaultNamespace"):
        report.say("dra-chart-default-namespace", "context.chart.namespace")
    minor = context.minor
    if minor is not None and minor < _KUBERNETES:
        written = ".".join(map(str, minor))
        report.say("dra-chart-kubernetes", context.kubernetes.place, value=written, limit="1.32")


def _validate_webhook(chart: Program, report: CheckReport) -> None:
    mode: Any = chart.value("webhook.tls.mode") or "cert-manager"
    path = f"{_VALUES}.webhook.tls"
    if mode not in ("cert-manager", "secret"):
        report.say("dra-chart-webhook-tls/mode", f"{path}.mode", value=shown(mode))
    elif mode == "secret":
        if not chart.value("webhook.tls.secret.name"):
            report.say("dra-chart-webhook-tls/secret", f"{path}.secret.name")
    else:
        issuer: Any = chart.value("webhook.tls.certManager.issuerType") or "selfsigned"
        if issuer not in _ISSUERS:
            report.say(
                "dra-chart-webhook-tls/issuer-type",
                f"{path}.certManager.issuerType",
                value=shown(issuer),
            )
        elif issuer != "selfsigned" and not chart.value("webhook.tls.certManager.issuerName"):
            report.say(
                "dra-chart-webhook-tls/issuer-name", f"{path}.certManager.issuerName", issuer=issuer
            )


def consumable_shares(context: Site) -> Any:
    """The chart's consumableShares, None if it is not written."""
    return None if context.chart is None else context.chart.value("consumableShares")


def _validate_shares(chart: Program, gates: dict[str, bool], report: CheckReport) -> None:
    value: Any = chart.value("consumableShares")
    if value in (None, ""):
        return
    path = f"{_VALUES}.consumableShares"
    number = str(value).isdigit() and int(value) > 0 and not isinstance(value, bool)
    if value not in ("disabled", "memory", "unlimited") and not number:
        report.say("dra-consumable-shares-invalid", path, value=shown(value))
    elif value != "disabled" and not gates.get("ConsumableShares"):
        report.say("dra-consumable-shares-gate", path, value=shown(value))


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
