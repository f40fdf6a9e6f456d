"""For every rule of `gpufleet check`: a document that breaks it, and one close to it that does not.

A case is (code, broken document, fine document or None, circumstances). None stands for the kind's
document in FINE. Circumstances are keyword arguments of `judge_text` for both documents.
"""
# ruff: noqa: E501  # one case, one line

from typing import Any

from tests.unit.contract.foreign.autoscaler_cases import CASES as AUTOSCALER
from tests.unit.contract.foreign.autoscaler_cases import FINE_TEXT as AUTOSCALER_FINE
from tests.unit.contract.foreign.karpenter_cases import CASES as KARPENTER
from tests.unit.contract.foreign.karpenter_cases import FINE_TEXT as KARPENTER_FINE

Circumstances = dict[str, Any]
CaseRow = tuple[str, str, str | None, Circumstances]

FINE = {
    "mig-parted": "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true, "
    "mig-devices: {1g.10gb: 7}}]}",
    "mig-placement": '{"1g.10gb": 7}',
    "mig-strategy": '{"strategy": "mixed", "gpus": [{"1g.10gb": 7}, null]}',
    "device-plugin": "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
    "dra-config": "apiVersion: resource.nvidia.com/v1beta1\nkind: GpuConfig",
    "gpu-operator-values": "mig: {strategy: mixed}",
    "network-operator-values": "nfd: {enabled: false}",
    "rdma-shared-config": '{"configList": [{"resourceName": "rdma-a", "rdmaHcaMax": 63, '
    '"selectors": {"vendors": ["15b3"]}}]}',
    "sriov-config": '{"resourceList": [{"resourceName": "hostdev", '
    '"selectors": {"vendors": ["15b3"]}}]}',
    "karpenter": KARPENTER_FINE,
    "autoscaler": AUTOSCALER_FINE,
}


def _parted(entry: str) -> str:
    return f"version: v1\nmig-configs: {{a: [{entry}]}}"


def _mig(devices: str) -> str:
    return _parted(f"{{devices: all, mig-enabled: true, mig-devices: {devices}}}")


A100: Circumstances = {"gpu": "A100-80GB"}
ARGUED: Circumstances = {"gpu": "A100-80GB", "context": {"gpusPerNode": 2}}
MIXED: Circumstances = {"gpu": "A100-80GB", "context": {"env": {"MIG_STRATEGY": "mixed"}}}
SINGLE: Circumstances = {
    "gpu": "A100-80GB",
    "context": {"gpusPerNode": 2, "env": {"MIG_STRATEGY": "single"}},
}


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
    ("mig-parted-version-unknown", "{}", None, {}),
    ("mig-parted-version-unknown", "version: ", None, {}),
    ("mig-parted-key-unknown", "version: v1\nMig-configs: {}", None, {}),
    ("mig-parted-key-unknown", _parted("{devices: all, mig-enabled: false, x: 1}"), None, {}),
    ("mig-parted-empty", "version: v1\nmig-configs: {}", None, {}),
    ("mig-parted-empty", "version: v1\nmig-configs: {a: []}", None, {}),
    ("mig-parted-wrong-type", "version: 1\nmig-configs: {a: [{devices: all, mig-enabled: false}]}", None, {}),
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
    ("mig-parted-key-repeated", "version: v2\n" + FINE["mig-parted"], None, {}),
    ("mig-parted-second-document", FINE["mig-parted"] + "\n---\nversion: v2\n", None, {}),
    ("mig-layout-nowhere", _mig("{3g.40gb: 2, 1g.10gb: 1}"), None, {}),
    *_geometry(_mig),
]  # fmt: skip

MIG_PLACEMENT: list[CaseRow] = [
    ("mig-placement-no-mapping", "[1]", None, {}),
    ("mig-profile-malformed", '{"1g.10gb.me": 1}', '{"1g.10gb+me": 1}', A100),
    ("mig-count-invalid", '{"1g.10gb": "7"}', None, A100),
    ("mig-count-invalid", '{"1g.10gb": -1}', None, A100),
    ("mig-count-zero", '{"1g.10gb": 0, "2g.20gb": 1}', '{"2g.20gb": 1}', A100),
    ("mig-counts-zero", '{"1g.10gb": 0}', "{}", A100),
    ("mig-compute-instance-mixed", '{"1c.3g.40gb": 3}', '{"3g.40gb": 1}', MIXED),
    ("mig-compute-instance", '{"1c.3g.40gb": 3}', '{"3g.40gb": 1}', A100),
    ("mig-single-profiles", '{"1g.10gb": 1, "2g.20gb": 1}', '{"1g.10gb": 7}', SINGLE),
    ("mig-placement-key-repeated", '{"1g.10gb": 1, "1g.10gb": 2}', None, A100),
    ("mig-placement-second-document", '{"1g.10gb": 7}\n---\n{}', None, A100),
    ("mig-layout-nowhere", '{"3g.40gb": 2, "1g.10gb": 1}', None, {}),
    ("mig-unsupported", '{"1g.10gb": 1}', None, {"gpu": "L4"}),
    *_geometry(str),
]


def _strategy(devices: str) -> str:
    return f"{{strategy: mixed, gpus: [{devices}]}}"


