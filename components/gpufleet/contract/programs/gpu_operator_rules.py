"""What the GPU Operator's chart and custom resources do with values, rule by rule."""

from gpufleet.contract.programs.dra_rules import RULES as DRA
from gpufleet.contract.programs.text_notes import text_rules
from gpufleet.contract.programs.unknown_keys import key_rules
from gpufleet.contract.programs.validation import (
    accept,
    reject,
    rule_table,
    warn,
)

_TEMPLATES = "NVIDIA/gpu-operator deployments/gpu-operator/templates"
_CHECKS = f"{_TEMPLATES}/validations.yaml"
_CRD = "NVIDIA/gpu-operator deployments/gpu-operator/crds/nvidia.com_clusterpolicies.yaml"
_DRIVERS = "NVIDIA/gpu-operator internal/validator/validator.go, nvidia.com_nvidiadrivers.yaml"
_DOCS = "NVIDIA/cloud-native-docs gpu-operator"

RULES = rule_table(
    reject(
        "gpu-operator-no-mapping",
        ("go-values",),
        "The document is no mapping: neither values nor a custom resource of the operator.",
        "docs/check.md",
    ),
    reject(
        "gpu-operator-two-stacks",
        ("GO-1",),
        "clusterPolicy.deployCR and gpuCluster.deployCR are both true: rendering fails.",
        _CHECKS,
    ),
    reject(
        "gpu-operator-cluster-driver",
        ("GO-2",),
        "gpuCluster.deployCR with driver.enabled and without driver.nvidiaDriverCRD.enabled: "
        "rendering fails.",
        _CHECKS,
    ),
    reject(
        "gpu-operator-nri-cdi",
        ("GO-3",),
        "cdi.nriPluginEnabled while cdi.enabled is false: rendering fails.",
        _CHECKS,
    ),
    reject(
        "gpu-operator-nri-toolkit",
        ("GO-4",),
        "cdi.nriPluginEnabled while toolkit.enabled is false: rendering fails.",
        _CHECKS,
    ),
    reject(
        "gpu-operator-plugin-config-empty",
        ("GO-5",),
        "devicePlugin.config.create with empty data, or with an empty name: rendering fails.",
        _CHECKS,
    ),
    reject(
        "gpu-operator-no-dra",
        ("GO-6",),
        "gpuCluster.deployCR on a cluster without resource.k8s.io DeviceClasses (Kubernetes 1.34 "
        "serves them): rendering fails.",
        _CHECKS,
    ),
    reject(
        "gpu-operator-mig-config-empty",
        ("GO-7",),
        "migManager.config.create with a name and empty data: no error and no ConfigMap, and the "
        "MIG manager waits for one that no one makes.",
        f"{_TEMPLATES}/mig_config.yaml",
    ),
    warn(
        "gpu-operator-mig-config-nothing",
        ("GO-7",),
        "migManager.config.create with empty data and no name: nothing is created, the generated "
        "config stays in use.",
        f"{_TEMPLATES}/mig_config.yaml",
    ),
    reject(
        "gpu-operator-mig-config-key",
        ("4.4",),
        "migManager.config.data has no key config.yaml, the one the MIG manager reads.",
        "NVIDIA/gpu-operator deployments/gpu-operator/values.yaml",
    ),
    reject(
        "gpu-operator-choice-unknown",
        ("GO-8", "GO-9", "GO-10", "OUR-13"),
        "A value is none of those its definition allows: mig.strategy, migManager.config.default "
        "(only all-disabled or empty: label the nodes instead), sandboxWorkloads.defaultWorkload "
        "and .mode, driver.kernelModuleType, driver.nvidiaDriverCRD.driverType, "
        "daemonsets.updateStrategy, ccManager.defaultMode. The API server refuses the object.",
        _CRD,
    ),
    reject(
        "gpu-operator-number-negative",
        ("GO-11",),
        "A number is outside the bounds of its definition, such as a negative maxParallelUpgrades.",
        _CRD,
    ),
    reject(
        "gpu-operator-duration-invalid",
        ("GO-12",),
        "interval or scrapeTimeout of a ServiceMonitor is no Prometheus duration.",
        _CRD,
    ),
    reject(
        "gpu-operator-wrong-type",
        ("go-values",),
        "A value has a type its definition or the templates refuse: a quoted boolean, a version "
        "without quotes, the boolean that an unquoted `on` is, a name where a section stands, "
        "variables or pull secrets that are no list of text.",
        _CRD,
    ),
    warn(
        "gpu-operator-switch-as-text",
        ("go-values",),
        'A switch is written as text ("false"): templates take any text for true.',
        _TEMPLATES,
    ),
    reject(
        "gpu-operator-driver-default-selector",
        ("GO-13",),
        "An NVIDIADriver has `default: true` and a nodeSelector: CEL refuses it.",
        _DRIVERS,
    ),
    reject(
        "gpu-operator-driver-two-defaults",
        ("GO-13",),
        'A second NVIDIADriver has `default: true`: "multiple default NVIDIADrivers found".',
        _DRIVERS,
    ),
    reject(
        "gpu-operator-driver-overlap",
        ("GO-13",),
        'Two NVIDIADrivers select one node: "multiple NVIDIADrivers match the same node".',
        _DRIVERS,
    ),
    reject(
        "gpu-operator-driver-immutable",
        ("GO-14",),
        "driverType or usePrecompiled of an NVIDIADriver changes: CEL refuses it.",
        _DRIVERS,
    ),
    reject(
        "gpu-operator-cluster-name",
        ("GO-15",),
        "A GPUCluster is not called gpu-cluster: CEL refuses it.",
        "nvidia.com_gpuclusters.yaml",
    ),
    reject(
        "gpu-operator-host-users",
        ("GO-16",),
        "A pod among extraObjects asks for a GPU with hostUsers: false: its containers cannot be "
        "created.",
        f"{_DOCS}/cdi.rst",
    ),
    reject(
        "gpu-operator-policy-incomplete",
        ("3.2",),
        "A ClusterPolicy lacks a required part of its spec, or another object a required field.",
        _CRD,
    ),
    reject(
        "gpu-operator-value-invalid",
        ("3.2",),
        "A value does not match the pattern of its definition, such as a quantity of resources, or "
        "an entry of a list is there twice.",
        _CRD,
    ),
    accept(
        "gpu-operator-patch",
        ("3.2",),
        "A ClusterPolicy that lacks most required parts, or a list of JSON patch operations, is "
        "taken for a patch of kustomize: what it has is validated, what it lacks is not. Applied "
        "by itself the API server refuses it.",
        _CRD,
    ),
    reject(
        "gpu-operator-two-policies",
        ("3.2",),
        "Two ClusterPolicies: the operator reconciles the first it sees, the state of the other is "
        "ignored.",
        "NVIDIA/gpu-operator controllers/clusterpolicy_controller.go",
    ),
    reject(
        "gpu-operator-image-incomplete",
        ("3.2",),
        "An operand has some of repository, image and version and not all: the reference cannot be "
        "built (InvalidImageName, from v26.7 on an error). In values a part that is emptied is "
        "left out.",
        "NVIDIA/gpu-operator internal/image/image.go; gpu-operator#585",
    ),
    reject(
        "gpu-operator-driver-version-os",
        ("3.2",),
        "driver.version ends with an operating system, which the operator appends itself: "
        "ImagePullBackOff.",
        "NVIDIA/gpu-operator controllers/object_controls.go resolveDriverTag; gpu-operator#1200",
    ),
    reject(
        "gpu-operator-containerd-socket",
        ("11",),
        "toolkit.env names the containerd configuration of k3s or RKE2 and not its socket, or the "
        'socket is no path: "dial unix /runtime/sock-dir/containerd.sock: no such file".',
        "NVIDIA/gpu-operator#406, docs.rke2.io advanced",
    ),
    warn(
        "gpu-operator-containerd-config",
        ("11",),
        "CONTAINERD_CONFIG is a file that k3s or RKE2 generates: config.toml is written again at "
        "each start, config.toml.tmpl replaces the generated configuration; or one that their "
        "containerd does not read.",
        "NVIDIA/gpu-operator#473, #992, docs.rke2.io advanced",
    ),
    reject(
        "gpu-operator-counters-key",
        ("9",),
        "dcgmExporter.config.name is a ConfigMap of the same text that has no key "
        "dcgm-metrics.csv: the exporter's pod cannot mount it.",
        "NVIDIA/gpu-operator controllers/object_controls.go; gpu-operator#1616",
    ),
    *(DRA[code] for code in ("dra-gates-conflict", "dra-gate-unknown")),
    *key_rules("gpu-operator", ("OUR-5",), "the chart", _TEMPLATES),
    warn(
        "gpu-operator-key-ignored",
        ("3.1", "OUR-5"),
        "A key that the chart does not read: older versions did, or it counts only with another.",
        _TEMPLATES,
    ),
    reject(
        "gpu-operator-plugin-default-absent",
        ("OUR-8",),
        "devicePlugin.config.default names no key of devicePlugin.config.data.",
        f"{_DOCS}/gpu-sharing.rst",
    ),
    accept(
        "gpu-operator-reset-needed",
        ("OUR-15", "4.4"),
        "Switching MIG mode on this GPU needs a reset and migManager.env has no WITH_REBOOT: on "
        "clouds, where GPUs cannot be reset, the change fails.",
        f"{_DOCS}/gpu-operator-mig.rst",
    ),
    reject(
        "gpu-operator-dra-too",
        ("OUR-16", "7.4"),
        "The device plugin is on and the DRA driver serves GPUs of the same nodes.",
        f"{_DOCS}/dra-intro-install.rst",
    ),
    reject(
        "gpu-operator-nfd-twice",
        ("OUR-16",),
        "Node Feature Discovery is enabled in this chart and in the Network Operator's.",
        f"{_DOCS}/gpu-operator-rdma.rst",
    ),
    warn(
        "gpu-operator-metric-mig",
        ("OUR-17",),
        "Custom DCGM counters have DCGM_FI_DEV_GPU_UTIL, which means nothing on MIG devices, and "
        "not DCGM_FI_PROF_GR_ENGINE_ACTIVE.",
        f"{_DOCS}/gpu-operator-mig.rst",
    ),
    warn(
        "gpu-operator-pod-metrics-shared",
        ("OUR-17",),
        "Per-pod metrics are wanted while a device-plugin config slices time: they cannot be "
        "attributed to containers.",
        f"{_DOCS}/gpu-sharing.rst",
    ),
    reject(
        "gpu-operator-precompiled-extras",
        ("OUR-18", "3.1"),
        "gds or gdrcopy with driver.usePrecompiled, which has neither.",
        f"{_DOCS}/precompiled-drivers.rst",
    ),
    reject(
        "gpu-operator-precompiled-version",
        ("3.1",),
        "driver.usePrecompiled with a full driver version: it wants the branch, such as 595.",
        f"{_DOCS}/precompiled-drivers.rst",
    ),
    reject(
        "gpu-operator-gds-proprietary",
        ("OUR-18", "8.4"),
        "gds needs the open kernel module, and driver.kernelModuleType is proprietary.",
        f"{_DOCS}/gpu-operator-rdma.rst",
    ),
    reject(
        "gpu-operator-vgpu-image",
        ("10",),
        "vgpuManager.enabled needs repository and version of a private image.",
        f"{_DOCS}/install-gpu-operator-vgpu.rst",
    ),
    warn(
        "gpu-operator-vgpu-without-sandbox",
        ("10", "3.3"),
        "vgpuManager is on while sandboxWorkloads.enabled is false: nothing uses it.",
        "NVIDIA/gpu-operator controllers/state_manager.go",
    ),
    reject(
        "gpu-operator-product-selector",
        ("OUR-19", "6"),
        "A pod among extraObjects selects nvidia.com/gpu.product without the suffix that the "
        "declared sharing appends: it matches no node.",
        "NVIDIA/k8s-device-plugin docs/gpu-feature-discovery",
    ),
    *text_rules("gpu-operator"),
)
