"""Cases of values of the charts of DCGM's exporter, Karpenter, Kueue and KEDA: one set of rules."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.case_rows import CaseRow

NO_TERMS = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}"

DCGM_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-quoted-boolean", 'serviceMonitor: {enabled: "true"}', "serviceMonitor: {enabled: true, honorLabels: 'true'}", {}),
    ("config-wrong-type", 'service: {enable: "false"}', "service: {enable: false, port: '9400'}", {}),
    ("config-wrong-type", 'tlsServerConfig: {enabled: "true"}', "tlsServerConfig: {enabled: true}", {}),
    ("config-wrong-type", 'securityContext: {privileged: "true"}', "securityContext: {privileged: true}", {}),
    ("config-key-misspelt", "serviceMonitr: {enabled: true}", None, {}),
    ("config-key-unknown", "whatever: 1", "customMetrics: ''", {}),
    ("config-choice-unknown", "service: {internalTrafficPolicy: Node}", "service: {internalTrafficPolicy: Local}", {}),
    ("config-out-of-bounds", "service: {port: 94000}", "service: {port: 9401}", {}),
    ("config-value-missing", NO_TERMS, "affinity: {}", {}),
    ("config-value-invalid", "resources: {limits: {cpu: half}}", "resources: {limits: {cpu: 500m}}", {}),
    ("config-value-invalid", "rollingUpdate: {maxUnavailable: one}", "rollingUpdate: {maxUnavailable: 10%}", {}),
    ("config-key-repeated", "service: {}\nservice: {}", None, {}),
    ("config-second-document", "service: {}\n---\na: 1", None, {}),
]  # fmt: skip

KARPENTER_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-quoted-boolean", 'hostNetwork: "true"', "settings: {isolatedVPC: 'true'}", {}),
    ("config-wrong-type", 'serviceMonitor: {enabled: "no"}', "serviceMonitor: {enabled: false}", {}),
    ("config-key-misspelt", "settings: {featureGates: {spotToSpotConsolidations: true}}", "settings: {featureGates: {spotToSpotConsolidation: true}}", {}),
    ("config-key-misspelt", "controller: {resources: {request: {cpu: 1}}}", "controller: {resources: {requests: {cpu: 1}}}", {}),
    ("config-key-unknown", "whatever: 1", None, {}),
    ("config-choice-unknown", "settings: {preferencePolicy: respect}", "settings: {preferencePolicy: Respect}", {}),
    ("config-choice-unknown", "logLevel: warn", "logLevel: error", {}),
    ("config-out-of-bounds", "controller: {metrics: {port: 70000}}", None, {}),
    ("config-value-missing", NO_TERMS, "affinity: {}", {}),
    ("config-value-invalid", "settings: {featureGates: {nodeRepair: 'yes'}}", "settings: {featureGates: {nodeRepair: 'true'}}", {}),
    ("config-value-invalid", "replicas: two", "replicas: '2'", {}),
    ("config-key-repeated", "replicas: 1\nreplicas: 2", None, {}),
    ("config-second-document", "replicas: 1\n---\na: 1", None, {}),
]  # fmt: skip

KUEUE_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-gate-unknown", "controllerManager: {featureGates: [{name: ConcurrentAdmission, enabled: true}]}", "controllerManager: {featureGates: [{name: TLSOptions, enabled: true}]}", {"context": {"version": "0.17.0"}}),
    ("chart-values-gate-unknown", "managerConfig: {controllerManagerConfigYaml: 'featureGates: {TasProfileMixed: true}'}", "managerConfig: {controllerManagerConfigYaml: 'featureGates: {TASProfileMixed: true}'}", {}),
    ("chart-values-quoted-boolean", 'enablePrometheus: "true"', "enablePrometheus: true", {}),
    ("config-wrong-type", 'enableCertManager: "false"', "controllerManager: {hostNetwork: 'false'}", {}),
    ("config-wrong-type", 'controllerManager: {featureGates: [{name: TopologyAwareScheduling, enabled: "true"}]}', "controllerManager: {featureGates: [{name: TopologyAwareScheduling, enabled: true}]}", {}),
    ("config-key-misspelt", "enableKueueVizz: true", "serviceAccount: {create: false}", {}),
    ("config-key-unknown", "controllerManager: {manager: {integrations: [pod]}}", "managerConfig: {controllerManagerConfigYaml: 'apiVersion: config.kueue.x-k8s.io/v1beta2'}", {}),
    ("config-choice-unknown", "mutatingWebhook: {reinvocationPolicy: Always}", "mutatingWebhook: {reinvocationPolicy: IfNeeded}", {}),
    ("config-out-of-bounds", "controllerManager: {replicas: -1}", None, {}),
    ("config-value-missing", "controllerManager: {tolerations: [], strategy: {}, manager: {podSecurityContext: {seccompProfile: {}}}}", "controllerManager: {tolerations: [{operator: Exists}]}", {}),
    ("config-value-invalid", "controllerManager: {manager: {resources: {limits: {cpu: half}}}}", None, {}),
    ("config-key-repeated", "metrics: {}\nmetrics: {}", None, {}),
    ("config-second-document", "metrics: {}\n---\na: 1", None, {}),
]  # fmt: skip

KEDA_VALUES: list[CaseRow] = [
    ("chart-values-no-mapping", "[]", None, {}),
    ("chart-values-quoted-boolean", 'webhooks: {enabled: "true"}', "operator: {disableCompression: 'true'}", {}),
    ("config-wrong-type", 'crds: {install: "false"}', "crds: {install: false}", {}),
    ("config-key-misspelt", "metricServer: {replicaCount: 2}", "metricsServer: {replicaCount: 2}", {}),
    ("config-key-unknown", "image: {repository: kedacore/keda}", "image: {keda: {repository: kedacore/keda}}", {}),
    ("config-choice-unknown", "webhooks: {failurePolicy: ignore}", "webhooks: {failurePolicy: Fail}", {}),
    ("config-out-of-bounds", "service: {portHttps: 70000}", "service: {portHttps: 8443}", {}),
    ("config-value-missing", NO_TERMS, "affinity: {}", {}),
    ("config-value-invalid", "logging: {operator: {level: trace}}", "logging: {operator: {level: '2'}}", {}),
    ("config-value-invalid", "resources: {operator: {limits: {cpu: half}}}", "resources: {limits: {cpu: 1}}", {}),
    ("config-key-repeated", "env: []\nenv: []", None, {}),
    ("config-second-document", "env: []\n---\na: 1", None, {}),
]  # fmt: skip