MIG_STRATEGY: list[CaseRow] = [
    ("mig-strategy-invalid", "[]", None, {}),
    ("mig-strategy-invalid", "{strategy: mixed}", None, {}),
    ("mig-strategy-invalid", "{strategy: mixed, gpus: [3]}", None, {}),
    ("mig-strategy-unknown", "{strategy: both, gpus: [null]}", None, {}),
    ("mig-strategy-gpu-count", _strategy("null"), None, ARGUED),
    ("mig-strategy-none-ignores-mig", "{strategy: none, gpus: [{1g.10gb: 7}]}", "{strategy: none, gpus: [null]}", {}),
    ("mig-strategy-single-profiles", "{strategy: single, gpus: [{1g.10gb: 1, 2g.20gb: 1}]}", "{strategy: single, gpus: [{1g.10gb: 7}, {1g.10gb: 7}]}", {}),
    ("mig-strategy-single-profiles", "{strategy: single, gpus: [{1g.10gb: 7}, {3g.40gb: 2}]}", None, {}),
    ("mig-strategy-single-mode", "{strategy: single, gpus: [{1g.10gb: 7}, null]}", "{strategy: single, gpus: [null, null]}", {}),
    ("mig-strategy-single-empty", "{strategy: single, gpus: [{}]}", None, {}),
    ("mig-strategy-mixed-empty", _strategy("{}"), None, {}),
    ("mig-strategy-mixed-compute-instance", _strategy("{1c.3g.40gb: 3}"), "{strategy: single, gpus: [{1c.3g.40gb: 3}]}", {}),
    ("mig-profile-malformed", _strategy("{1G.10GB: 1}"), None, {}),
    ("mig-count-invalid", _strategy("{1g.10gb: x}"), None, {}),
    ("mig-count-zero", _strategy("{1g.10gb: 0, 2g.20gb: 1}"), None, {}),
    ("mig-counts-zero", _strategy("{1g.10gb: 0}"), None, {}),
    ("mig-strategy-key-repeated", "{strategy: none, strategy: mixed, gpus: [null]}", None, {}),
    ("mig-strategy-second-document", _strategy("null") + "\n---\n1", None, {}),
    ("mig-strategy-key-misspelt", "{strategy: mixed, gpu: [null], gpus: [null]}", None, {}),
    ("mig-strategy-key-unknown", "{strategy: mixed, node: x, gpus: [null]}", None, {}),
    ("mig-unsupported", _strategy("{1g.10gb: 1}"), _strategy("null"), {"gpu": "L4"}),
    *_geometry(_strategy),
]  # fmt: skip


def _slicing(entry: str) -> str:
    return f"sharing: {{timeSlicing: {{resources: [{entry}]}}}}"


def _mps(entry: str = "{name: gpu, replicas: 4}", flags: str = "mpsRoot: /run/nvidia/mps") -> str:
    return f"flags: {{{flags}}}\nsharing: {{mps: {{resources: [{entry}]}}}}"


CHART = {"name": "nvidia-device-plugin", "values": {}}


def _chart(**values: Any) -> Circumstances:
    return {"context": {"chart": {**CHART, "values": values}}}


