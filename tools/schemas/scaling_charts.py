"""The charts of DCGM's exporter, Karpenter, Kueue and KEDA.

Their templates test whether a boolean is set, which is true for `"false"`, and write numbers as
written. Values that they only write were read from the templates of Karpenter and Kueue; for the
exporter and KEDA those of the workloads and of the exporter's ServiceMonitor were read, and a
boolean elsewhere counts as a condition.
"""

from charts import Chart
from pruning import OPEN, Schema
from sources import SOURCES, Source

_TEXT: Schema = {"type": "string"}
_BOOLEAN: Schema = {"type": "boolean"}
_LIST: Schema = {"type": "array"}
_PULL: Schema = {"type": "string", "enum": ["Always", "IfNotPresent", "Never"]}
_DNS: Schema = {
    "type": "string",
    "enum": ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
}
_SERVICE: Schema = {
    "type": "string",
    "enum": ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
}
_RESOURCES: Schema = {"$ref": "#/$defs/core.v1.ResourceRequirements"}
_LEVEL: Schema = {"type": ["integer", "string"], "pattern": "^(debug|info|error|[1-9][0-9]*)$"}
_LOGGING: Schema = {
    "level": _LEVEL,
    "format": {"type": "string", "enum": ["console", "json"]},
    "timeEncoding": {
        "type": "string",
        "enum": ["epoch", "millis", "nano", "iso8601", "rfc3339", "rfc3339nano"],
    },
}
_KARPENTER_GATES = (
    *("capacityBuffer", "nodeOverlay", "nodeRepair", "podDeletionCostManagement"),
    *("reservedCapacity", "spotToSpotConsolidation", "staticCapacity", "terminateFirstDrift"),
    "terminateFirstRepair",
)
_KEDA_PARTS = ("operator", "metricServer", "webhooks")

