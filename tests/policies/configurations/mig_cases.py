"""Cases of MIG: mig-parted, a layout by itself, a strategy."""
# ruff: noqa: E501  # one case, one line

from typing import Any

from tests.policies.configurations.case_rows import A100, ARGUED, FINE, MIXED, SINGLE, CaseRow


def _parted(entry: str) -> str:
    return f"version: v1\nmig-configs: {{a: [{entry}]}}"


def _mig(devices: str) -> str:
    return _parted(f"{{devices: all, mig-enabled: true, mig-devices: {devices}}}")


def _geometry(layout: Any) -> list[CaseRow]:
    """Rules about hardware, for a kind whose documents `layout` makes."""
    return [
        ("mig-profile-unknown", layout("{1g.5gb: 1}"), None, A100),
        ("mig-layout-impossible", layout("{1g.10gb: 3, 2g.20gb: 1, 3g.40gb: 1}"), None, A100),
        ("mig-compute-instance-too-large", layout("{4c.3g.40gb: 1}"), None, A100),
        ("mig-placement-unknown", layout("{1g.24gb: 1}"), None, {"gpu": "RTX-PRO-5000-BLACKWELL-48GB"}),
        ("mig-layout-impossible", layout("{1g.24gb: 9}"), layout("{1g.24gb: 1}"), {"gpu": "RTX-PRO-5000-BLACKWELL-48GB"}),
        ("mig-profile-renamed", layout("{1g.24gb: 1}"), layout("{1g.23gb: 1}"), {"gpu": "GB200-186GB"}),
        ("mig-layout-wasteful", layout("{3g.40gb: 2}"), None, A100),
        ("mig-layout-unfinished", layout("{1g.10gb: 1}"), None, A100),
        ("mig-placement-inferred", layout("{1g.23gb: 7}"), layout("{}"), {"gpu": "B200-180GB"}),
    ]  # fmt: skip


