"""What the DRA driver's chart refuses, and who else serves the same GPUs."""

from typing import Any

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.advertising_programs import offered_twice
from gpufleet.contract.programs.dra_gates import DRIVER
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.validation import CheckReport

_KUBERNETES = (1, 32)
_ISSUERS = ("selfsigned", "clusterissuer", "issuer")
_VALUES = "context.chart.values"


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
        report.add(
            "dra-chart-gpus-override",
            f"{_VALUES}.gpuResourcesEnabledOverride",
            "resources.gpus.enabled is on, its default, without gpuResourcesEnabledOverride",
            "write `gpuResourcesEnabledOverride: true` and turn the device plugin off, or "
            "`resources: {gpus: {enabled: false}}`",
        )
    for key in ("nvidiaCtkPath", "namespace"):
        if chart.value(key):
            report.add(
                "dra-chart-value-removed",
                f"{_VALUES}.{key}",
                f"the value `{key}` was removed, the chart fails with it",
                "remove it" if key == "nvidiaCtkPath" else "install with `--namespace`",
            )
    if chart.value("webhook.enabled"):
        _validate_webhook(chart, report)
    _validate_shares(chart, gates, report)


def _validate_cluster(chart: Program, context: Site, report: CheckReport) -> None:
    if chart.namespace.found == "default" and not chart.value("allowDefaultNamespace"):
        report.add(
            "dra-chart-default-namespace",
            "context.chart.namespace",
            "the chart refuses the default namespace",
            "install into `dra-driver-nvidia-gpu`, or set `allowDefaultNamespace: true`",
        )
    minor = context.minor
    if minor is not None and minor < _KUBERNETES:
        written = ".".join(map(str, minor))
        report.add(
            "dra-chart-kubernetes",
            context.kubernetes.place,
            f"Kubernetes {written} is older than 1.32",
            "1.34 or newer serves resource.k8s.io/v1",
            value=written,
            limit="1.32",
        )


def _validate_webhook(chart: Program, report: CheckReport) -> None:
    mode: Any = chart.value("webhook.tls.mode") or "cert-manager"
    path = f"{_VALUES}.webhook.tls"
    if mode not in ("cert-manager", "secret"):
        report.add(
            "dra-chart-webhook-tls",
            f"{path}.mode",
            f"webhook.tls.mode is {shown(mode)}, it must be cert-manager or secret",
            "one of cert-manager, secret",
            value=shown(mode),
        )
    elif mode == "secret":
        if not chart.value("webhook.tls.secret.name"):
            report.add(
                "dra-chart-webhook-tls",
                f"{path}.secret.name",
                "webhook.tls.mode secret needs the name of a Secret",
                "write `secret: {name: ...}`",
            )
    else:
        issuer: Any = chart.value("webhook.tls.certManager.issuerType") or "selfsigned"
        if issuer not in _ISSUERS:
            report.add(
                "dra-chart-webhook-tls",
                f"{path}.certManager.issuerType",
                f"issuerType is {shown(issuer)}, known are {', '.join(_ISSUERS)}",
                f"one of {', '.join(_ISSUERS)}",
                value=shown(issuer),
            )
        elif issuer != "selfsigned" and not chart.value("webhook.tls.certManager.issuerName"):
            report.add(
                "dra-chart-webhook-tls",
                f"{path}.certManager.issuerName",
                f"issuerType {issuer} needs an issuerName",
                "write the name of the issuer",
            )


def consumable_shares(context: Site) -> Any:
    """The chart's consumableShares, None where nothing is written."""
    return None if context.chart is None else context.chart.value("consumableShares")


def _validate_shares(chart: Program, gates: dict[str, bool], report: CheckReport) -> None:
    value: Any = chart.value("consumableShares")
    if value in (None, ""):
        return
    path = f"{_VALUES}.consumableShares"
    number = str(value).isdigit() and int(value) > 0 and not isinstance(value, bool)
    if value not in ("disabled", "memory", "unlimited") and not number:
        report.add(
            "dra-consumable-shares-invalid",
            path,
            f"consumableShares is {shown(value)}",
            "one of disabled, memory, unlimited, or a positive whole number",
            value=shown(value),
        )
    elif value != "disabled" and not gates.get("ConsumableShares"):
        report.add(
            "dra-consumable-shares-gate",
            path,
            f"consumableShares is {shown(value)} and the gate ConsumableShares is off",
            "write `featureGates: {ConsumableShares: true}`",
            value=shown(value),
        )


def _validate_neighbours(context: Site, report: CheckReport) -> None:
    """Another program of the place that serves the GPUs that the driver serves."""
    driver = next((one for one in context.programs if one.name == DRIVER), None)
    beside = [one for one in context.programs if one is not driver]
    for twice in offered_twice((driver or Program(name=DRIVER, values={}), *beside)):
        if not twice.plugins:
            report.add(
                "dra-plugin-too",
                f"{twice.other.place}.devicePlugin.enabled",
                twice.message,
                twice.fix,
            )
