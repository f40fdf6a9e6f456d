"""What NVIDIA's DRA driver does with its opaque configs, gates and chart, rule by rule."""

from gpufleet.contract.programs.dra_envelope_rules import RULES as ENVELOPE
from gpufleet.contract.programs.validation import (
    accept,
    reject,
    rule_table,
    warn,
)

_API = "kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1"
_STATE = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go"
_GATES = "kubernetes-sigs/dra-driver-nvidia-gpu pkg/featuregates/featuregates.go"
_CHART = "kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm templates/validation.yaml"
_WEBHOOK = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/webhook/main.go"
_CRD = "resource.nvidia.com_computedomains.yaml"

RULES = rule_table(
    reject(
        "dra-no-config",
        ("DRA-8",),
        "The document is no config of this driver: neither an opaque config nor an object that "
        "holds one.",
        f"{_API}/api.go",
    ),
    reject(
        "dra-gate-missing",
        ("DRA-1", "OUR-10"),
        "The gates or the chart's values are given, and the feature gate the strategy needs is "
        "off: TimeSlicing needs TimeSlicingSettings, MPS needs MPSSupport.",
        f"{_API}/validate.go",
    ),
    warn(
        "dra-gate-needed",
        ("DRA-1", "OUR-10"),
        "The strategy needs a feature gate that is off by default, and nothing says how the driver "
        "is installed: the claim fails where the gate is off.",
        f"{_API}/validate.go",
    ),
    reject(
        "dra-strategy-unknown",
        ("DRA-2",),
        'The strategy is neither TimeSlicing nor MPS: "unknown GPU sharing strategy".',
        f"{_API}/validate.go",
    ),
    reject(
        "dra-interval-unknown",
        ("DRA-2",),
        "The interval is none of Default, Short, Medium, Long; case counts.",
        f"{_API}/validate.go",
    ),
    reject(
        "dra-interval-missing",
        ("DRA-3", "OUR-11"),
        "`timeSlicingConfig` without `interval`: the driver panics on a nil pointer.",
        f"{_API}/validate.go",
    ),
    reject(
        "dra-threads-invalid",
        ("DRA-4",),
        "defaultActiveThreadPercentage is below 0 or above 100. 0 passes.",
        f"{_API}/validate.go",
    ),
    reject(
        "dra-memory-too-low",
        ("DRA-5",),
        'A pinned memory limit is below 1 MiB: "value set too low", when the claim is prepared.',
        f"{_API}/sharing.go",
    ),
    reject(
        "dra-memory-invalid",
        ("DRA-5",),
        "A pinned memory limit is no quantity.",
        "kubernetes/apimachinery pkg/api/resource/quantity.go",
    ),
    accept(
        "dra-memory-rounded",
        ("DRA-5",),
        "A pinned memory limit is no whole number of MiB and is rounded down.",
        f"{_API}/sharing.go",
    ),
    reject(
        "dra-device-unknown",
        ("DRA-5",),
        "A key of defaultPerDevicePinnedMemoryLimit is neither an index of the claim's devices nor "
        'a UUID: "invalid device", when the claim is prepared.',
        f"{_API}/sharing.go",
    ),
    reject(
        "dra-other-strategy-config",
        ("DRA-6", "OUR-11"),
        "The config block of the other strategy is given: admission accepts it, preparation fails "
        '("cannot use ...").',
        f"{_API}/sharing.go",
    ),
    warn(
        "dra-mig-mps-config-ignored",
        ("DRA-6",),
        "A MigDeviceConfig has mpsConfig next to the strategy TimeSlicing: it is ignored.",
        f"{_API}/sharing.go",
    ),
    reject(
        "dra-field-unknown",
        ("DRA-7", "OUR-5"),
        'A field is not known to this version: "unknown field" in strict decoding. Case counts.',
        f"{_API}/api.go",
    ),
    reject(
        "dra-wrong-type",
        ("DRA-7",),
        "A value has a type that its field does not take.",
        f"{_API}/api.go",
    ),
    reject(
        "dra-kind-unknown",
        ("DRA-8",),
        'apiVersion and kind are not registered: "no kind ... is registered". Older examples say '
        "gpu.nvidia.com/v1alpha1.",
        f"{_API}/api.go",
    ),
    reject(
        "dra-driver-mismatch",
        ("DRA-8", "7.1"),
        "The opaque config names another driver than the one that reads this kind.",
        _STATE,
    ),
    reject(
        "dra-domain-missing",
        ("DRA-9",),
        'domainID is empty: "domainID cannot be empty".',
        f"{_API}/computedomainconfig.go",
    ),
    warn(
        "dra-allocation-mode-ignored",
        ("DRA-9",),
        "allocationMode of a ComputeDomainChannelConfig is neither All nor Single: it is not "
        "checked, and works like Single.",
        "kubernetes-sigs/dra-driver-nvidia-gpu cmd/compute-domain-kubelet-plugin/device_state.go",
    ),
    reject(
        "dra-iommu-policy-unknown",
        ("DRA-10",),
        "iommu.backendPolicy is neither LegacyOnly nor PreferIommuFD.",
        f"{_API}/iommu.go",
    ),
    reject(
        "dra-vfio-webhook",
        ("DRA-10",),
        'The admission webhook is on, and does not know VfioDeviceConfig: "expected a recognized '
        'configuration type".',
        _WEBHOOK,
    ),
    warn(
        "dra-vfio-gate",
        ("DRA-10", "OUR-10"),
        "A VfioDeviceConfig without the gate PassthroughSupport: the driver publishes no device it "
        "could apply to.",
        _STATE,
    ),
    reject(
        "dra-gates-conflict",
        ("DRA-11", "DRA-14", "OUR-10"),
        "Feature gates exclude or need each other: DynamicMIG excludes PassthroughSupport, "
        "NVMLDeviceHealthCheck and MPSSupport; PassthroughSupport excludes NVMLDeviceHealthCheck; "
        "DeviceMetadata needs PassthroughSupport; ComputeDomainCliques needs "
        "IMEXDaemonsWithDNSNames. The chart renders, the pods crash.",
        _GATES,
    ),
    reject(
        "dra-gate-unknown",
        ("DRA-11",),
        "A feature gate is not known to this version.",
        _GATES,
    ),
    reject(
        "dra-consumable-shares-invalid",
        ("DRA-12",),
        "consumableShares is none of disabled, memory, unlimited or a positive whole number.",
        "kubernetes-sigs/dra-driver-nvidia-gpu main (0.5.0-dev) values.yaml",
    ),
    reject(
        "dra-consumable-shares-gate",
        ("DRA-12",),
        "consumableShares is set and the gate ConsumableShares is off.",
        "kubernetes-sigs/dra-driver-nvidia-gpu main (0.5.0-dev)",
    ),
    reject(
        "dra-consumable-shares-mps",
        ("DRA-12",),
        "A claim asks for MPS while consumable shares are on: its preparation fails.",
        "kubernetes-sigs/dra-driver-nvidia-gpu main (0.5.0-dev)",
    ),
    reject(
        "dra-chart-gpus-override",
        ("DRA-13",),
        "The chart has resources.gpus.enabled (its default) without gpuResourcesEnabledOverride.",
        _CHART,
    ),
    reject(
        "dra-chart-default-namespace",
        ("DRA-13",),
        "The chart is installed into the default namespace without allowDefaultNamespace.",
        _CHART,
    ),
    reject(
        "dra-chart-value-removed",
        ("DRA-13",),
        "The chart fails with a value that was removed: `nvidiaCtkPath`, `namespace`.",
        _CHART,
    ),
    reject(
        "dra-chart-webhook-tls",
        ("DRA-13",),
        "The webhook's tls.mode is neither cert-manager nor secret, or what the mode needs is "
        "missing: a known issuerType, an issuerName for clusterissuer and issuer, a Secret's name.",
        _CHART,
    ),
    reject(
        "dra-chart-kubernetes",
        ("DRA-13",),
        "The chart needs Kubernetes 1.32.",
        "kubernetes-sigs/dra-driver-nvidia-gpu Chart.yaml",
    ),
    reject(
        "dra-domain-nodes",
        ("DRA-15",),
        "numNodes of a ComputeDomain is below 0 or no whole number.",
        _CRD,
    ),
    reject(
        "dra-domain-nodes-required",
        ("DRA-15", "7.1"),
        "numNodes is absent, which the definition bundled with the GPU Operator requires.",
        "resource.nvidia.com_computedomains.gpu-operator-v26.7.0.yaml",
    ),
    reject(
        "dra-domain-mode",
        ("DRA-15",),
        "channel.allocationMode of a ComputeDomain is neither All nor Single.",
        _CRD,
    ),
    reject(
        "dra-domain-channel",
        ("DRA-15",),
        "A ComputeDomain has no channel.",
        _CRD,
    ),
    reject(
        "dra-domain-immutable",
        ("DRA-15", "7.1"),
        "The spec of a ComputeDomain changes, which the API server refuses.",
        _CRD,
    ),
    reject(
        "dra-plugin-too",
        ("OUR-16", "7.4"),
        "The device plugin serves the same GPUs as the DRA driver.",
        "NVIDIA/cloud-native-docs gpu-operator/dra-intro-install.rst",
    ),
    *ENVELOPE,
    reject(
        "dra-key-repeated",
        ("DRA-7",),
        "A field is written twice, which strict decoding refuses.",
        "kubernetes-sigs/json",
    ),
    warn(
        "dra-second-document",
        ("yaml",),
        "The text holds a second document, which is not validated.",
        "docs/check.md",
    ),
)