DEVICE_PLUGIN: list[CaseRow] = [
    ("device-plugin-no-mapping", "- 1", "", {}),
    ("device-plugin-version-unknown", "version: v2", "version: v1", {}),
    ("device-plugin-version-unknown", "version: 1", "version: ", {}),
    ("device-plugin-wrong-type", "flags: {migStrategy: 1}", "flags: {migStrategy: }", {}),
    ("device-plugin-wrong-type", "flags: {failOnInitError: 'true'}", "flags: {failOnInitError: yes}", {}),
    ("device-plugin-wrong-type", "flags: {gfd: {sleepInterval: 1h30}}", "flags: {gfd: {sleepInterval: 1h30m}}", {}),
    ("device-plugin-wrong-type", "sharing: []", "sharing: ", {}),
    ("device-plugin-no-resources", "sharing: {timeSlicing: {}}", None, {}),
    ("device-plugin-no-resources", "sharing: {timeSlicing: }", "sharing: {mps: }", {}),
    ("device-plugin-no-resources", "sharing: {timeSlicing: {Resources: [{name: gpu, replicas: 2}]}}", "Sharing: {TimeSlicing: {resources: [{name: gpu, replicas: 2}]}}", {}),
    ("device-plugin-resource-name-missing", _slicing("{replicas: 2}"), None, {}),
    ("device-plugin-replicas-missing", _slicing("{name: gpu}"), None, {}),
    ("device-plugin-replicas-invalid", _slicing("{name: gpu, replicas: 1}"), _slicing("{name: gpu, replicas: 2}"), {}),
    ("device-plugin-replicas-invalid", _slicing("{name: gpu, replicas: '2'}"), _slicing("{name: gpu, replicas: 2.0}"), {}),
    ("device-plugin-replicas-invalid", _slicing("{name: gpu, replicas: 2.5}"), None, {}),
    ("device-plugin-devices-invalid", _slicing("{name: gpu, replicas: 2, devices: some}"), _slicing("{name: gpu, replicas: 2, devices: all}"), {}),
    ("device-plugin-devices-invalid", _slicing("{name: gpu, replicas: 2, devices: 0}"), None, {}),
    ("device-plugin-devices-invalid", _slicing("{name: gpu, replicas: 2, devices: [GPU-1]}"), _slicing("{name: gpu, replicas: 2, devices: [0, '0:1', GPU-b1028956-cfa2-0990-bf4a-5da9abb51763]}"), {}),
    ("device-plugin-devices-ignored", _slicing("{name: gpu, replicas: 2, devices: 1}"), _slicing("{name: gpu, replicas: 2, devices: all}"), {}),
    ("device-plugin-rename-ignored", _slicing("{name: gpu, replicas: 2, rename: big}"), "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: 2, rename: gpu.shared}]}}", {}),
    ("device-plugin-name-invalid", _slicing("{name: mig-1g.10gb+me, replicas: 2}"), _slicing("{name: mig-1g.10gb.me, replicas: 2}"), {}),
    ("device-plugin-name-invalid", _slicing("{name: GPU, replicas: 2}"), _slicing("{name: gpu, replicas: 2}"), {}),
    ("device-plugin-name-invalid", _slicing("{name: example.com/gpu, replicas: 2}"), None, {}),
    ("device-plugin-name-invalid", _slicing(f"{{name: {'a' * 53}, replicas: 2}}"), None, {}),
    ("device-plugin-mps-mixed", _mps(flags="mpsRoot: /x, migStrategy: mixed"), _mps(), {}),
    ("device-plugin-mps-root-missing", "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}", _mps(), {}),
    ("device-plugin-mps-on-mig", _mps(), FINE["device-plugin"], {"context": {"product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}}),
    ("device-plugin-mps-on-mig", _mps(), FINE["device-plugin"], {"context": {"gpus": [{"1g.10gb": 7}]}}),
    ("device-plugin-mps-single", _mps(flags="mpsRoot: /x, migStrategy: single"), _mps(), {}),
    ("device-plugin-mps-too-many-clients", _mps("{name: gpu, replicas: 49}"), _mps("{name: gpu, replicas: 48}"), {}),
    ("device-plugin-mps-too-many-clients", _mps("{name: gpu, replicas: 17}"), _mps("{name: gpu, replicas: 16}"), {"gpu": "V100-16GB"}),
    ("device-plugin-mps-unsupported", _mps(), None, {"gpu": "K520"}),
    ("device-plugin-mps-wins", _mps() .replace("{mps:", "{timeSlicing: {resources: [{name: gpu, replicas: 2}]}, mps:"), _mps(), {}),
    ("device-plugin-mps-one-request", _mps().replace("{resources:", "{failRequestsGreaterThanOne: false, resources:"), _mps(), {}),
    ("device-plugin-key-misspelt", "sharing: {timeSlice: {resources: [{name: gpu, replicas: 2}]}}", None, {}),
    ("device-plugin-key-unknown", _slicing("{name: gpu, replicas: 2, interval: 10}"), None, {}),
    ("device-plugin-key-misplaced", "flags: {plugin: {migStrategy: mixed}}", "flags: {migStrategy: mixed}", {}),
    ("device-plugin-key-case", "Flags: {MigStrategy: none}", None, {}),
    ("device-plugin-key-case-repeated", "Version: v1\nversion: v1", None, {}),
    ("device-plugin-resource-repeated", _slicing("{name: gpu, replicas: 2}, {name: nvidia.com/gpu, replicas: 3}"), None, {}),
    ("device-plugin-resource-not-offered", "flags: {migStrategy: single}\n" + _slicing("{name: mig-1g.10gb, replicas: 2}"), "flags: {migStrategy: mixed}\n" + _slicing("{name: mig-1g.10gb, replicas: 2}"), {}),
    ("device-plugin-resource-not-offered", "flags: {migStrategy: mixed}\n" + FINE["device-plugin"], "flags: {migStrategy: single}\n" + FINE["device-plugin"], {"context": {"gpus": [{"1g.10gb": 7}]}}),
    ("device-plugin-resource-skipped", _slicing("{name: gpu, replicas: 2}, {name: foo, replicas: 2}"), None, {}),
    ("device-plugin-resource-needs-mixed", _slicing("{name: mig-1g.10gb, replicas: 2}"), None, {}),
    ("device-plugin-choice-unknown", "flags: {migStrategy: both}", "flags: {migStrategy: mixed}", {}),
    ("device-plugin-choice-unknown", "flags: {deviceDiscoveryStrategy: x}", "flags: {deviceDiscoveryStrategy: nvml}", {}),
    ("device-plugin-choice-unknown", "flags: {plugin: {deviceListStrategy: [envvar, x]}}", "flags: {plugin: {deviceListStrategy: [envvar, cdi-cri]}}", {}),
    ("device-plugin-choice-unknown", "flags: {plugin: {deviceIDStrategy: x}}", "flags: {plugin: {deviceIDStrategy: index}}", {}),
    ("device-plugin-choice-unknown", "flags: {plugin: {sharedDevicesAllocationPolicy: x}}", "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}", {}),
    ("device-plugin-env-wins", "flags: {migStrategy: none}", "flags: {migStrategy: mixed}", {"context": {"env": {"MIG_STRATEGY": "mixed"}}}),
    ("device-plugin-imex-channels", "imex: {channelIDs: [1]}", "imex: {channelIDs: [0]}", {}),
    ("device-plugin-resources-incomplete", "resources: {gpus: [{pattern: '*'}]}", "resources: {gpus: [{pattern: '*', name: gpu}]}", {}),
    ("device-plugin-resources-ignored", "resources: {gpus: [{pattern: '*', name: gpu}]}", "resources: {}", {}),
    ("device-plugin-chart-default-namespace", FINE["device-plugin"], None, {"context": {"chart": {**CHART, "namespace": "default"}}}),
    ("device-plugin-chart-two-configs", FINE["device-plugin"], None, _chart(config={"name": "x", "map": {"a": ""}})),
    ("device-plugin-chart-no-default", FINE["device-plugin"], None, _chart(config={"map": {"a": "", "b": ""}})),
    ("device-plugin-chart-namespace-value", FINE["device-plugin"], None, _chart(namespace="x")),
    ("device-plugin-chart-default-absent", FINE["device-plugin"], None, _chart(config={"map": {"a": ""}, "default": "b"})),
    ("device-plugin-key-absent", "apiVersion: v1\nkind: ConfigMap\ndata: {a: 'version: v1'}", "apiVersion: v1\nkind: ConfigMap\ndata: {b: 'version: v1'}", {"select": "b"}),
    ("device-plugin-key-repeated", "version: v1\nversion: v1", None, {}),
    ("device-plugin-second-document", "version: v1\n---\nversion: v2", None, {}),
]  # fmt: skip


def _dra(body: str = "", kind: str = "GpuConfig") -> str:
    return f"apiVersion: resource.nvidia.com/v1beta1\nkind: {kind}\n{body}"


def _gates(*names: str, **more: Any) -> Circumstances:
    return {"context": {"featureGates": dict.fromkeys(names, True), **more}}


TS, MPS = _gates("TimeSlicingSettings"), _gates("MPSSupport")
DOMAIN = _dra("spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: x}}}", "ComputeDomain")


def _dra_chart(**values: Any) -> Circumstances:
    values = {"gpuResourcesEnabledOverride": True, **values}
    return {"context": {"chart": {"name": "dra-driver-nvidia-gpu", "values": values}}}


DRA: list[CaseRow] = [
    ("dra-no-config", "[]", None, {}),
    ("dra-no-config", "opaque: {driver: gpu.nvidia.com, parameters: 3}", None, {}),
    ("dra-gate-missing", _dra("sharing: {strategy: TimeSlicing}"), None, {}),
    ("dra-gate-missing", _dra("sharing: {strategy: MPS}"), _dra("sharing: {strategy: TimeSlicing}"), TS),
    ("dra-strategy-unknown", _dra("sharing: {strategy: timeslicing}"), None, TS),
    ("dra-strategy-unknown", _dra("sharing: {}"), _dra("sharing: "), TS),
    ("dra-interval-unknown", _dra("sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: short}}"), _dra("sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}"), TS),
    ("dra-interval-missing", _dra("sharing: {strategy: TimeSlicing, timeSlicingConfig: {}}"), _dra("sharing: {strategy: TimeSlicing, timeSlicingConfig: }"), TS),
    ("dra-threads-invalid", _dra("sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 101}}"), _dra("sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 0}}"), MPS),
    ("dra-memory-too-low", _dra("sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 1M}}"), _dra("sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 1Mi}}"), MPS),
    ("dra-memory-too-low", _dra("sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 0}}"), None, MPS),
    ("dra-memory-invalid", _dra("sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 2GB}}"), _dra("sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 2Gi}}"), MPS),
    ("dra-memory-rounded", _dra("sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 10M}}"), _dra("sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 2Gi}}"), MPS),
    ("dra-device-unknown", _dra("sharing: {strategy: MPS, mpsConfig: {defaultPerDevicePinnedMemoryLimit: {first: 1Gi}}}"), _dra("sharing: {strategy: MPS, mpsConfig: {defaultPerDevicePinnedMemoryLimit: {'0': 1Gi}}}"), MPS),
    ("dra-other-strategy-config", _dra("sharing: {strategy: MPS, timeSlicingConfig: {interval: Short}}"), _dra("sharing: {strategy: MPS}"), MPS),
    ("dra-other-strategy-config", _dra("sharing: {strategy: TimeSlicing, mpsConfig: {}}"), None, TS),
    ("dra-mig-mps-config-ignored", _dra("sharing: {strategy: TimeSlicing, mpsConfig: {}}", "MigDeviceConfig"), _dra("sharing: {strategy: TimeSlicing}", "MigDeviceConfig"), TS),
    ("dra-field-unknown", _dra("Sharing: {strategy: TimeSlicing}"), _dra("sharing: {strategy: TimeSlicing}"), TS),
    ("dra-field-unknown", _dra("sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}", "MigDeviceConfig"), None, TS),
    ("dra-field-unknown", _dra("sharing: {strategy: MPS, mpsConfig: {multiUser: true}}"), None, MPS),
    ("dra-wrong-type", _dra("sharing: [1]"), None, TS),
    ("dra-kind-unknown", "apiVersion: gpu.nvidia.com/v1alpha1\nkind: GpuConfig", None, {}),
    ("dra-kind-unknown", _dra(kind="GPUConfig"), None, {}),
    ("dra-driver-mismatch", "opaque:\n  driver: compute-domain.nvidia.com\n  parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}", "opaque:\n  driver: gpu.nvidia.com\n  parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}", {}),
    ("dra-domain-missing", _dra(kind="ComputeDomainChannelConfig"), _dra("domainID: x", "ComputeDomainChannelConfig"), {}),
    ("dra-domain-missing", _dra("domainID: ''", "ComputeDomainDaemonConfig"), _dra("domainID: x", "ComputeDomainDaemonConfig"), {}),
    ("dra-allocation-mode-ignored", _dra("domainID: x\nallocationMode: some", "ComputeDomainChannelConfig"), _dra("domainID: x\nallocationMode: All", "ComputeDomainChannelConfig"), {}),
    ("dra-iommu-policy-unknown", _dra("iommu: {backendPolicy: Legacy}", "VfioDeviceConfig"), _dra("iommu: {backendPolicy: LegacyOnly}", "VfioDeviceConfig"), _gates("PassthroughSupport")),
    ("dra-vfio-webhook", _dra(kind="VfioDeviceConfig"), None, {"context": {"featureGates": {"PassthroughSupport": True}, "chart": {"name": "dra-driver-nvidia-gpu", "values": {"gpuResourcesEnabledOverride": True, "webhook": {"enabled": True}}}}}),
    ("dra-vfio-gate", _dra(kind="VfioDeviceConfig"), None, {}),
    ("dra-gates-conflict", _dra(), None, _gates("DynamicMIG", "MPSSupport")),
    ("dra-gates-conflict", _dra(), None, _gates("DynamicMIG", "PassthroughSupport")),
    ("dra-gates-conflict", _dra(), None, _gates("PassthroughSupport", "NVMLDeviceHealthCheck")),
    ("dra-gates-conflict", _dra(), None, _gates("DeviceMetadata")),
    ("dra-gates-conflict", _dra(), None, {"context": {"featureGates": {"IMEXDaemonsWithDNSNames": False}}}),
    ("dra-gate-unknown", _dra(), None, _gates("Bogus")),
    ("dra-gate-unknown", _dra(), None, _gates("ConsumableShares")),
    ("dra-consumable-shares-invalid", _dra(), None, {"context": {"version": "0.5.0", "chart": {"name": "dra-driver-nvidia-gpu", "values": {"gpuResourcesEnabledOverride": True, "consumableShares": "half"}}}}),
    ("dra-consumable-shares-gate", _dra(), None, {"context": {"version": "0.5.0", "chart": {"name": "dra-driver-nvidia-gpu", "values": {"gpuResourcesEnabledOverride": True, "consumableShares": "4"}}}}),
    ("dra-consumable-shares-mps", _dra("sharing: {strategy: MPS}"), _dra(), {"context": {"version": "0.5.0", "featureGates": {"MPSSupport": True, "ConsumableShares": True}, "chart": {"name": "dra-driver-nvidia-gpu", "values": {"gpuResourcesEnabledOverride": True, "consumableShares": "memory"}}}}),
    ("dra-chart-gpus-override", _dra(), None, _dra_chart(gpuResourcesEnabledOverride=False)),
    ("dra-chart-default-namespace", _dra(), None, {"context": {"chart": {"name": "dra-driver-nvidia-gpu", "namespace": "default"}}}),
    ("dra-chart-value-removed", _dra(), None, _dra_chart(nvidiaCtkPath="/x")),
    ("dra-chart-webhook-tls", _dra(), None, _dra_chart(webhook={"enabled": True, "tls": {"mode": "x"}})),
    ("dra-chart-webhook-tls", _dra(), None, _dra_chart(webhook={"enabled": True, "tls": {"certManager": {"issuerType": "issuer"}}})),
    ("dra-chart-webhook-tls", _dra(), None, _dra_chart(webhook={"enabled": True, "tls": {"mode": "secret"}})),
    ("dra-chart-kubernetes", _dra(), None, {"context": {"chart": {"name": "dra-driver-nvidia-gpu", "kubernetesVersion": "1.31"}}}),
    ("dra-domain-nodes", DOMAIN.replace("numNodes: 0", "numNodes: -1"), DOMAIN, {}),
    ("dra-domain-nodes-required", DOMAIN.replace("numNodes: 0, ", ""), DOMAIN, {"context": {"chart": "gpu-operator"}}),
    ("dra-domain-mode", DOMAIN.replace("channel: {", "channel: {allocationMode: Some, "), DOMAIN, {}),
    ("dra-domain-channel", _dra("spec: {numNodes: 0}", "ComputeDomain"), DOMAIN, {}),
    ("dra-domain-immutable", DOMAIN.replace("name: x", "name: y"), DOMAIN, {"context": {"previous": {"spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "x"}}}}}}),
    ("dra-plugin-too", _dra(), None, {"context": {"chart": {"name": "gpu-operator", "values": {}}}}),
    ("dra-key-repeated", _dra("sharing: \nsharing: "), None, {}),
    ("dra-second-document", _dra() + "\n---\n" + _dra(), None, {}),
]  # fmt: skip


def _driver(name: str, spec: str) -> str:
    return f"{{apiVersion: nvidia.com/v1alpha1, kind: NVIDIADriver, metadata: {{name: {name}}}, spec: {spec}}}"


def _list(*items: str) -> str:
    return "apiVersion: v1\nkind: List\nitems: [" + ", ".join(items) + "]"


POLICY = (
    "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nspec: {operator: {}, daemonsets: {}, driver: {}, "
    "toolkit: {}, devicePlugin: {}, dcgmExporter: {}, dcgm: {}, nodeStatusExporter: {}, gfd: {}}"
)
SLICED = 'devicePlugin: {config: {data: {a: "' + FINE["device-plugin"] + '"}}}\n'
POD = "extraObjects: [{kind: Pod, spec: {%s, containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}}]\n"

GPU_OPERATOR: list[CaseRow] = [
    ("gpu-operator-no-mapping", "[]", "", {}),
    ("gpu-operator-two-stacks", "gpuCluster: {deployCR: true}\ndriver: {enabled: false}", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}\ndriver: {enabled: false}", {}),
    ("gpu-operator-cluster-driver", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}\ndriver: {nvidiaDriverCRD: {enabled: true}}", {}),
    ("gpu-operator-nri-cdi", "cdi: {nriPluginEnabled: true, enabled: false}", "cdi: {nriPluginEnabled: true}", {}),
    ("gpu-operator-nri-toolkit", "cdi: {nriPluginEnabled: true}\ntoolkit: {enabled: false}", "cdi: {nriPluginEnabled: true}", {}),
    ("gpu-operator-plugin-config-empty", "devicePlugin: {config: {create: true, name: x}}", "devicePlugin: {config: {create: true, name: x, data: {a: 'version: v1'}}}", {}),
    ("gpu-operator-plugin-config-empty", "devicePlugin: {config: {create: true, data: {a: 'version: v1'}}}", None, {}),
    ("gpu-operator-no-dra", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}\ndriver: {enabled: false}", None, {"context": {"chart": {"kubernetesVersion": "1.33"}}}),
    ("gpu-operator-mig-config-empty", "migManager: {config: {create: true, name: x}}", "migManager: {config: {create: true, name: x, data: {config.yaml: 'version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false}]}'}}}".replace("\n", "\\n").replace("'", '"'), {}),
    ("gpu-operator-mig-config-nothing", "migManager: {config: {create: true}}", None, {}),
    ("gpu-operator-mig-config-key", "migManager: {config: {create: true, name: x, data: {a: 'version: v1'}}}", None, {}),
    ("gpu-operator-choice-unknown", "mig: {strategy: both}", None, {}),
    ("gpu-operator-choice-unknown", "migManager: {config: {default: all-balanced}}", "migManager: {config: {default: all-disabled}}", {}),
    ("gpu-operator-choice-unknown", "sandboxWorkloads: {defaultWorkload: vm}", None, {}),
    ("gpu-operator-choice-unknown", "driver: {kernelModuleType: closed}", "driver: {kernelModuleType: open}", {}),
    ("gpu-operator-choice-unknown", "daemonsets: {updateStrategy: Recreate}", None, {}),
    ("gpu-operator-choice-unknown", "ccManager: {defaultMode: maybe}", "ccManager: {defaultMode: 'on'}", {}),
    ("gpu-operator-number-negative", "driver: {upgradePolicy: {maxParallelUpgrades: -1}}", "driver: {upgradePolicy: {maxParallelUpgrades: 0}}", {}),
    ("gpu-operator-number-negative", "driver: {upgradePolicy: {gpuPodDeletion: {timeoutSeconds: -5}}}", None, {}),
    ("gpu-operator-duration-invalid", "dcgmExporter: {serviceMonitor: {interval: 15 s}}", "dcgmExporter: {serviceMonitor: {interval: 15s}}", {}),
    ("gpu-operator-wrong-type", "ccManager: {defaultMode: on}", "ccManager: {defaultMode: 'on'}", {}),
    ("gpu-operator-switch-as-text", "nfd: {enabled: 'false'}", "nfd: {enabled: false}", {}),
    ("gpu-operator-driver-default-selector", _driver("a", "{default: true, nodeSelector: {a: b}}"), _driver("a", "{default: true}"), {}),
    ("gpu-operator-driver-two-defaults", _list(_driver("a", "{default: true}"), _driver("b", "{default: true}")), None, {}),
    ("gpu-operator-driver-overlap", _list(_driver("a", "{nodeSelector: {a: b}}"), _driver("b", "{nodeSelector: {a: b, c: d}}")), _list(_driver("a", "{nodeSelector: {a: b}}"), _driver("b", "{nodeSelector: {a: c}}")), {}),
    ("gpu-operator-driver-immutable", _driver("a", "{usePrecompiled: true}"), _driver("a", "{}"), {"context": {"previous": {"kind": "NVIDIADriver", "metadata": {"name": "a"}, "spec": {}}}}),
    ("gpu-operator-cluster-name", "apiVersion: nvidia.com/v1alpha1\nkind: GPUCluster\nmetadata: {name: x}\nspec: {draDriver: {}}", "apiVersion: nvidia.com/v1alpha1\nkind: GPUCluster\nmetadata: {name: gpu-cluster}\nspec: {draDriver: {}}", {}),
    ("gpu-operator-host-users", POD % "hostUsers: false", POD % "hostUsers: true", {}),
    ("gpu-operator-policy-incomplete", POLICY.replace(", gfd: {}", ""), POLICY, {}),
    ("gpu-operator-key-misspelt", "migManger: {enabled: false}", None, {}),
    ("gpu-operator-key-unknown", "somethingElse: 1", None, {}),
    ("gpu-operator-key-ignored", "driver: {useOpenKernelModules: true}", None, {}),
    ("gpu-operator-key-ignored", "cdi: {default: true}", None, {}),
    ("gpu-operator-plugin-default-absent", "devicePlugin: {config: {default: b, data: {a: 'version: v1'}}}", "devicePlugin: {config: {default: a, data: {a: 'version: v1'}}}", {}),
    ("gpu-operator-reset-needed", "mig: {strategy: mixed}", "mig: {strategy: mixed}\nmigManager: {env: [{name: WITH_REBOOT, value: 'true'}]}", A100),
    ("gpu-operator-dra-too", "", "devicePlugin: {enabled: false}", _dra_chart()),
    ("gpu-operator-nfd-twice", "", "nfd: {enabled: false}", {"context": {"chart": {"name": "network-operator", "values": {}}}}),
    ("gpu-operator-metric-mig", "mig: {strategy: mixed}\ndcgmExporter: {config: {data: 'DCGM_FI_DEV_GPU_UTIL, gauge, x'}}", "mig: {strategy: none}\ndcgmExporter: {config: {data: 'DCGM_FI_DEV_GPU_UTIL, gauge, x'}}", {}),
    ("gpu-operator-pod-metrics-shared", SLICED + "dcgmExporter: {enablePodLabels: true}", SLICED, {}),
    ("gpu-operator-precompiled-extras", "driver: {usePrecompiled: true, version: '595'}\ngds: {enabled: true}", "driver: {usePrecompiled: true, version: '595'}", {}),
    ("gpu-operator-precompiled-version", "driver: {usePrecompiled: true}", "driver: {usePrecompiled: true, version: '595'}", {}),
    ("gpu-operator-gds-proprietary", "driver: {kernelModuleType: proprietary}\ngds: {enabled: true}", "driver: {kernelModuleType: open}\ngds: {enabled: true}", {}),
    ("gpu-operator-vgpu-image", "vgpuManager: {enabled: true}\nsandboxWorkloads: {enabled: true}", "vgpuManager: {enabled: true, repository: r, version: v}\nsandboxWorkloads: {enabled: true}", {}),
    ("gpu-operator-vgpu-without-sandbox", "vgpuManager: {enabled: true, repository: r, version: v}", None, {}),
    ("gpu-operator-product-selector", SLICED + POD % "nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}", SLICED + POD % "nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4-SHARED}", {}),
    ("gpu-operator-key-repeated", "nfd: {}\nnfd: {}", None, {}),
    ("gpu-operator-second-document", "nfd: {}\n---\nnfd: {}", None, {}),
    ("device-plugin-version-unknown", "devicePlugin: {config: {data: {a: 'version: v2'}}}", None, {}),
    ("mig-parted-empty", 'migManager: {config: {data: {config.yaml: "version: v1\\nmig-configs: {}"}}}', None, {}),
]  # fmt: skip

OFED = "image: doca-driver, repository: nvcr.io/nvidia/mellanox, version: %s"
IMAGE = "image: x, repository: nvcr.io/nvidia/mellanox"


def _nic(spec: str, name: str = "nic-cluster-policy", kind: str = "NicClusterPolicy") -> str:
    return (
        f"{{apiVersion: mellanox.com/v1alpha1, kind: {kind}, metadata: {{name: {name}}}, "
        f"spec: {{{spec}}}}}"
    )


def _ofed(version: str, more: str = "") -> str:
    return _nic(f"ofedDriver: {{{OFED % version}{more}}}")


GOOD_OFED = _ofed("doca3.4.1-26.04-1.1.0.0-1")

NETWORK_OPERATOR: list[CaseRow] = [
    ("network-operator-no-mapping", "[]", "", {}),
    ("network-operator-key-misspelt", "sriovNetworkOperater: {enabled: true}", None, {}),
    ("network-operator-key-unknown", "whatever: 1", None, {}),
    ("network-operator-section-moved", "nfd: {enabled: true}\ndeployCR: true", None, {}),
    ("network-operator-bare-spec", f"ofedDriver: {{{OFED % '24.01-0.3.3.1-0'}}}", None, {}),
    ("network-operator-nfd-twice", "", "nfd: {enabled: false}", {"context": {"chart": {"name": "gpu-operator", "values": {}}}}),
    ("network-operator-kubernetes", "", None, {"context": {"chart": {"kubernetesVersion": "1.20"}}}),
    ("network-operator-switch-as-text", "nfd: {enabled: 'false'}", None, {}),
    ("nic-policy-name", _nic("", "other"), _nic(""), {}),
    ("nic-policy-image-missing", _nic("nvIpam: {repository: nvcr.io/x}"), _nic("nvIpam: {image: x, repository: nvcr.io/x}"), {}),
    ("nic-policy-wrong-type", _nic(f"rdmaSharedDevicePlugin: {{{IMAGE}, config: {{}}}}"), None, {}),
    ("nic-policy-ofed-version", _ofed("23-10-0.2.2.0"), _ofed("23.10-0.2.2.0"), {}),
    ("nic-policy-ofed-version", _ofed("doca3.6.0-26.10-016000-ubuntu24.04-amd64"), GOOD_OFED, {}),
    ("nic-policy-safe-load", _ofed("24.01-0.3.3.1-0", ", upgradePolicy: {safeLoad: true}"), _ofed("24.01-0.3.3.1-0", ", upgradePolicy: {safeLoad: true, autoUpgrade: true}"), {}),
    ("nic-policy-guid", _nic(f"ibKubernetes: {{{IMAGE}, pKeyGUIDPoolRangeStart: '00:00', pKeyGUIDPoolRangeEnd: '00:00:00:00:00:00:00:01'}}"), _nic(f"ibKubernetes: {{{IMAGE}, pKeyGUIDPoolRangeStart: '00:00:00:00:00:00:00:00', pKeyGUIDPoolRangeEnd: '00:00:00:00:00:00:00:01'}}"), {}),
    ("nic-policy-guid", _nic(f"ibKubernetes: {{{IMAGE}, pKeyGUIDPoolRangeStart: '00:00:00:00:00:00:00:01', pKeyGUIDPoolRangeEnd: '00:00:00:00:00:00:00:01'}}"), None, {}),
    ("nic-policy-resources", _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{gpu: 1}}}}]}}"), _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{cpu: 1}}, limits: {{cpu: 2}}}}]}}"), {}),
    ("nic-policy-resources", _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{cpu: 2}}, limits: {{cpu: 1}}}}]}}"), None, {}),
    ("nic-policy-resources", _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{cpu: 0}}}}]}}"), None, {}),
    ("nic-policy-repository", _nic("nvIpam: {image: x}"), _nic("global: {repository: nvcr.io/x}, nvIpam: {image: x}"), {}),
    ("nic-policy-repository", _nic("nvIpam: {image: x, repository: nvcr.io/NVIDIA}"), None, {}),
    ("nic-policy-telemetry-config", _nic(f"docaTelemetryService: {{{IMAGE}, config: {{fromConfigMap: A_B}}}}"), _nic(f"docaTelemetryService: {{{IMAGE}, config: {{fromConfigMap: a-b}}}}"), {}),
    ("nic-node-policy-name", _nic("", "n" * 31, "NicNodePolicy"), _nic("", "n" * 30, "NicNodePolicy"), {}),
    ("nic-node-policy-section-twice", _list(GOOD_OFED, GOOD_OFED.replace("NicClusterPolicy", "NicNodePolicy")), GOOD_OFED, {}),
    ("nic-node-policy-overlap", _list(_nic("", "a", "NicNodePolicy"), _nic("", "b", "NicNodePolicy")), _list(_nic("nodeSelector: {a: b}", "a", "NicNodePolicy"), _nic("nodeSelector: {a: c}", "b", "NicNodePolicy")), {}),
    ("host-device-network-name", _nic("resourceName: 'a!'", "x", "HostDeviceNetwork"), _nic("resourceName: host-dev", "x", "HostDeviceNetwork"), {}),
    ("nic-policy-choice-unknown", _nic("mode: bridged", "x", "MacvlanNetwork"), _nic("mode: bridge", "x", "MacvlanNetwork"), {}),
    ("nic-policy-number-negative", _nic("mtu: -1", "x", "MacvlanNetwork"), _nic("mtu: 0", "x", "MacvlanNetwork"), {}),
    ("nic-policy-storage-size", _nic("nicConfigurationOperator: {nicFirmwareStorage: {availableStorageSize: 1GB}}"), _nic("nicConfigurationOperator: {nicFirmwareStorage: {availableStorageSize: 1Gi}}"), {}),
    ("network-operator-key-repeated", "nfd: {}\nnfd: {}", None, {}),
    ("network-operator-second-document", "nfd: {}\n---\nnfd: {}", None, {}),
]  # fmt: skip


