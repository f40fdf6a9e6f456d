"""What NVIDIA's DRA driver does with its opaque configs, gates and chart, rule by rule."""

from gpufleet.contract.foreign.dra_envelope_rules import RULES as ENVELOPE
from gpufleet.contract.foreign.validation import CheckRule, Verdict, rule_table

_API = "kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1"
_STATE = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go"
_GATES = "kubernetes-sigs/dra-driver-nvidia-gpu pkg/featuregates/featuregates.go"
_CHART = "kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm templates/validation.yaml"
_WEBHOOK = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/webhook/main.go"
_CRD = "resource.nvidia.com_computedomains.yaml"

_REJECT, _WARN, _ACCEPT = Verdict.REJECT, Verdict.WARN, Verdict.ACCEPT

RULES = rule_table(
    CheckRule(
        "dra-no-config",
        ("DRA-8",),
        _REJECT,
        "The document is no config of this driver: neither an opaque config nor an object that "
        "holds one.",
        f"{_API}/api.go",
    ),
    CheckRule(
        "dra-gate-missing",
        ("DRA-1", "OUR-10"),
        _REJECT,
        "The gates or the chart's values are given, and the feature gate the strategy needs is "
        "off: TimeSlicing needs TimeSlicingSettings, MPS needs MPSSupport.",
        f"{_API}/validate.go",
    ),
    CheckRule(
        "dra-gate-needed",
        ("DRA-1", "OUR-10"),
        _WARN,
        "The strategy needs a feature gate that is off by default, and nothing says how the driver "
        "is installed: the claim fails where the gate is off.",
        f"{_API}/validate.go",
    ),
    CheckRule(
        "dra-strategy-unknown",
        ("DRA-2",),
        _REJECT,
        'The strategy is neither TimeSlicing nor MPS: "unknown GPU sharing strategy".',
        f"{_API}/validate.go",
    ),
    CheckRule(
        "dra-interval-unknown",
        ("DRA-2",),
        _REJECT,
        "The interval is none of Default, Short, Medium, Long; case counts.",
        f"{_API}/validate.go",
    ),
    CheckRule(
        "dra-interval-missing",
        ("DRA-3", "OUR-11"),
        _REJECT,
        "`timeSlicingConfig` without `interval`: the driver panics on a nil pointer.",
        f"{_API}/validate.go",
    ),
    CheckRule(
        "dra-threads-invalid",
        ("DRA-4",),
        _REJECT,
        "defaultActiveThreadPercentage is below 0 or above 100. 0 passes.",
        f"{_API}/validate.go",
    ),
    CheckRule(
        "dra-memory-too-low",
        ("DRA-5",),
        _REJECT,
        'A pinned memory limit is below 1 MiB: "value set too low", when the claim is prepared.',
        f"{_API}/sharing.go",
    ),
    CheckRule(
        "dra-memory-invalid",
        ("DRA-5",),
        _REJECT,
        "A pinned memory limit is no quantity.",
        "kubernetes/apimachinery pkg/api/resource/quantity.go",
    ),
    CheckRule(
        "dra-memory-rounded",
        ("DRA-5",),
        _ACCEPT,
        "A pinned memory limit is no whole number of MiB and is rounded down.",
        f"{_API}/sharing.go",
    ),
    CheckRule(
        "dra-device-unknown",
        ("DRA-5",),
        _REJECT,
        "A key of defaultPerDevicePinnedMemoryLimit is neither an index of the claim's devices nor "
        'a UUID: "invalid device", when the claim is prepared.',
        f"{_API}/sharing.go",
    ),
    CheckRule(
        "dra-other-strategy-config",
        ("DRA-6", "OUR-11"),
        _REJECT,
        "The config block of the other strategy is given: admission accepts it, preparation fails "
        '("cannot use ...").',
        f"{_API}/sharing.go",
    ),
    CheckRule(
        "dra-mig-mps-config-ignored",
        ("DRA-6",),
        _WARN,
        "A MigDeviceConfig has mpsConfig next to the strategy TimeSlicing: it is ignored.",
        f"{_API}/sharing.go",
    ),
    CheckRule(
        "dra-field-unknown",
        ("DRA-7", "OUR-5"),
        _REJECT,
        'A field is not known to this version: "unknown field" in strict decoding. Case counts.',
        f"{_API}/api.go",
    ),
    CheckRule(
        "dra-wrong-type",
        ("DRA-7",),
        _REJECT,
        "A value has a type that its field does not take.",
        f"{_API}/api.go",
    ),
    CheckRule(
        "dra-kind-unknown",
        ("DRA-8",),
        _REJECT,
        'apiVersion and kind are not registered: "no kind ... is registered". Older examples say '
        "gpu.nvidia.com/v1alpha1.",
        f"{_API}/api.go",
    ),
    CheckRule(
        "dra-driver-mismatch",
        ("DRA-8", "7.1"),
        _REJECT,
        "The opaque config names another driver than the one that reads this kind.",
        _STATE,
    ),
    CheckRule(
        "dra-domain-missing",
        ("DRA-9",),
        _REJECT,
        'domainID is empty: "domainID cannot be empty".',
        f"{_API}/computedomainconfig.go",
    ),
    CheckRule(
        "dra-allocation-mode-ignored",
        ("DRA-9",),
        _WARN,
        "allocationMode of a ComputeDomainChannelConfig is neither All nor Single: it is not "
        "checked, and works like Single.",
        "kubernetes-sigs/dra-driver-nvidia-gpu cmd/compute-domain-kubelet-plugin/device_state.go",
    ),
    CheckRule(
        "dra-iommu-policy-unknown",
        ("DRA-10",),
        _REJECT,
        "iommu.backendPolicy is neither LegacyOnly nor PreferIommuFD.",
        f"{_API}/iommu.go",
    ),
    CheckRule(
        "dra-vfio-webhook",
        ("DRA-10",),
        _REJECT,
        'The admission webhook is on, and does not know VfioDeviceConfig: "expected a recognized '
        'configuration type".',
        _WEBHOOK,
    ),
    CheckRule(
        "dra-vfio-gate",
        ("DRA-10", "OUR-10"),
        _WARN,
        "A VfioDeviceConfig without the gate PassthroughSupport: the driver publishes no device it "
        "could apply to.",
        _STATE,
    ),
    CheckRule(
        "dra-gates-conflict",
        ("DRA-11", "DRA-14", "OUR-10"),
        _REJECT,
        "Feature gates exclude or need each other: DynamicMIG excludes PassthroughSupport, "
        "NVMLDeviceHealthCheck and MPSSupport; PassthroughSupport excludes NVMLDeviceHealthCheck; "
        "DeviceMetadata needs PassthroughSupport; ComputeDomainCliques needs "
        "IMEXDaemonsWithDNSNames. The chart renders, the pods crash.",
        _GATES,
    ),
    CheckRule(
        "dra-gate-unknown",
        ("DRA-11",),
        _REJECT,
        "A feature gate is not known to this version.",
        _GATES,
    ),
    CheckRule(
        "dra-consumable-shares-invalid",
        ("DRA-12",),
        _REJECT,
        "consumableShares is none of disabled, memory, unlimited or a positive whole number.",
        "kubernetes-sigs/dra-driver-nvidia-gpu main (0.5.0-dev) values.yaml",
    ),
    CheckRule(
        "dra-consumable-shares-gate",
        ("DRA-12",),
        _REJECT,
        "consumableShares is set and the gate ConsumableShares is off.",
        "kubernetes-sigs/dra-driver-nvidia-gpu main (0.5.0-dev)",
    ),
    CheckRule(
        "dra-consumable-shares-mps",
        ("DRA-12",),
        _REJECT,
        "A claim asks for MPS while consumable shares are on: its preparation fails.",
        "kubernetes-sigs/dra-driver-nvidia-gpu main (0.5.0-dev)",
    ),
    CheckRule(
        "dra-chart-gpus-override",
        ("DRA-13",),
        _REJECT,
        "The chart has resources.gpus.enabled (its default) without gpuResourcesEnabledOverride.",
        _CHART,
    ),
    CheckRule(
        "dra-chart-default-namespace",
        ("DRA-13",),
        _REJECT,
        "The chart is installed into the default namespace without allowDefaultNamespace.",
        _CHART,
    ),
    CheckRule(
        "dra-chart-value-removed",
        ("DRA-13",),
        _REJECT,
        "The chart fails with a value that was removed: `nvidiaCtkPath`, `namespace`.",
        _CHART,
    ),
    CheckRule(
        "dra-chart-webhook-tls",
        ("DRA-13",),
        _REJECT,
        "The webhook's tls.mode is neither cert-manager nor secret, or what the mode needs is "
        "missing: a known issuerType, an issuerName for clusterissuer and issuer, a Secret's name.",
        _CHART,
    ),
    CheckRule(
        "dra-chart-kubernetes",
        ("DRA-13",),
        _REJECT,
        "The chart needs Kubernetes 1.32.",
        "kubernetes-sigs/dra-driver-nvidia-gpu Chart.yaml",
    ),
    CheckRule(
        "dra-domain-nodes",
        ("DRA-15",),
        _REJECT,
        "numNodes of a ComputeDomain is below 0 or no whole number.",
        _CRD,
    ),
    CheckRule(
        "dra-domain-nodes-required",
        ("DRA-15", "7.1"),
        _REJECT,
        "numNodes is absent, which the definition bundled with the GPU Operator requires.",
        "resource.nvidia.com_computedomains.gpu-operator-v26.7.0.yaml",
    ),
    CheckRule(
        "dra-domain-mode",
        ("DRA-15",),
        _REJECT,
        "channel.allocationMode of a ComputeDomain is neither All nor Single.",
        _CRD,
    ),
    CheckRule(
        "dra-domain-channel",
        ("DRA-15",),
        _REJECT,
        "A ComputeDomain has no channel.",
        _CRD,
    ),
    CheckRule(
        "dra-domain-immutable",
        ("DRA-15", "7.1"),
        _REJECT,
        "The spec of a ComputeDomain changes, which the API server refuses.",
        _CRD,
    ),
    CheckRule(
        "dra-plugin-too",
        ("OUR-16", "7.4"),
        _REJECT,
        "The device plugin serves the same GPUs as the DRA driver.",
        "NVIDIA/cloud-native-docs gpu-operator/dra-intro-install.rst",
    ),
    *ENVELOPE,
    CheckRule(
        "dra-key-repeated",
        ("DRA-7",),
        _REJECT,
        "A field is written twice, which strict decoding refuses.",
        "kubernetes-sigs/json",
    ),
    CheckRule(
        "dra-second-document",
        ("yaml",),
        _WARN,
        "The text holds a second document, which is not validated.",
        "docs/check.md",
    ),
)
