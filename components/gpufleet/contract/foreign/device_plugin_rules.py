"""What NVIDIA's device plugin does with a configuration, rule by rule."""

from gpufleet.contract.foreign.text_notes import text_rules
from gpufleet.contract.foreign.unknown_keys import key_rules
from gpufleet.contract.foreign.validation import CheckRule, Verdict, rule_table

_CONFIG = "NVIDIA/k8s-device-plugin api/config/v1/config.go"
_REPLICAS = "NVIDIA/k8s-device-plugin api/config/v1/replicas.go"
_RESOURCES = "NVIDIA/k8s-device-plugin api/config/v1/resources.go"
_MAIN = "NVIDIA/k8s-device-plugin cmd/nvidia-device-plugin/main.go"
_MAP = "NVIDIA/k8s-device-plugin internal/rm/device_map.go"
_MPS = "NVIDIA/k8s-device-plugin cmd/mps-control-daemon/mps/device.go"
_CHART = "NVIDIA/k8s-device-plugin deployments/helm/nvidia-device-plugin/templates"
_JSON = "Go encoding/json decode.go"

_REJECT, _WARN, _ACCEPT = Verdict.REJECT, Verdict.WARN, Verdict.ACCEPT

RULES = rule_table(
    CheckRule(
        "device-plugin-no-mapping",
        ("DP-1",),
        _REJECT,
        "The document is no mapping: it cannot be unmarshalled.",
        _CONFIG,
    ),
    CheckRule(
        "device-plugin-version-unknown",
        ("DP-1",),
        _REJECT,
        '`version` is not v1: "unknown version". Absent or empty means v1.',
        _CONFIG,
    ),
    CheckRule(
        "device-plugin-wrong-type",
        ("DP-3", "DP-15"),
        _REJECT,
        "A value has a type that its field does not take.",
        _CONFIG,
    ),
    CheckRule(
        "device-plugin-no-resources",
        ("DP-2",),
        _REJECT,
        'A sharing block has no `resources`, or none in it: "no resources specified". So is '
        "`timeSlicing: {}`, and keys in another case (`Resources:`) count as absent here.",
        _REPLICAS,
    ),
    CheckRule(
        "device-plugin-resource-name-missing",
        ("DP-3",),
        _REJECT,
        'A shared resource has no `name`: "no resource name specified".',
        _REPLICAS,
    ),
    CheckRule(
        "device-plugin-replicas-missing",
        ("DP-3",),
        _REJECT,
        'A shared resource has no `replicas`: "no replicas specified".',
        _REPLICAS,
    ),
    CheckRule(
        "device-plugin-replicas-invalid",
        ("DP-3",),
        _REJECT,
        '`replicas` is below 2 ("number of replicas must be >= 2") or no whole number.',
        _REPLICAS,
    ),
    CheckRule(
        "device-plugin-devices-invalid",
        ("DP-4",),
        _REJECT,
        "`devices` is neither `all`, a positive count, nor a list of GPU indices, MIG indices "
        "(`0:1`) and UUIDs.",
        _REPLICAS,
    ),
    CheckRule(
        "device-plugin-devices-ignored",
        ("DP-4", "OUR-7"),
        _WARN,
        "`devices` is something else than `all`: accepted, then ignored; every device is shared.",
        _CONFIG,
    ),
    CheckRule(
        "device-plugin-rename-ignored",
        ("DP-5", "OUR-7"),
        _WARN,
        "`rename` is accepted, then ignored; only `renameByDefault` renames, to `<name>.shared`.",
        _CONFIG,
    ),
    CheckRule(
        "device-plugin-name-invalid",
        ("DP-6",),
        _REJECT,
        "A resource name, with `nvidia.com/` in front, is longer than 63 characters or no "
        "lower-case DNS-1123 subdomain.",
        _RESOURCES,
    ),
    CheckRule(
        "device-plugin-mps-mixed",
        ("DP-7", "OUR-3"),
        _REJECT,
        'MPS with the strategy `mixed`: "using --mig-strategy=mixed is not supported with MPS".',
        _MAIN,
    ),
    CheckRule(
        "device-plugin-mps-root-missing",
        ("DP-8",),
        _REJECT,
        "MPS without `mpsRoot` in a plugin whose environment is given and has no MPS_ROOT: "
        '"using MPS requires --mps-root to be specified".',
        _MAIN,
    ),
    CheckRule(
        "device-plugin-mps-root-elsewhere",
        ("DP-8",),
        _WARN,
        "MPS without `mpsRoot`, and nothing says how the plugin is installed: the GPU Operator and "
        "the plugin's chart set MPS_ROOT, the static DaemonSet does not (k8s-device-plugin#1132).",
        _MAIN,
    ),
    CheckRule(
        "device-plugin-mps-on-mig",
        ("DP-9", "OUR-3"),
        _REJECT,
        'MPS on a GPU in MIG mode: "sharing using MPS is not supported for MIG devices". The file '
        "itself passes; plugin and GFD fail on the node.",
        "NVIDIA/k8s-device-plugin internal/plugin/mps.go",
    ),
    CheckRule(
        "device-plugin-mps-single",
        ("DP-9", "OUR-3"),
        _ACCEPT,
        "MPS with the strategy `single` on GPUs that have MIG: it works only while no GPU is in "
        "MIG mode.",
        "NVIDIA/k8s-device-plugin internal/plugin/mps.go",
    ),
    CheckRule(
        "device-plugin-mps-too-many-clients",
        ("DP-10", "OUR-6"),
        _REJECT,
        "More MPS replicas than the GPU allows: 48 from compute capability 7.5 on, 16 below: "
        '"maximum allowed replicas exceeded".',
        _MPS,
    ),
    CheckRule(
        "device-plugin-mps-unsupported",
        ("DP-10",),
        _REJECT,
        "The GPU has no MPS.",
        _MPS,
    ),
    CheckRule(
        "device-plugin-mps-wins",
        ("DP-11", "OUR-4"),
        _REJECT,
        "Both `timeSlicing` and `mps` are given: accepted, MPS is used and time-slicing silently "
        "dropped.",
        "NVIDIA/k8s-device-plugin api/config/v1/sharing.go",
    ),
    CheckRule(
        "device-plugin-mps-one-request",
        ("5.3",),
        _WARN,
        "`failRequestsGreaterThanOne: false` under `mps` is overridden with true by plugins before "
        "v0.20.0, which is the first that honours it (f14d3d12).",
        _CONFIG,
    ),
    *key_rules("device-plugin", ("DP-12", "OUR-5"), "the device plugin", _JSON),
    CheckRule(
        "device-plugin-key-misplaced",
        ("DP-12", "OUR-5"),
        _REJECT,
        "A key of `flags` is in `flags.plugin` or `flags.gfd`: the YAML reader, which takes "
        "both for `flags`, sets that flag to its zero value, so that `migStrategy` there ends in "
        '"unknown MIG strategy".',
        "sigs.k8s.io/yaml yaml.go convertToJSONableObject",
    ),
    CheckRule(
        "device-plugin-key-elsewhere",
        ("DP-12", "OUR-5"),
        _REJECT,
        "A key stands in a section that does not have it and is silently ignored, such as "
        "`renameByDefault` under `flags` (k8s-device-plugin#1433).",
        _JSON,
    ),
    CheckRule(
        "device-plugin-key-case",
        ("DP-12",),
        _ACCEPT,
        "A key differs in case from the one that is meant; it is understood.",
        _JSON,
    ),
    CheckRule(
        "device-plugin-key-case-repeated",
        ("DP-12",),
        _REJECT,
        "One key is written in several cases: upstream decodes each of them, one over the other, "
        "and calls the order undefined.",
        "sigs.k8s.io/yaml yaml.go",
    ),
    CheckRule(
        "device-plugin-resource-repeated",
        ("DP-13",),
        _WARN,
        "The same resource stands twice: accepted, the larger number of replicas wins.",
        _MAP,
    ),
    CheckRule(
        "device-plugin-resource-not-offered",
        ("DP-14", "OUR-9"),
        _REJECT,
        "No shared resource is one the node has: all are silently skipped and nothing is shared.",
        _MAP,
    ),
    CheckRule(
        "device-plugin-resource-skipped",
        ("DP-14", "OUR-9"),
        _WARN,
        "Some shared resource is not one the node has and is silently skipped.",
        _MAP,
    ),
    CheckRule(
        "device-plugin-resource-needs-mixed",
        ("DP-14",),
        _ACCEPT,
        "A MIG resource is shared and nothing says which strategy the plugin will have: it exists "
        "under `mixed` only.",
        _MAP,
    ),
    CheckRule(
        "device-plugin-choice-unknown",
        ("DP-15",),
        _REJECT,
        "migStrategy, deviceListStrategy, deviceIDStrategy, sharedDevicesAllocationPolicy or "
        "deviceDiscoveryStrategy has a value that is not known.",
        _MAIN,
    ),
    CheckRule(
        "device-plugin-env-wins",
        ("5.3",),
        _WARN,
        "The environment sets another value than the file; the environment wins.",
        _CONFIG,
    ),
    CheckRule(
        "device-plugin-imex-channels",
        ("DP-16",),
        _REJECT,
        'imex.channelIDs is neither [] nor [0]: "channelIDs must be [] or [0]".',
        "NVIDIA/k8s-device-plugin api/config/v1/imex.go",
    ),
    CheckRule(
        "device-plugin-resources-incomplete",
        ("DP-17",),
        _REJECT,
        "An entry of `resources` has no `pattern` or no `name`.",
        _RESOURCES,
    ),
    CheckRule(
        "device-plugin-resources-ignored",
        ("DP-5", "OUR-7"),
        _WARN,
        "`resources` is parsed, then ignored: resources cannot be named.",
        _CONFIG,
    ),
    CheckRule(
        "device-plugin-key-absent",
        ("OUR-8", "5.3"),
        _REJECT,
        "The selected key is not in the ConfigMap: the config-manager sidecar fails on nodes with "
        "that label.",
        "NVIDIA/k8s-device-plugin cmd/config-manager",
    ),
    CheckRule(
        "device-plugin-chart-default-namespace",
        ("DP-18",),
        _REJECT,
        "The chart is installed into the default namespace without `allowDefaultNamespace`.",
        _CHART,
    ),
    CheckRule(
        "device-plugin-chart-two-configs",
        ("DP-18",),
        _REJECT,
        "The chart is given both `config.name` and `config.map`.",
        _CHART,
    ),
    CheckRule(
        "device-plugin-chart-no-default",
        ("DP-18",),
        _REJECT,
        "The chart's `config.map` has keys, there is no `config.default`, and none of "
        "`config.fallbackStrategies` finds one: the key `default`, a single key, or none at all.",
        _CHART,
    ),
    CheckRule(
        "device-plugin-chart-namespace-value",
        ("DP-18",),
        _REJECT,
        "The chart's value `namespace` is set: it was removed and fails.",
        _CHART,
    ),
    CheckRule(
        "device-plugin-chart-default-alone",
        ("DP-18",),
        _REJECT,
        "The chart has `config.default` and neither `config.name` nor `config.map`: no ConfigMap "
        "is mounted, and the plugin runs without a configuration (k8s-device-plugin#990).",
        _CHART,
    ),
    CheckRule(
        "device-plugin-chart-default-absent",
        ("DP-18", "OUR-8"),
        _REJECT,
        "`config.default` names no key of `config.map`: the chart accepts it, and the plugin's "
        "sidecar fails on every node without the label.",
        _CHART,
    ),
    *text_rules("device-plugin"),
)