MIG_PARTED: list[CaseRow] = [
    ("mig-parted-no-mapping", "[]", None, {}),
    ("mig-parted-version-missing", "mig-configs: {a: [{devices: all, mig-enabled: false}]}", None, {}),
    ("mig-parted-version-unknown", "version: v2", None, {}),
    ("mig-parted-version-missing", "{}", None, {}),
    ("mig-parted-version-unknown", "version: ", None, {}),
    ("mig-parted-key-unknown", "version: v1\nMig-configs: {}", None, {}),
    ("mig-parted-key-unknown", _parted("{devices: all, mig-enabled: false, x: 1}"), None, {}),
    ("mig-parted-empty", "version: v1\nmig-configs: {}", None, {}),
    ("mig-parted-empty", "version: v1\nmig-configs: {a: []}", None, {}),
    ("mig-parted-version-unknown", "version: 1\nmig-configs: {a: [{devices: all, mig-enabled: false}]}", None, {}),
    ("mig-parted-wrong-type", "version: v1\nmig-configs: [1]", None, {}),
    ("mig-parted-wrong-type", "version: v1\nmig-configs: {a: {}}", None, {}),
    ("mig-parted-wrong-type", "version: v1\nmig-configs: {a: [x]}", None, {}),
    ("mig-parted-wrong-type", _mig("[1]"), None, {}),
    ("mig-parted-wrong-type", _parted("{device-filter: 0x20B210DE, devices: all, mig-enabled: false}"), _parted("{device-filter: '0x20B210DE', devices: all, mig-enabled: false}"), {}),
    ("mig-parted-field-missing", _parted("{mig-enabled: false}"), None, {}),
    ("mig-parted-field-missing", _parted("{devices: all}"), None, {}),
    ("mig-parted-devices-invalid", _parted("{devices: every, mig-enabled: false}"), None, {}),
    ("mig-parted-devices-invalid", _parted("{devices: {}, mig-enabled: false}"), None, {}),
    ("mig-parted-devices-invalid", _parted("{devices: ['0'], mig-enabled: false}"), _parted("{devices: [0], mig-enabled: false}"), {}),
    ("mig-parted-devices-index", _parted("{devices: [-1, 0], mig-enabled: false}"), _parted("{devices: [0], mig-enabled: false}"), {}),
    ("mig-parted-devices-index", _parted("{devices: [0, 1, 2], mig-enabled: false}"), _parted("{devices: [0, 1], mig-enabled: false}"), ARGUED),
    ("mig-parted-devices-repeated", _parted("{devices: [0, 0, 1], mig-enabled: false}"), _parted("{devices: [0, 1], mig-enabled: false}"), {}),
    ("mig-parted-devices-overlap", _parted("{devices: all, mig-enabled: false}, {devices: [0], mig-enabled: true, mig-devices: {}}"), None, ARGUED),
    ("mig-parted-devices-twice", _parted("{devices: all, mig-enabled: false}, {devices: [0], mig-enabled: false}"), None, ARGUED),
    ("mig-parted-instances-missing", _parted("{devices: all, mig-enabled: true}"), _mig("{}"), {}),
    ("mig-parted-instances-without-mig", _parted("{devices: all, mig-enabled: false, mig-devices: {1g.10gb: 1}}"), _parted("{devices: all, mig-enabled: false, mig-devices: {}}"), {}),
    ("mig-parted-profile-malformed", _mig("{1g.5: 1}"), None, {}),
    ("mig-parted-profile-malformed", _mig("{1g.5gb.me: 1}"), _mig("{1g.5gb+me: 1}"), {}),
    ("mig-parted-profile-malformed", _mig("{1G.5GB: 1}"), _mig("{1g.5gb: 1}"), {}),
    ("mig-parted-profile-malformed", _mig("{1g.24gb+me-me: 1}"), _mig("{1g.24gb-me: 1}"), {}),
    ("mig-parted-count-negative", _mig("{1g.10gb: -1}"), None, {}),
    ("mig-parted-counts-zero", _mig("{1g.10gb: 0}"), _mig("{}"), {}),
    ("mig-parted-count-zero", _mig("{1g.10gb: 0, 2g.20gb: 1}"), _mig("{2g.20gb: 1}"), {}),
    ("mig-parted-count-invalid", _mig("{1g.10gb: '7'}"), None, {}),
    ("mig-parted-count-invalid", _mig("{1g.10gb: 1.5}"), _mig("{1g.10gb: 2.0}"), {}),
    ("mig-parted-enabled-invalid", _parted("{devices: all, mig-enabled: 'false'}"), _parted("{devices: all, mig-enabled: no}"), {}),
    ("mig-parted-config-absent", FINE["mig-parted"].replace("a:", "b:"), None, {"select": "a"}),
    ("mig-parted-config-not-selected", "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false}], b: [{devices: all, mig-enabled: false}]}", None, {}),
    ("mig-parted-no-config", "", None, {}),
    ("mig-parted-no-config", "version: v1", None, {}),
    ("mig-parted-filter-dead", _parted("{device-filter: H100, devices: all, mig-enabled: false}"), _parted("{device-filter: '0x233010DE', devices: all, mig-enabled: false}"), {}),
    ("mig-parted-filter-ignored", _parted("{device-filter: ['0x233010DE', H100], devices: all, mig-enabled: false}"), None, {}),
    ("mig-parted-filter-too-new", _parted("{device-filter: '0x233010DE:0x16C110DE', devices: all, mig-enabled: false}"), None, {"context": {"version": "v0.13.1"}}),
    ("mig-parted-gpus-unmatched", _parted("{devices: [0], mig-enabled: false}"), _parted("{devices: [0, 1], mig-enabled: false}"), ARGUED),
    ("mig-parted-gpus-unmatched", _parted("{devices: [1], mig-enabled: false}"), _parted("{devices: [0], mig-enabled: false}"), {}),
    ("mig-parted-gpus-unmatched", _parted("{device-filter: '0x233010DE', devices: all, mig-enabled: false}"), _parted("{device-filter: '0x20B210DE', devices: all, mig-enabled: false}"), ARGUED),
    ("mig-parted-skipped", FINE["mig-parted"], _parted("{devices: all, mig-enabled: false}"), {"gpu": "L4"}),
    ("mig-unsupported", _parted("{devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}"), _parted("{devices: [0], mig-enabled: false}"), {"gpu": "L4"}),
    ("mig-parted-spelling", _mig("{3c.3g.40gb: 2}"), _mig("{3g.40gb: 2}"), A100),
    ("mig-parted-single-profiles", _mig("{1g.10gb: 2, 2g.20gb: 1}"), _mig("{1g.10gb: 7}"), SINGLE),
    ("mig-parted-compute-instance-mixed", _mig("{1c.3g.40gb: 3}"), None, MIXED | {"context": {"gpusPerNode": 1, "env": {"MIG_STRATEGY": "mixed"}}}),
    ("mig-parted-reset-needed", FINE["mig-parted"], _parted("{devices: all, mig-enabled: false}"), {"gpu": "A100-80GB", "context": {"gpusPerNode": 1, "env": {}}}),
    ("mig-parted-not-placed", FINE["mig-parted"], _parted("{devices: all, mig-enabled: false}"), {"context": {"gpusPerNode": 1}}),
    ("config-key-repeated", "version: v2\n" + FINE["mig-parted"], None, {}),
    ("config-second-document", FINE["mig-parted"] + "\n---\nversion: v2\n", None, {}),
    ("mig-layout-nowhere", _mig("{3g.40gb: 2, 1g.10gb: 1}"), None, {}),
    *_geometry(_mig),
]  # fmt: skip
