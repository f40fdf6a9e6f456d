"""Cases of values of the charts of DCGM's exporter, Karpenter, Kueue and KEDA: one set of rules."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.case_rows import CaseRow

NO_TERMS = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}"

DCGM_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-quoted-boolean", 'serviceMonitor: {enabled: "true"}', "serviceMonitor: {enabled: true, honorLabels: 'true'}", {}),
    ("chart-values-wrong-type", 'service: {enable: "false"}', "service: {enable: false, port: '9400'}", {}),
    ("chart-values-wrong-type", 'tlsServerConfig: {enabled: "true"}', "tlsServerConfig: {enabled: true}", {}),
    ("chart-values-wrong-type", 'securityContext: {privileged: "true"}', "securityContext: {privileged: true}", {}),
    ("chart-values-key-misspelt", "serviceMonitr: {enabled: true}", None, {}),
    ("chart-values-key-unknown", "whatever: 1", "customMetrics: ''", {}),
    ("chart-values-choice-unknown", "service: {internalTrafficPolicy: Node}", "service: {internalTrafficPolicy: Local}", {}),
    ("chart-values-out-of-bounds", "service: {port: 94000}", "service: {port: 9401}", {}),
    ("chart-values-field-missing", NO_TERMS, "affinity: {}", {}),
    ("chart-values-value-invalid", "resources: {limits: {cpu: half}}", "resources: {limits: {cpu: 500m}}", {}),
    ("chart-values-value-invalid", "rollingUpdate: {maxUnavailable: one}", "rollingUpdate: {maxUnavailable: 10%}", {}),
    ("chart-values-key-repeated", "service: {}\nservice: {}", None, {}),
    ("chart-values-second-document", "service: {}\n---\na: 1", None, {}),
]  # fmt: skip

KARPENTER_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-quoted-boolean", 'hostNetwork: "true"', "settings: {isolatedVPC: 'true'}", {}),
    ("chart-values-wrong-type", 'serviceMonitor: {enabled: "no"}', "serviceMonitor: {enabled: false}", {}),
    ("chart-values-key-misspelt", "settings: {featureGates: {spotToSpotConsolidations: true}}", "settings: {featureGates: {spotToSpotConsolidation: true}}", {}),
    ("chart-values-key-misspelt", "controller: {resources: {request: {cpu: 1}}}", "controller: {resources: {requests: {cpu: 1}}}", {}),
    ("chart-values-key-unknown", "whatever: 1", None, {}),
    ("chart-values-choice-unknown", "settings: {preferencePolicy: respect}", "settings: {preferencePolicy: Respect}", {}),
    ("chart-values-choice-unknown", "logLevel: warn", "logLevel: error", {}),
    ("chart-values-out-of-bounds", "controller: {metrics: {port: 70000}}", None, {}),
    ("chart-values-field-missing", NO_TERMS, "affinity: {}", {}),
    ("chart-values-value-invalid", "settings: {featureGates: {nodeRepair: 'yes'}}", "settings: {featureGates: {nodeRepair: 'true'}}", {}),
    ("chart-values-value-invalid", "replicas: two", "replicas: '2'", {}),
    ("chart-values-key-repeated", "replicas: 1\nreplicas: 2", None, {}),
    ("chart-values-second-document", "replicas: 1\n---\na: 1", None, {}),
]  # fmt: skip

KUEUE_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-gate-unknown", "controllerManager: {featureGates: [{name: ConcurrentAdmission, enabled: true}]}", "controllerManager: {featureGates: [{name: TLSOptions, enabled: true}]}", {"context": {"version": "0.17.0"}}),
    ("chart-values-gate-unknown", "managerConfig: {controllerManagerConfigYaml: 'featureGates: {TasProfileMixed: true}'}", "managerConfig: {controllerManagerConfigYaml: 'featureGates: {TASProfileMixed: true}'}", {}),
    ("chart-values-quoted-boolean", 'enablePrometheus: "true"', "enablePrometheus: true", {}),
    ("chart-values-wrong-type", 'enableCertManager: "false"', "controllerManager: {hostNetwork: 'false'}", {}),
    ("chart-values-wrong-type", 'controllerManager: {featureGates: [{name: TopologyAwareScheduling, enabled: "true"}]}', "controllerManager: {featureGates: [{name: TopologyAwareScheduling, enabled: true}]}", {}),
    ("chart-values-key-misspelt", "enableKueueVizz: true", "serviceAccount: {create: false}", {}),
    ("chart-values-key-unknown", "controllerManager: {manager: {integrations: [pod]}}", "managerConfig: {controllerManagerConfigYaml: 'apiVersion: config.kueue.x-k8s.io/v1beta2'}", {}),
    ("chart-values-choice-unknown", "mutatingWebhook: {reinvocationPolicy: Always}", "mutatingWebhook: {reinvocationPolicy: IfNeeded}", {}),
    ("chart-values-out-of-bounds", "controllerManager: {replicas: -1}", None, {}),
    ("chart-values-field-missing", "controllerManager: {tolerations: [], strategy: {}, manager: {podSecurityContext: {seccompProfile: {}}}}", "controllerManager: {tolerations: [{operator: Exists}]}", {}),
    ("chart-values-value-invalid", "controllerManager: {manager: {resources: {limits: {cpu: half}}}}", None, {}),
    ("chart-values-key-repeated", "metrics: {}\nmetrics: {}", None, {}),
    ("chart-values-second-document", "metrics: {}\n---\na: 1", None, {}),
]  # fmt: skip

KEDA_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-quoted-boolean", 'webhooks: {enabled: "true"}', "operator: {disableCompression: 'true'}", {}),
    ("chart-values-wrong-type", 'crds: {install: "false"}', "crds: {install: false}", {}),
    ("chart-values-key-misspelt", "metricServer: {replicaCount: 2}", "metricsServer: {replicaCount: 2}", {}),
    ("chart-values-key-unknown", "image: {repository: kedacore/keda}", "image: {keda: {repository: kedacore/keda}}", {}),
    ("chart-values-choice-unknown", "webhooks: {failurePolicy: ignore}", "webhooks: {failurePolicy: Fail}", {}),
    ("chart-values-out-of-bounds", "service: {portHttps: 70000}", "service: {portHttps: 8443}", {}),
    ("chart-values-field-missing", NO_TERMS, "affinity: {}", {}),
    ("chart-values-value-invalid", "logging: {operator: {level: trace}}", "logging: {operator: {level: '2'}}", {}),
    ("chart-values-value-invalid", "resources: {operator: {limits: {cpu: half}}}", "resources: {limits: {cpu: 1}}", {}),
    ("chart-values-key-repeated", "env: []\nenv: []", None, {}),
    ("chart-values-second-document", "env: []\n---\na: 1", None, {}),
]  # fmt: skip
