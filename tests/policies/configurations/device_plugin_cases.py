"""Cases of the device plugin's configuration and of the DRA driver's."""
# ruff: noqa: E501  # one case, one line

from typing import Any

from tests.policies.configurations.case_rows import FINE, CaseRow, Circumstances, dra_chart


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
    ("device-plugin-mps-root-missing", "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}", _mps(), {"context": {"env": {}}}),
    ("device-plugin-mps-root-elsewhere", "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}", _mps(), {}),
    ("device-plugin-mps-on-mig", _mps(), FINE["device-plugin"], {"context": {"product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}}),
    ("device-plugin-mps-on-mig", _mps(), FINE["device-plugin"], {"context": {"gpus": [{"1g.10gb": 7}]}}),
    ("device-plugin-mps-single", _mps(flags="mpsRoot: /x, migStrategy: single"), _mps(), {}),
    ("device-plugin-mps-too-many-clients", _mps("{name: gpu, replicas: 49}"), _mps("{name: gpu, replicas: 48}"), {}),
    ("device-plugin-mps-too-many-clients", _mps("{name: gpu, replicas: 17}"), _mps("{name: gpu, replicas: 16}"), {"gpu": "V100-16GB"}),
    ("device-plugin-mps-unsupported", _mps(), None, {"gpu": "K520"}),
    ("device-plugin-mps-wins", _mps() .replace("{mps:", "{timeSlicing: {resources: [{name: gpu, replicas: 2}]}, mps:"), _mps(), {}),
    ("device-plugin-mps-one-request", _mps().replace("{resources:", "{failRequestsGreaterThanOne: false, resources:"), _mps(), {"context": {"version": "v0.19.0"}}),
    ("device-plugin-mps-too-old", _mps(), _slicing("{name: gpu, replicas: 4}"), {"context": {"version": "v0.14.5"}}),
    ("config-key-misspelt", "sharing: {timeSlice: {resources: [{name: gpu, replicas: 2}]}}", None, {}),
    ("config-key-unknown", _slicing("{name: gpu, replicas: 2, interval: 10}"), None, {}),
    ("device-plugin-key-misplaced", "flags: {plugin: {migStrategy: mixed}}", "flags: {migStrategy: mixed}", {}),
    ("device-plugin-key-elsewhere", "flags: {renameByDefault: true}\n" + FINE["device-plugin"], None, {}),
    ("device-plugin-key-elsewhere", "timeSlicing: {}", None, {}),
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
    ("device-plugin-chart-default-alone", FINE["device-plugin"], None, {"context": {"chart": {"values": {"config": {"default": "a"}}}}}),
    ("device-plugin-chart-default-absent", FINE["device-plugin"], None, _chart(config={"map": {"a": ""}, "default": "b"})),
    ("device-plugin-key-absent", "apiVersion: v1\nkind: ConfigMap\ndata: {a: 'version: v1'}", "apiVersion: v1\nkind: ConfigMap\ndata: {b: 'version: v1'}", {"select": "b"}),
    ("config-key-repeated", "version: v1\nversion: v1", None, {}),
    ("config-second-document", "version: v1\n---\nversion: v2", None, {}),
]  # fmt: skip


def _dra(body: str = "", kind: str = "GpuConfig") -> str:
    return f"apiVersion: resource.nvidia.com/v1beta1\nkind: {kind}\n{body}"


def _gates(*names: str, **more: Any) -> Circumstances:
    return {"context": {"featureGates": dict.fromkeys(names, True), **more}}


TS, MPS = _gates("TimeSlicingSettings"), _gates("MPSSupport")

DOMAIN = _dra("spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: x}}}", "ComputeDomain")

DRA: list[CaseRow] = [
    ("dra-no-config", "[]", None, {}),
    ("dra-no-config", "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: a}", None, {}),
    ("dra-no-config", "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplat\nmetadata: {name: a}", None, {}),
    ("dra-no-config", "opaque: {driver: gpu.nvidia.com, parameters: 3}", None, {}),
    ("dra-gate-missing", _dra("sharing: {strategy: TimeSlicing}"), None, dra_chart()),
    ("dra-gate-needed", _dra("sharing: {strategy: TimeSlicing}"), None, {}),
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
    ("dra-field-unknown", _dra("sharing: {strategy: MPS, mpsConfig: {multiUser: true}}"), None, {"context": {"version": "0.4.1", **MPS["context"]}}),
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
    ("dra-gate-unknown", _dra(), None, {"context": {"version": "0.4.1", "featureGates": {"ConsumableShares": True}}}),
    ("dra-consumable-shares-invalid", _dra(), None, {"context": {"version": "0.5.0", "chart": {"name": "dra-driver-nvidia-gpu", "values": {"gpuResourcesEnabledOverride": True, "consumableShares": "half"}}}}),
    ("dra-consumable-shares-gate", _dra(), None, {"context": {"version": "0.5.0", "chart": {"name": "dra-driver-nvidia-gpu", "values": {"gpuResourcesEnabledOverride": True, "consumableShares": "4"}}}}),
    ("dra-consumable-shares-mps", _dra("sharing: {strategy: MPS}"), _dra(), {"context": {"version": "0.5.0", "featureGates": {"MPSSupport": True, "ConsumableShares": True}, "chart": {"name": "dra-driver-nvidia-gpu", "values": {"gpuResourcesEnabledOverride": True, "consumableShares": "memory"}}}}),
    ("dra-chart-gpus-override", _dra(), None, dra_chart(gpuResourcesEnabledOverride=False)),
    ("dra-chart-default-namespace", _dra(), None, {"context": {"chart": {"name": "dra-driver-nvidia-gpu", "namespace": "default"}}}),
    ("dra-chart-value-removed", _dra(), None, dra_chart(nvidiaCtkPath="/x")),
    ("dra-chart-webhook-tls", _dra(), None, dra_chart(webhook={"enabled": True, "tls": {"mode": "x"}})),
    ("dra-chart-webhook-tls", _dra(), None, dra_chart(webhook={"enabled": True, "tls": {"certManager": {"issuerType": "issuer"}}})),
    ("dra-chart-webhook-tls", _dra(), None, dra_chart(webhook={"enabled": True, "tls": {"mode": "secret"}})),
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