SCALING_CHARTS = {
    "dcgm-exporter": Chart(
        Source(
            "NVIDIA/dcgm-exporter",
            "4.8.2",
            "deployment",
            (),
            commit="691c92762eb551313c825f6efe4ceeee20982801",
        ),
        "dcgm-exporter-4.8.2.values.yaml",
        (),
        {
            "global": OPEN,
            "customMetrics": _TEXT,
            "image": {"pullPolicy": _PULL},
            "service": {
                "type": _SERVICE,
                "internalTrafficPolicy": {"type": "string", "enum": ["Cluster", "Local"]},
            },
            # The types of Go's `crypto/tls.ClientAuthType`, which the values file refers to.
            "tlsServerConfig": {
                "clientAuthType": {
                    "type": "string",
                    "enum": [
                        "NoClientCert",
                        "RequestClientCert",
                        "RequireAnyClientCert",
                        "VerifyClientCertIfGiven",
                        "RequireAndVerifyClientCert",
                    ],
                }
            },
        },
        typed=True,
        conditions=True,
        written=("serviceMonitor.honorLabels",),
        asked=("tlsServerConfig.enabled",),
    ),
    "karpenter": Chart(
        Source("aws/karpenter-provider-aws", "v1.15.1", "charts/karpenter", ()),
        "values.yaml",
        (),
        {
            "global": OPEN,
            "imagePullPolicy": _PULL,
            "dnsPolicy": _DNS,
            # Empty profiles, which are the default, are left out.
            "controller": {"securityContext": OPEN},
            # Written by a template that takes any shape; the default is a mapping.
            "initContainers": {"type": ["array", "object"]},
            # sigs.k8s.io/karpenter pkg/operator/options/options.go validLogLevels.
            "logLevel": {"type": "string", "enum": ["debug", "info", "error"]},
            "settings": {
                "preferencePolicy": {"type": "string", "enum": ["Ignore", "Respect"]},
                "minValuesPolicy": {"type": "string", "enum": ["BestEffort", "Strict"]},
            },
        },
        typed=True,
        module="github.com/aws/karpenter-provider-aws@v1.15.1/charts/karpenter",
        conditions=True,
        written=(
            "settings.isolatedVPC",
            "settings.eksControlPlane",
            "settings.enableZonalShift",
            "settings.disableClusterStateObservability",
            "settings.disableDryRun",
            "settings.legacyNodeRepair",
            "settings.awsFeatureGates.nodeClassCEL",
            "settings.awsFeatureGates.rebootForRepair",
            *(f"settings.featureGates.{name}" for name in _KARPENTER_GATES),
        ),
    ),
    "kueue": Chart(
        Source(
            "kubernetes-sigs/kueue",
            "v0.19.2",
            "charts/kueue",
            (),
            commit=SOURCES["kueue.x-k8s.io"].commit,
        ),
        "kueue-0.19.2.values.yaml",
        (),
        {
            "global": OPEN,
            # Templates read it, the values file does not name it.
            "serviceAccount": {"create": _BOOLEAN, "name": _TEXT},
            "controllerManager": {
                "dnsPolicy": _DNS,
                "featureGates": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"name": _TEXT, "enabled": _BOOLEAN},
                    },
                },
                "manager": {
                    "image": {"pullPolicy": _PULL},
                    "containerSecurityContext": {"$ref": "#/$defs/core.v1.SecurityContext"},
                },
            },
            "metricsService": {"type": _SERVICE},
            "webhookService": {"type": _SERVICE},
            "mutatingWebhook": {
                "reinvocationPolicy": {"type": "string", "enum": ["IfNeeded", "Never"]}
            },
            "kueueViz": {
                part: {
                    "image": {"pullPolicy": _PULL},
                    "ingress": {"tlsEnabled": _BOOLEAN},
                    "containerSecurityContext": {"$ref": "#/$defs/core.v1.SecurityContext"},
                }
                for part in ("backend", "frontend")
            },
            "metrics": {"serviceMonitor": {"tlsConfig": OPEN}},
        },
        typed=True,
        conditions=True,
        written=("controllerManager.hostNetwork",),
        asked=("kueueViz.backend.ingress.tlsEnabled", "kueueViz.frontend.ingress.tlsEnabled"),
    ),
    "keda": Chart(
        Source("kedacore/charts", "v2.20.2", "keda", ()),
        "keda-2.20.2.values.yaml",
        (),
        {
            "image": {"pullPolicy": _PULL},
            "networkPolicy": {"flavor": {"type": "string", "enum": ["cilium", "kubernetes"]}},
            "operator": {"dnsPolicy": _DNS},
            "metricsServer": {"dnsPolicy": _DNS},
            "webhooks": {"failurePolicy": {"type": "string", "enum": ["Fail", "Ignore"]}},
            "logging": {
                "operator": _LOGGING,
                "webhooks": _LOGGING,
                "metricServer": {
                    "level": {"type": ["integer", "string"], "pattern": "^[0-9]+$"},
                    "stderrthreshold": {
                        "type": "string",
                        "enum": ["DEBUG", "INFO", "WARN", "ERROR", "ALERT", "EMERG"],
                    },
                    "zapLevel": _LEVEL,
                    "zapEncoder": _LOGGING["format"],
                    "zapTimeEncoding": _LOGGING["timeEncoding"],
                },
            },
            # Each part's own, else those for all parts.
            "resources": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(_KEDA_PARTS, _RESOURCES),
                    "limits": OPEN,
                    "requests": OPEN,
                    "claims": _LIST,
                },
            },
            "securityContext": OPEN,
            "podSecurityContext": OPEN,
            "extraArgs": {"webhooks": OPEN},
            "service": {"type": _SERVICE},
            "prometheus": {"metricServer": {"path": _TEXT}},
        },
        typed=True,
        conditions=True,
        written=(
            *(f"{part}.disableCompression" for part in ("operator", "metricsServer")),
            *(f"{part}.useHostNetwork" for part in ("operator", "metricsServer", "webhooks")),
            *(f"serviceAccount.{part}.automountServiceAccountToken" for part in _KEDA_PARTS),
            "logging.operator.stackTracesEnabled",
            "enableServiceLinks",
            "asciiArt",
        ),
    ),
}
