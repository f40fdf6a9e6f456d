"""What the Network Operator's chart, definitions and webhook do, rule by rule."""

from gpufleet.contract.programs import rdma_shared_config, sriov_config
from gpufleet.contract.programs.text_notes import text_rules
from gpufleet.contract.programs.unknown_keys import key_rules
from gpufleet.contract.programs.validation import reject, rule_table, warn

_WEBHOOK = "Mellanox/network-operator api/v1alpha1/validator/nicpolicy_webhook.go"
_HOST = "Mellanox/network-operator api/v1alpha1/validator/hostdevicenetwork_webhook.go"
_CRD = "Mellanox/network-operator deployment/network-operator/crds"
_CHART = "Mellanox/network-operator deployment/network-operator"

RULES = rule_table(
    reject(
        "network-operator-no-mapping",
        ("no-values",),
        "The document is no mapping: neither values nor a custom resource of the operator.",
        "docs/check.md",
    ),
    *key_rules("network-operator", ("OUR-5",), "the reader", _CHART),
    reject(
        "network-operator-section-moved",
        ("OUR-5", "8.1"),
        "The values have sections of NicClusterPolicy, which the chart does not read since v24.10: "
        "nothing of them is deployed. A warning where the version of the chart is not known.",
        f"{_CHART}/values.yaml",
    ),
    warn(
        "network-operator-bare-spec",
        ("8.2",),
        "The document is the bare spec of a NicClusterPolicy: as chart values it has no effect.",
        f"{_CHART}/values.yaml",
    ),
    reject(
        "network-operator-nfd-twice",
        ("OUR-16",),
        "Node Feature Discovery is enabled in this chart and in the GPU Operator's.",
        "NVIDIA/cloud-native-docs gpu-operator/gpu-operator-rdma.rst",
    ),
    reject(
        "network-operator-kubernetes",
        ("1",),
        "The cluster is older than the chart's kubeVersion: 1.21, from 26.7 on 1.32.",
        f"{_CHART}/Chart.yaml",
    ),
    warn(
        "network-operator-switch-as-text",
        ("no-values",),
        'A switch is written as text ("false"): templates take any text for true.',
        _CHART,
    ),
    reject(
        "nic-policy-name",
        ("8.2",),
        "A NicClusterPolicy is not called nic-cluster-policy: it is never reconciled.",
        "Mellanox/network-operator controllers/nicclusterpolicy_controller.go",
    ),
    reject(
        "nic-policy-image-missing",
        ("8.2",),
        "A section has no image: the definition refuses it.",
        _CRD,
    ),
    reject(
        "nic-policy-wrong-type",
        ("NO-14",),
        "A value has a type its definition refuses.",
        _CRD,
    ),
    reject(
        "nic-policy-ofed-version",
        ("NO-6", "OUR-14"),
        'ofedDriver.version has none of the supported forms: "invalid OFED version".',
        _WEBHOOK,
    ),
    reject(
        "nic-policy-safe-load",
        ("NO-7", "OUR-14"),
        "upgradePolicy.safeLoad without autoUpgrade.",
        _WEBHOOK,
    ),
    reject(
        "nic-policy-guid",
        ("NO-8", "OUR-14"),
        "A GUID of ibKubernetes is malformed, or the end is not above the start.",
        _WEBHOOK,
    ),
    reject(
        "nic-policy-resources",
        ("NO-9", "OUR-14"),
        "containerResources has something else than cpu and memory, a zero, no quantity, a request "
        "above its limit, or no container name.",
        _WEBHOOK,
    ),
    reject(
        "nic-policy-repository",
        ("NO-10", "OUR-14"),
        "The repository of a section, its own or the global one, is no image repository.",
        _WEBHOOK,
    ),
    warn(
        "nic-policy-prefix",
        ("NO-4", "OUR-14"),
        "resourcePrefix of a device plugin's config is a single label: the plugins take it, the "
        "webhook, which is off by default (operator.admissionController.enabled), wants a domain.",
        _WEBHOOK,
    ),
    reject(
        "nic-policy-telemetry-config",
        ("NO-11", "OUR-14"),
        "docaTelemetryService.config.fromConfigMap is no DNS-1123 subdomain.",
        _WEBHOOK,
    ),
    reject(
        "nic-node-policy-name",
        ("NO-12", "OUR-14"),
        "The name of a NicNodePolicy has more than 30 characters (the message speaks of 50).",
        _WEBHOOK,
    ),
    reject(
        "nic-node-policy-section-twice",
        ("NO-12", "OUR-14"),
        "A section is in the NicClusterPolicy and in a NicNodePolicy.",
        _WEBHOOK,
    ),
    reject(
        "nic-node-policy-overlap",
        ("NO-12", "OUR-14"),
        "Two NicNodePolicies select one node.",
        _WEBHOOK,
    ),
    reject(
        "host-device-network-name",
        ("NO-13", "OUR-14"),
        "resourceName of a HostDeviceNetwork is not valid.",
        _HOST,
    ),
    warn(
        "host-device-network-prefix",
        ("NO-13",),
        "resourceName of a HostDeviceNetwork begins with nvidia.com/: the operator takes it, its "
        "webhook (off by default) refuses it.",
        _HOST,
    ),
    reject(
        "network-ipam-not-json",
        ("8.2",),
        "ipam of a MacvlanNetwork or IPoIBNetwork is no JSON object: it is copied into the "
        "NetworkAttachmentDefinition, which no CNI plugin can read then.",
        "Mellanox/network-operator pkg/state/state_macvlan_network.go",
    ),
    reject(
        "nic-policy-choice-unknown",
        ("NO-14",),
        "A value, such as mode of a MacvlanNetwork, is none of those the definition allows.",
        _CRD,
    ),
    reject(
        "nic-policy-number-negative",
        ("NO-14",),
        "A number is outside the bounds of its definition, such as a negative mtu or timeout.",
        _CRD,
    ),
    reject(
        "nic-policy-field-missing",
        ("NO-14",),
        "A field that the definition requires is missing.",
        _CRD,
    ),
    reject(
        "nic-policy-value-invalid",
        ("NO-14",),
        "A value does not match the pattern of its definition, or an entry of a list is there "
        "twice.",
        _CRD,
    ),
    reject(
        "nic-policy-storage-size",
        ("NO-14",),
        "availableStorageSize is no whole number with Ki, Mi, Gi, Ti, Pi or Ei.",
        _CRD,
    ),
    *text_rules("network-operator"),
    *(rule for table in (rdma_shared_config.RULES, sriov_config.RULES) for rule in table.values()),
)
