"""What NVIDIA's mig-parted does with a configuration, rule by rule."""

from gpufleet.contract.programs import geometry
from gpufleet.contract.programs.text_notes import text_rules
from gpufleet.contract.programs.validation import accept, reject, rule_table, warn

_SPEC = "NVIDIA/mig-parted api/spec/v1/spec.go"
_CONFIG = "NVIDIA/mig-parted pkg/types/mig_config.go"
_ASSERT = "NVIDIA/mig-parted cmd/nvidia-mig-parted/assert"
_APPLY = "NVIDIA/mig-parted cmd/nvidia-mig-parted/apply"

RULES = rule_table(
    reject(
        "mig-parted-no-mapping",
        ("MP-1",),
        "The document is no mapping: it cannot be unmarshalled.",
        _SPEC,
    ),
    reject(
        "mig-parted-version-missing",
        ("MP-1",),
        "A document that is not empty has no `version`: \"missing 'version' field\".",
        _SPEC,
    ),
    reject(
        "mig-parted-version-unknown",
        ("MP-1",),
        '`version` is not `v1`: "unknown version". An empty mapping fails the same way.',
        _SPEC,
    ),
    reject(
        "mig-parted-key-unknown",
        ("MP-2", "OUR-5"),
        'A key at the top or in an entry is not known: "unexpected field". Case counts.',
        _SPEC,
    ),
    reject(
        "mig-parted-empty",
        ("MP-3",),
        '`mig-configs` or a config in it has no entry: "at least one entry in ... is required".',
        _SPEC,
    ),
    reject(
        "mig-parted-wrong-type",
        ("MP-5", "MP-10"),
        "A value has a type that its field does not take.",
        _SPEC,
    ),
    reject(
        "mig-parted-field-missing",
        ("MP-4",),
        'An entry has no `devices` or no `mig-enabled`: "missing required field".',
        _SPEC,
    ),
    reject(
        "mig-parted-devices-invalid",
        ("MP-5",),
        "`devices` is neither `all` nor a list of whole numbers.",
        _SPEC,
    ),
    reject(
        "mig-parted-devices-index",
        ("MP-5", "MP-14", "OUR-20"),
        "An index is negative, is in two entries, or is beyond the node's GPUs: the parser "
        "accepts it, and the entry concerns no GPU or overwrites another.",
        _SPEC,
    ),
    warn(
        "mig-parted-devices-repeated",
        ("MP-5", "OUR-20"),
        "An index stands twice in one list: accepted, the second has no effect.",
        _SPEC,
    ),
    reject(
        "mig-parted-devices-overlap",
        ("OUR-20",),
        "Two entries of a config concern the same GPU and ask for different things: the later one "
        "destroys what the earlier made.",
        f"{_APPLY}/config.go",
    ),
    warn(
        "mig-parted-devices-twice",
        ("OUR-20",),
        "Two entries of a config concern the same GPU and ask for the same.",
        f"{_APPLY}/config.go",
    ),
    reject(
        "mig-parted-instances-missing",
        ("MP-6",),
        "`mig-enabled: true` without `mig-devices`: \"missing required field 'mig-devices'\". An "
        "empty mapping is accepted: MIG on, no instances.",
        _SPEC,
    ),
    reject(
        "mig-parted-instances-without-mig",
        ("MP-7",),
        "`mig-enabled: false` with instances: \"MIG devices included when 'mig-enabled' is "
        'false". An empty mapping is accepted.',
        _SPEC,
    ),
    reject(
        "mig-parted-profile-malformed",
        ("MP-8",),
        "A profile is outside NVIDIA's grammar `[<c>c.]<g>g.<m>gb[+attr,...|-attr,...]`: \"invalid "
        'format".',
        "NVIDIA/go-nvlib pkg/nvlib/device/mig_profile.go",
    ),
    reject(
        "mig-parted-count-negative",
        ("MP-9",),
        'A count is negative: "invalid count".',
        _CONFIG,
    ),
    reject(
        "mig-parted-counts-zero",
        ("MP-9",),
        'All counts are zero: "all counts for all MigProfiles are 0".',
        _CONFIG,
    ),
    warn(
        "mig-parted-count-zero",
        ("MP-9", "OUR-12"),
        "One count is zero among positive ones: accepted, but what is on the GPU never equals it, "
        "so the config is applied again and again.",
        _CONFIG,
    ),
    reject(
        "mig-parted-count-invalid",
        ("MP-10",),
        "A count is no whole number.",
        _SPEC,
    ),
    reject(
        "mig-parted-enabled-invalid",
        ("MP-10",),
        "`mig-enabled` is no boolean.",
        _SPEC,
    ),
    reject(
        "mig-parted-config-absent",
        ("MP-11", "OUR-8"),
        'The selected config is not in the document: "selected mig-config not present"; a node '
        "label with that name ends as `failed`.",
        f"{_ASSERT}/assert.go",
    ),
    accept(
        "mig-parted-config-not-selected",
        ("MP-11",),
        "Several configs and none selected, which no file says: the node label does. Each config "
        "is validated; with --gpu those for other GPUs are validated without it.",
        f"{_ASSERT}/assert.go",
    ),
    warn(
        "mig-parted-no-config",
        ("MP-1",),
        "The document is empty or has only a version: accepted, and there is no config a node "
        "could be given.",
        _SPEC,
    ),
    reject(
        "mig-parted-filter-dead",
        ("MP-12", "MP-14"),
        "A device filter is no PCI id (`0xDDDD10DE`): it never matches, no GPU is configured by "
        "the entry, and the config is never reached.",
        "NVIDIA/mig-parted api/spec/v1/helpers.go",
    ),
    warn(
        "mig-parted-filter-ignored",
        ("MP-12",),
        "One of several device filters is no PCI id and never matches; the others may.",
        "NVIDIA/mig-parted api/spec/v1/helpers.go",
    ),
    reject(
        "mig-parted-filter-too-new",
        ("MP-12",),
        "A filter names a subsystem (`0xDDDD10DE:0xSSSSVVVV`), which mig-parted before v0.15 "
        "cannot read: it never matches.",
        "NVIDIA/mig-parted pkg/types/device.go",
    ),
    reject(
        "mig-parted-gpus-unmatched",
        ("MP-14",),
        'A GPU of the node is matched by no entry: "not all GPUs match the specified config", '
        "and the node label ends as `failed`.",
        f"{_ASSERT}/config.go",
    ),
    reject(
        "mig-parted-skipped",
        ("MP-13", "MP-14"),
        "`devices: all` skips GPUs without MIG, and then no GPU is in the state that was asked "
        "for.",
        f"{_APPLY}/mode.go",
    ),
    warn(
        "mig-parted-spelling",
        ("MP-14",),
        "A profile is written in a form that is understood but not the one the driver reports, so "
        "what is on the GPU never equals it and the config is applied again and again.",
        _CONFIG,
    ),
    reject(
        "mig-parted-single-profiles",
        ("4.5-single", "OUR-2"),
        "The node's strategy is `single` and the config gives it several profiles, a GPU without "
        "instances, or only some GPUs in MIG mode: the device plugin fails.",
        "NVIDIA/k8s-device-plugin internal/rm/device_map.go",
    ),
    reject(
        "mig-parted-compute-instance-mixed",
        ("4.2", "OUR-21"),
        "The node's strategy is `mixed` and a profile asks for compute instances smaller than "
        'their GPU instance: "does not match any resource patterns".',
        "NVIDIA/k8s-device-plugin internal/rm/device_map.go",
    ),
    warn(
        "mig-parted-reset-needed",
        ("OUR-15", "4.4"),
        "Switching MIG mode on this GPU needs a GPU reset, and the MIG manager's environment is "
        "given without WITH_REBOOT: on clouds whose GPUs cannot be reset the change fails.",
        "NVIDIA/gpu-operator documentation",
    ),
    accept(
        "mig-parted-not-placed",
        ("MP-12",),
        "No GPU is named: the config was validated without hardware, and fits these GPUs.",
        "published placements",
    ),
    *text_rules("mig-parted"),
    *geometry.RULES,
)
