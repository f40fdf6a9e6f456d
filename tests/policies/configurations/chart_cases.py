"""Cases of values of the charts nvidia-device-plugin and dra-driver-nvidia-gpu."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.case_rows import CaseRow

MAP = "config: {map: {a: 'version: v1', b: 'version: v1'}, default: %s}"
FINE_DRA = "gpuResourcesEnabledOverride: true\n"
NAMED = {"context": {"chart": {"namespace": "default"}}}

AFFINITY = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"

PLUGIN_VALUES: list[CaseRow] = [
    ("device-plugin-values-no-mapping", "[]", "", {}),
    ("device-plugin-values-config", "config: {map: {a: {version: v1}}}", "config: {map: {a: 'version: v1'}}", {}),
    ("device-plugin-values-config", "config: {map: {a: '{'}}", None, {}),
    ("config-key-misspelt", "migStrateg: single", None, {}),
    ("config-key-unknown", "whatever: 1", None, {}),
    ("config-wrong-type", 'failOnInitError: "true"', "failOnInitError: true", {}),
    ("config-choice-unknown", "tolerations: [{key: a, operator: Is}]", "tolerations: [{key: a, operator: Exists}]", {}),
    ("config-out-of-bounds", "securityContext: {runAsUser: 9223372036854775808}", "securityContext: {runAsUser: 1}", {}),
    ("config-value-missing", f"{AFFINITY} {{}}}}}}", f"{AFFINITY} {{nodeSelectorTerms: []}}}}}}", {}),
    ("config-value-invalid", "resources: {limits: {cpu: half}}", "resources: {limits: {cpu: 500m}}", {}),
    ("device-plugin-chart-default-namespace", "", "allowDefaultNamespace: true", NAMED),
    ("device-plugin-chart-two-configs", "config: {name: x, map: {a: 'version: v1'}}", None, {}),
    ("device-plugin-chart-no-default", "config: {map: {a: 'version: v1', b: 'version: v1'}}", MAP % "a", {}),
    ("device-plugin-chart-no-default", "config: {map: {a: 'version: v1', b: 'version: v1'}}", "config: {map: {default: 'version: v1', b: 'version: v1'}}", {}),
    ("device-plugin-chart-no-default", "config: {map: {a: 'version: v1'}, fallbackStrategies: [named]}", "config: {map: {a: 'version: v1'}, fallbackStrategies: [single]}", {}),
    ("device-plugin-chart-no-default", "config: {map: {a: 'version: v1', b: 'version: v1'}, fallbackStrategies: []}", "config: {map: {a: 'version: v1', b: 'version: v1'}, fallbackStrategies: [empty]}", {}),
    ("device-plugin-chart-namespace-value", "namespace: x", None, {}),
    ("device-plugin-chart-default-alone", "config: {default: device-plugin-config}", "config: {name: device-plugin-config}", {}),
    ("device-plugin-chart-default-absent", MAP % "c", MAP % "a", {}),
    ("device-plugin-replicas-invalid", "config: {map: {a: 'sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}'}}", None, {}),
    ("config-key-repeated", "gfd: {}\ngfd: {}", None, {}),
    ("config-second-document", "gfd: {}\n---\na: 1", None, {}),
]  # fmt: skip

DRA_VALUES: list[CaseRow] = [
    ("dra-values-no-mapping", "[]", None, {}),
    ("config-key-misspelt", FINE_DRA + "featureGate: {}", None, {}),
    ("config-key-unknown", FINE_DRA + "whatever: 1", None, {}),
    ("config-wrong-type", FINE_DRA + "controller: {replicas: two}", FINE_DRA + "controller: {replicas: 2}", {}),
    ("config-choice-unknown", FINE_DRA + "webhook: {strategy: {type: Rolling}}", FINE_DRA + "webhook: {strategy: {type: Recreate}}", {}),
    ("config-out-of-bounds", FINE_DRA + "controller: {podSecurityContext: {runAsUser: 9223372036854775808}}", None, {}),
    ("config-value-missing", FINE_DRA + f"controller: {{{AFFINITY} {{}}}}}}}}", None, {}),
    ("config-value-invalid", FINE_DRA + "kubeletPlugin: {containers: {gpus: {resources: {limits: {cpu: half}}}}}", None, {}),
    ("dra-chart-gpus-override", "", "resources: {gpus: {enabled: false}}", {}),
    ("dra-plugin-too", FINE_DRA, "resources: {gpus: {enabled: false}}", {"context": {"chart": {"name": "gpu-operator", "values": {}}}}),
    ("dra-chart-default-namespace", FINE_DRA, FINE_DRA + "allowDefaultNamespace: true", NAMED),
    ("dra-chart-value-removed", FINE_DRA + "nvidiaCtkPath: /usr/bin/nvidia-ctk", None, {}),
    ("dra-chart-webhook-tls", FINE_DRA + "webhook: {enabled: true, tls: {mode: none}}", FINE_DRA + "webhook: {enabled: true}", {}),
    ("dra-chart-kubernetes", FINE_DRA, None, {"context": {"chart": {"kubernetesVersion": "1.31"}}}),
    ("dra-gates-conflict", FINE_DRA + "featureGates: {DynamicMIG: true, MPSSupport: true}", FINE_DRA + "featureGates: {DynamicMIG: true}", {}),
    ("dra-gate-unknown", FINE_DRA + "featureGates: {DynamicMig: true}", None, {}),
    ("dra-consumable-shares-invalid", FINE_DRA + "consumableShares: some", None, {"context": {"version": "0.5.0"}}),
    ("dra-consumable-shares-gate", FINE_DRA + "consumableShares: memory", FINE_DRA + "consumableShares: memory\nfeatureGates: {ConsumableShares: true}", {"context": {"version": "0.5.0"}}),
    ("config-key-repeated", FINE_DRA + "image: {}\nimage: {}", None, {}),
    ("config-second-document", FINE_DRA + "---\na: 1", None, {}),
]  # fmt: skip
