"""Kind `dra-driver-values`: values of NVIDIA's DRA driver's chart, under either of its names."""

from dataclasses import replace

from gpufleet.contract.foreign.chart_values import validate_values
from gpufleet.contract.foreign.context import CheckContext, InstalledChart
from gpufleet.contract.foreign.dra_chart import CHARTS, validate_chart
from gpufleet.contract.foreign.dra_gates import gates_in_force
from gpufleet.contract.foreign.dra_rules import RULES as DRA
from gpufleet.contract.foreign.known_keys import known_keys, report_unknown
from gpufleet.contract.foreign.text_notes import text_rules
from gpufleet.contract.foreign.unknown_keys import key_rules
from gpufleet.contract.foreign.validation import (
    CheckReport,
    CheckRule,
    Judgement,
    Verdict,
    rule_table,
)
from gpufleet.documents.document import GoDocument

_SOURCE = "kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm/dra-driver-nvidia-gpu"
_KEYS = known_keys("""
.: nvidiaDriverRoot nvidiaCDIHookPath nvidiaCtkPath namespace altProcDevices nameOverride
  fullnameOverride namespaceOverride selectorLabelsOverride* gpuResourcesEnabledOverride
  consumableShares allowDefaultNamespace resourceApiVersion imagePullSecrets* image serviceAccount
  resources featureGates* logVerbosity webhook controller kubeletPlugin global*
image: repository pullPolicy tag
serviceAccount: create annotations* name
resources: gpus computeDomains
resources.gpus: enabled
resources.computeDomains: enabled imex
resources.computeDomains.imex: mode isolation hostSocketPath
webhook: enabled replicas servicePort containerPort priorityClassName strategy* podAnnotations*
  podSecurityContext* nodeSelector* tolerations* affinity* containers* serviceAccount* failurePolicy
  tls
webhook.tls: mode certManager secret
webhook.tls.certManager: issuerType issuerName dnsNames*
webhook.tls.secret: name caBundle
controller: replicas leaderElection metrics priorityClassName podAnnotations* podSecurityContext*
  nodeSelector* tolerations* containers* affinity* networkPolicy
controller.leaderElection: enabled leaseDuration renewDeadline retryPeriod
controller.metrics: enabled httpEndpoint metricsPath profilePath
controller.networkPolicy: enabled
kubeletPlugin: metrics priorityClassName updateStrategy* podAnnotations* podSecurityContext*
  nodeSelector* tolerations* kubeletRegistrarDirectoryPath kubeletPluginsDirectoryPath containers
  affinity* networkPolicy
kubeletPlugin.metrics: enabled gpuHttpEndpoint computeDomainHttpEndpoint metricsPath
kubeletPlugin.containers: init* computeDomains* gpus*
kubeletPlugin.networkPolicy: enabled
""")
"""Keys of the chart, 0.4.1 and 0.5; two that it refuses have a rule of their own."""
_VALUES = ("dra-gates-conflict", "dra-gate-unknown", "dra-consumable-shares-invalid",
           "dra-consumable-shares-gate")  # fmt: skip

RULES = rule_table(
    CheckRule(
        "dra-values-no-mapping",
        ("DRA-13",),
        Verdict.REJECT,
        "The document is no mapping of values.",
        "docs/check.md",
    ),
    *key_rules("dra-values", ("OUR-5",), "the chart", _SOURCE),
    *(rule for code, rule in DRA.items() if code.startswith("dra-chart-") or code in _VALUES),
    *text_rules("dra-values"),
)


def validate(read: GoDocument, context: CheckContext) -> Judgement:
    """Validate values of the chart: what it refuses, feature gates, keys it does not know."""
    report = CheckReport(RULES)
    values = validate_values(read, "dra-values", report)
    if values is None:
        return report.validation()
    report_unknown(values, _KEYS, "", "dra-values", "the chart", report)
    before = context.chart or InstalledChart()
    chart = replace(before, name=CHARTS[0], values=values)
    inner = replace(context, chart=chart, feature_gates={})
    validate_chart(inner, dict(gates_in_force(inner, report)), report)
    report.findings = [
        replace(f, path=f.path.removeprefix("context.chart.values.")) for f in report.findings
    ]
    return report.validation()