def _rdma(item: str) -> str:
    return '{"configList": [{"resourceName": "a", "rdmaHcaMax": 63, ' + item + "}]}"


VENDORS = '"selectors": {"vendors": ["15b3"]}'

RDMA: list[CaseRow] = [
    ("rdma-not-json", FINE["rdma-shared-config"][1:], None, {}),
    ("rdma-not-json", "configList: []", None, {}),
    ("rdma-not-json", "[]", None, {}),
    ("rdma-list-missing", "{}", None, {}),
    ("rdma-list-missing", '{"configList": []}', None, {}),
    ("rdma-item-invalid", '{"configList": [{"resourceName": "a", "rdmaHcaMax": "63", ' + VENDORS + "}]}", None, {}),
    ("rdma-item-invalid", '{"configList": [{"resourceName": "a", "rdmaHcaMax": 63}]}', None, {}),
    ("rdma-item-invalid", '{"configList": [{"rdmaHcaMax": 63, ' + VENDORS + "}]}", None, {}),
    ("rdma-devices-invalid", _rdma('"devices": [""]'), _rdma('"devices": ["ib0"]'), {}),
    ("rdma-selectors-empty", _rdma('"selectors": {}'), None, {}),
    ("rdma-selector-unknown", _rdma('"selectors": {"vendors": ["15b3"], "pfNames": ["x"]}'), None, {}),
    ("rdma-selector-invalid", _rdma('"selectors": {"vendors": [15]}'), None, {}),
    ("rdma-name-invalid", FINE["rdma-shared-config"].replace("rdma-a", "rdma-a!!"), None, {}),
    ("rdma-prefix-invalid", _rdma('"resourcePrefix": "nvidia", ' + VENDORS), _rdma('"resourcePrefix": "nvidia.com", ' + VENDORS), {}),
    ("rdma-capacity-useless", FINE["rdma-shared-config"].replace("63", "0"), None, {}),
    ("rdma-resource-repeated", '{"configList": [{"resourceName": "a", "rdmaHcaMax": 1, ' + VENDORS + '}, {"resourceName": "a", "rdmaHcaMax": 1, ' + VENDORS + "}]}", None, {}),
    ("rdma-key-misspelt", _rdma('"selector": {}, ' + VENDORS), None, {}),
    ("rdma-key-unknown", _rdma('"whatever": {}, ' + VENDORS), None, {}),
    ("rdma-key-repeated", _rdma('"rdmaHcaMax": 5, ' + VENDORS), None, {}),
    ("rdma-second-document", FINE["rdma-shared-config"] + "\n---\n{}", None, {}),
]  # fmt: skip


