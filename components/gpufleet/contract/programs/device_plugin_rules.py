"""What NVIDIA's device plugin does with a configuration, rule by rule."""

from gpufleet.contract.programs.text_notes import text_rules
from gpufleet.contract.programs.unknown_keys import key_rules
from gpufleet.contract.programs.validation import (
    accept,
    reject,
    rule_table,
    warn,
)

_CONFIG = "NVIDIA/k8s-device-plugin api/config/v1/config.go"
_REPLICAS = "NVIDIA/k8s-device-plugin api/config/v1/replicas.go"
_RESOURCES = "NVIDIA/k8s-device-plugin api/config/v1/resources.go"
_MAIN = "NVIDIA/k8s-device-plugin cmd/nvidia-device-plugin/main.go"
_MAP = "NVIDIA/k8s-device-plugin internal/rm/device_map.go"
_MPS = "NVIDIA/k8s-device-plugin cmd/mps-control-daemon/mps/device.go"
_CHART = "NVIDIA/k8s-device-plugin deployments/helm/nvidia-device-plugin/templates"
_JSON = "Go encoding/json decode.go"

RULES = rule_table(
    reject(
        "device-plugin-no-mapping",
        ("DP-1",),
        "The document is no mapping: it cannot be unmarshalled.",
        _CONFIG,
    ),
    reject(
        "device-plugin-version-unknown",
        ("DP-1",),
        '`version` is not v1: "unknown version". Absent or empty means v1.',
        _CONFIG,
    ),
    reject(
        "device-plugin-wrong-type",
        ("DP-3", "DP-15"),
        "A value has a type that its field does not take.",
        _CONFIG,
    ),
    reject(
        "device-plugin-no-resources",
        ("DP-2",),
        'A sharing block has no `resources`, or none in it: "no resources specified". So is '
        "`timeSlicing: {}`, and keys in another case (`Resources:`) count as absent here.",
        _REPLICAS,
    ),
    reject(
        "device-plugin-resource-name-missing",
        ("DP-3",),
        'A shared resource has no `name`: "no resource name specified".',
        _REPLICAS,
    ),
    reject(
        "device-plugin-replicas-missing",
        ("DP-3",),
        'A shared resource has no `replicas`: "no replicas specified".',
        _REPLICAS,
    ),
    reject(
        "device-plugin-replicas-invalid",
        ("DP-3",),
        '`replicas` is below 2 ("number of replicas must be >= 2") or no whole number.',
        _REPLICAS,
    ),
    reject(
        "device-plugin-devices-invalid",
        ("DP-4",),
        "`devices` is neither `all`, a positive count, nor a list of GPU indices, MIG indices "
        "(`0:1`) and UUIDs.",
        _REPLICAS,
    ),
    warn(
        "device-plugin-devices-ignored",
        ("DP-4", "OUR-7"),
        "`devices` is something else than `all`: accepted, then ignored; every device is shared.",
        _CONFIG,
    ),
    warn(
        "device-plugin-rename-ignored",
        ("DP-5", "OUR-7"),
        "`rename` is accepted, then ignored; only `renameByDefault` renames, to `<name>.shared`.",
        _CONFIG,
    ),
    reject(
        "device-plugin-name-invalid",
        ("DP-6",),
        "A resource name, with `nvidia.com/` in front, is longer than 63 characters or no "
        "lower-case DNS-1123 subdomain.",
        _RESOURCES,
    ),
    reject(
        "device-plugin-mps-mixed",
        ("DP-7", "OUR-3"),
        'MPS with the strategy `mixed`: "using --mig-strategy=mixed is not supported with MPS".',
        _MAIN,
    ),
    reject(
        "device-plugin-mps-root-missing",
        ("DP-8",),
        "MPS without `mpsRoot` in a plugin whose environment is given and has no MPS_ROOT: "
        '"using MPS requires --mps-root to be specified".',
        _MAIN,
    ),
    warn(
        "device-plugin-mps-root-elsewhere",
        ("DP-8",),
        "MPS without `mpsRoot`, and nothing says how the plugin is installed: the GPU Operator and "
        "the plugin's chart set MPS_ROOT, the static DaemonSet does not (k8s-device-plugin#1132).",
        _MAIN,
    ),
    reject(
        "device-plugin-mps-on-mig",
        ("DP-9", "OUR-3"),
        'MPS on a GPU in MIG mode: "sharing using MPS is not supported for MIG devices". The file '
        "itself passes; plugin and GFD fail on the node.",
        "NVIDIA/k8s-device-plugin internal/plugin/mps.go",
    ),
    accept(
        "device-plugin-mps-single",
        ("DP-9", "OUR-3"),
        "MPS with the strategy `single` on GPUs that have MIG: it works only while no GPU is in "
        "MIG mode.",
        "NVIDIA/k8s-device-plugin internal/plugin/mps.go",
    ),
    reject(
        "device-plugin-mps-too-many-clients",
        ("DP-10", "OUR-6"),
        "More MPS replicas than the GPU allows: 48 from compute capability 7.5 on, 16 below: "
        '"maximum allowed replicas exceeded".',
        _MPS,
    ),
    reject(
        "device-plugin-mps-unsupported",
        ("DP-10",),
        "The GPU has no MPS.",
        _MPS,
    ),
    reject(
        "device-plugin-mps-wins",
        ("DP-11", "OUR-4"),
        "Both `timeSlicing` and `mps` are given: accepted, MPS is used and time-slicing silently "
        "dropped.",
        "NVIDIA/k8s-device-plugin api/config/v1/sharing.go",
    ),
    warn(
        "device-plugin-mps-one-request",
        ("5.3",),
        "`failRequestsGreaterThanOne: false` under `mps` is overridden with true by plugins before "
        "v0.20.0, which is the first that honours it (f14d3d12).",
        _CONFIG,
    ),
    *key_rules("device-plugin", ("DP-12", "OUR-5"), "the device plugin", _JSON),
    reject(
        "device-plugin-key-misplaced",
        ("DP-12", "OUR-5"),
        "A key of `flags` is in `flags.plugin` or `flags.gfd`: the YAML reader, which takes "
        "both for `flags`, sets that flag to its zero value, so that `migStrategy` there ends in "
        '"unknown MIG strategy".',
        "sigs.k8s.io/yaml yaml.go convertToJSONableObject",
    ),
    reject(
        "device-plugin-key-elsewhere",
        ("DP-12", "OUR-5"),
        "A key stands in a section that does not have it and is silently ignored, such as "
        "`renameByDefault` under `flags` (k8s-device-plugin#1433).",
        _JSON,
    ),
    accept(
        "device-plugin-key-case",
        ("DP-12",),
        "A key differs in case from the one that is meant; it is understood.",
        _JSON,
    ),
    reject(
        "device-plugin-key-case-repeated",
        ("DP-12",),
        "One key is written in several cases: upstream decodes each of them, one over the other, "
        "and calls the order undefined.",
        "sigs.k8s.io/yaml yaml.go",
    ),
    warn(
        "device-plugin-resource-repeated",
        ("DP-13",),
        "The same resource stands twice: accepted, the larger number of replicas wins.",
        _MAP,
    ),
    reject(
        "device-plugin-resource-not-offered",
        ("DP-14", "OUR-9"),
        "No shared resource is one the node has: all are silently skipped and nothing is shared.",
        _MAP,
    ),
    warn(
        "device-plugin-resource-skipped",
        ("DP-14", "OUR-9"),
        "Some shared resource is not one the node has and is silently skipped.",
        _MAP,
    ),
    accept(
        "device-plugin-resource-needs-mixed",
        ("DP-14",),
        "A MIG resource is shared and nothing says which strategy the plugin will have: it exists "
        "under `mixed` only.",
        _MAP,
    ),
    reject(
        "device-plugin-choice-unknown",
        ("DP-15",),
        "migStrategy, deviceListStrategy, deviceIDStrategy, sharedDevicesAllocationPolicy or "
        "deviceDiscoveryStrategy has a value that is not known.",
        _MAIN,
    ),
    warn(
        "device-plugin-env-wins",
        ("5.3",),
        "The environment sets another value than the file; the environment wins.",
        _CONFIG,
    ),
    reject(
        "device-plugin-imex-channels",
        ("DP-16",),
        'imex.channelIDs is neither [] nor [0]: "channelIDs must be [] or [0]".',
        "NVIDIA/k8s-device-plugin api/config/v1/imex.go",
    ),
    reject(
        "device-plugin-resources-incomplete",
        ("DP-17",),
        "An entry of `resources` has no `pattern` or no `name`.",
        _RESOURCES,
    ),
    warn(
        "device-plugin-resources-ignored",
        ("DP-5", "OUR-7"),
        "`resources` is parsed, then ignored: resources cannot be named.",
        _CONFIG,
    ),
    reject(
        "device-plugin-key-absent",
        ("OUR-8", "5.3"),
        "The selected key is not in the ConfigMap: the config-manager sidecar fails on nodes with "
        "that label.",
        "NVIDIA/k8s-device-plugin cmd/config-manager",
    ),
    reject(
        "device-plugin-chart-default-namespace",
        ("DP-18",),
        "The chart is installed into the default namespace without `allowDefaultNamespace`.",
        _CHART,
    ),
    reject(
        "device-plugin-chart-two-configs",
        ("DP-18",),
        "The chart is given both `config.name` and `config.map`.",
        _CHART,
    ),
    reject(
        "device-plugin-chart-no-default",
        ("DP-18",),
        "The chart's `config.map` has keys, there is no `config.default`, and none of "
        "`config.fallbackStrategies` finds one: the key `default`, a single key, or none at all.",
        _CHART,
    ),
    reject(
        "device-plugin-chart-namespace-value",
        ("DP-18",),
        "The chart's value `namespace` is set: it was removed and fails.",
        _CHART,
    ),
    reject(
        "device-plugin-chart-default-alone",
        ("DP-18",),
        "The chart has `config.default` and neither `config.name` nor `config.map`: no ConfigMap "
        "is mounted, and the plugin runs without a configuration (k8s-device-plugin#990).",
        _CHART,
    ),
    reject(
        "device-plugin-chart-default-absent",
        ("DP-18", "OUR-8"),
        "`config.default` names no key of `config.map`: the chart accepts it, and the plugin's "
        "sidecar fails on every node without the label.",
        _CHART,
    ),
    *text_rules("device-plugin"),
)