def _sriov(item: str) -> str:
    return '{"resourceList": [{"resourceName": "hostdev", ' + item + "}]}"


SRIOV: list[CaseRow] = [
    ("sriov-not-json", FINE["sriov-config"][1:], None, {}),
    ("sriov-list-missing", '{"resourceList": []}', None, {}),
    ("sriov-item-invalid", '{"resourceList": [{' + VENDORS + "}]}", None, {}),
    ("sriov-item-invalid", _sriov('"excludeTopology": "x", ' + VENDORS), _sriov('"excludeTopology": true, ' + VENDORS), {}),
    ("sriov-type-unknown", _sriov('"deviceType": "netdevice", ' + VENDORS), _sriov('"deviceType": "netDevice", ' + VENDORS), {}),
    ("sriov-selectors-empty", _sriov('"selectors": {}'), None, {}),
    ("sriov-selectors-empty", _sriov('"selectors": [{}]'), _sriov('"selectors": [{"vendors": ["15b3"]}]'), {}),
    ("sriov-selectors-missing", '{"resourceList": [{"resourceName": "hostdev"}]}', None, {}),
    ("sriov-selector-unknown", _sriov('"deviceType": "accelerator", "selectors": {"vendors": ["x"], "isRdma": true}'), _sriov('"selectors": {"vendors": ["x"], "isRdma": true}'), {}),
    ("sriov-selector-invalid", _sriov('"selectors": {"vendors": [15]}'), None, {}),
    ("sriov-name-invalid", FINE["sriov-config"].replace("hostdev", "host-dev"), FINE["sriov-config"].replace("hostdev", "host_dev"), {}),
    ("sriov-prefix-invalid", _sriov('"resourcePrefix": "nvidia.com#", ' + VENDORS), None, {}),
    ("sriov-key-misspelt", _sriov('"devicetype": "x", ' + VENDORS), None, {}),
    ("sriov-key-unknown", _sriov('"whatever": 1, ' + VENDORS), None, {}),
    ("sriov-key-repeated", _sriov('"resourceName": "b", ' + VENDORS), None, {}),
    ("sriov-second-document", FINE["sriov-config"] + "\n---\n{}", None, {}),
]  # fmt: skip

CASES: dict[str, list[CaseRow]] = {
    "mig-parted": MIG_PARTED,
    "mig-placement": MIG_PLACEMENT,
    "mig-strategy": MIG_STRATEGY,
    "device-plugin": DEVICE_PLUGIN,
    "dra-config": DRA,
    "gpu-operator-values": GPU_OPERATOR,
    "network-operator-values": NETWORK_OPERATOR,
    "rdma-shared-config": RDMA,
    "sriov-config": SRIOV,
    "karpenter": KARPENTER,
    "autoscaler": AUTOSCALER,
}
