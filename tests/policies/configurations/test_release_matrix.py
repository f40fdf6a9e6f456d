"""Releases of programs against keys, gates and fields that came or went: one verdict through every
door.

Each key has its own source: the values file of the vendor's releases, or the file that lists gates.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from gpufleet.contract.schemas.chart_values import values_release
from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.configurations.kinds import validate_text
from tests.policies.configurations.test_wrapped import checked
from tests.reading import yaml_data

RELEASES = {
    "gpu-operator": ("v25.3.4", "v25.10.0", "v25.10.1", "v26.3.0", "v26.3.1", "v26.7.0"),
    "dra-driver-nvidia-gpu": ("25.3.2", "25.8.1", "25.12.0", "0.4.0", "0.4.1", "0.5.0"),
    "nvidia-device-plugin": ("0.17.3", "0.17.4", "0.18.0", "0.18.2", "0.19.2", "0.20.0"),
    "network-operator": ("24.1.1", "24.7.0", "24.10.0", "25.10.0", "26.4.1", "26.7.0"),
    "kueue": ("0.15.2", "0.16.1", "0.17.0", "0.18.0", "0.19.2", "0.20.0"),
    "karpenter": ("1.10.2", "1.11.0", "1.12.0", "1.13.1", "1.14.1", "1.15.0"),
    "mig-manager": ("v0.12.1", "v0.12.3", "v0.13.1", "v0.14.0", "v0.14.2", "v0.15.0"),
    "kubernetes": ("1.32", "1.33", "1.34", "1.35", "1.36", "1.37"),
}
"""Six releases of each program. Those of the DRA driver were numbered by date until 25.12."""
KINDS = {
    "gpu-operator": ("gpu-operator-values", "gpuOperator"),
    "dra-driver-nvidia-gpu": ("dra-driver-values", "draDriver"),
    "nvidia-device-plugin": ("device-plugin-values", None),
    "network-operator": ("network-operator-values", "networkOperator"),
    "kueue": ("kueue-values", "kueue"),
    "karpenter": ("karpenter-values", "karpenter"),
    "mig-manager": ("mig-parted", None),
    "kubernetes": ("dra-config", None),
}
"""Program -> kind of its values, and its add-on. A declaration has no values of the device plugin's
configuration: it is written from the pools."""


@dataclass(frozen=True)
class Key:
    """Values that some releases read and others do not."""

    program: str
    name: str
    values: str
    """In YAML."""
    code: str
    """Finding where the release does not read it."""
    source: str
    since: str | None = None
    """First release that reads it; None: older than all."""
    gone: str | None = None
    """First release that does not read it any more."""

    def is_read(self, release: str) -> bool:
        order = RELEASES[self.program]
        after = self.since is None or order.index(release) >= order.index(self.since)
        return after and (self.gone is None or order.index(release) < order.index(self.gone))


def operator(name: str, values: str, since: str) -> Key:
    source = "NVIDIA/gpu-operator deployments/gpu-operator/values.yaml of the releases"
    code = "config-key-unknown"
    return Key("gpu-operator", name, values, code, source, since)


def driver_gate(name: str, since: str, *more: str) -> Key:
    """A gate, and others that it needs."""
    gates = ", ".join(f"{one}: true" for one in (name, *more))
    values = (
        "{gpuResourcesEnabledOverride: true, resources: {gpus: {enabled: true}}, "
        f"featureGates: {{{gates}}}}}"
    )
    source = "kubernetes-sigs/dra-driver-nvidia-gpu pkg/featuregates/featuregates.go"
    return Key("dra-driver-nvidia-gpu", name, values, "dra-gate-unknown", source, since)


def kueue_gate(name: str, since: str | None, gone: str | None = None) -> Key:
    values = f"controllerManager: {{featureGates: [{{name: {name}, enabled: true}}]}}"
    source = "kubernetes-sigs/kueue pkg/features/kube_features.go of v0.17.0, v0.19.2 and v0.20"
    return Key("kueue", name, values, "chart-values-gate-unknown", source, since, gone)


def karpenter(name: str, values: str, since: str) -> Key:
    source = "aws/karpenter-provider-aws charts/karpenter/values.yaml of the releases"
    return Key("karpenter", name, values, "config-key-unknown", source, since)


def claim(name: str, request: str, since: str) -> Key:
    """A field of a request that the API server drops without telling where its gate is off."""
    values = (
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}, "
        f"spec: {{devices: {{requests: [{{name: gpu, {request}}}]}}}}}}"
    )
    source = "kubernetes/kubernetes pkg/features/kube_features.go of v1.32 to v1.37"
    return Key("kubernetes", name, values, "dra-kubernetes-gate-off", source, since)


def plugin(name: str, config: str, code: str) -> Key:
    values = f"config: {{map: {{default: {json.dumps(config)}}}}}"
    source = "NVIDIA/k8s-device-plugin v0.20.0, release notes (#1621)"
    return Key("nvidia-device-plugin", name, values, code, source, "0.20.0")


_NOTES = "NVIDIA/cloud-native-docs gpu-operator/release-notes.rst"
_NETWORK = "Mellanox/network-operator deployment/network-operator/values.yaml of the releases"
KEYS = (
    Key(
        "gpu-operator", "cdi.default", "cdi: {default: false}", "gpu-operator-key-ignored", _NOTES,
        gone="v25.10.0",
    ),
    operator("kataSandboxDevicePlugin", "kataSandboxDevicePlugin: {enabled: true}", "v26.3.0"),
    operator("sandboxWorkloads.mode", "sandboxWorkloads: {mode: kata}", "v26.3.0"),
    operator("toolkit.hostNetwork", "toolkit: {hostNetwork: true}", "v26.3.1"),
    operator("operator.env", "operator: {env: [{name: A, value: b}]}", "v26.7.0"),
    driver_gate("PassthroughSupport", "25.12.0"),
    driver_gate("DynamicMIG", "25.12.0"),
    driver_gate("TimeSlicingSettings", "25.8.1"),
    driver_gate("DeviceMetadata", "0.4.0", "PassthroughSupport"),
    driver_gate("ConsumableShares", "0.5.0"),
    driver_gate("HostManagedIMEXDaemon", "0.5.0"),
    plugin(
        "sharedDevicesAllocationPolicy",
        "{version: v1, flags: {plugin: {sharedDevicesAllocationPolicy: packed}}}",
        "config-key-unknown",
    ),
    plugin(
        "failRequestsGreaterThanOne",
        "{version: v1, sharing: {mps: {failRequestsGreaterThanOne: false, resources: "
        "[{name: nvidia.com/gpu, replicas: 4}]}}}",
        "device-plugin-mps-one-request",
    ),
    Key(
        "network-operator", "deployCR", "deployCR: true", "network-operator-section-moved",
        _NETWORK, gone="24.10.0",
    ),
    Key(
        "network-operator", "nicConfigurationOperator",
        "{nicConfigurationOperator: {enabled: true}, nfd: {enabled: false}}",
        "network-operator-section-moved", _NETWORK, gone="25.10.0",
    ),
    Key(
        "network-operator", "keepNCP", "keepNCP: true", "config-key-unknown",
        "spectrocloud/pack-central packs/nvidia-network-operator-26.7.0/values.yaml", "26.7.0",
    ),
    kueue_gate("DynamicResourceAllocation", None, "0.19.2"),
    kueue_gate("DRAExtendedResources", "0.17.0", "0.18.0"),
    kueue_gate("TASBalancedPlacement", "0.15.2"),
    kueue_gate("TLSOptions", "0.16.1"),
    kueue_gate("TASMultiLayerTopology", "0.17.0"),
    kueue_gate("ConcurrentAdmission", "0.18.0"),
    kueue_gate("FairSharingRefill", "0.20.0"),
    kueue_gate("SchedulerLongRequeueInterval", "0.17.0", "0.20.0"),
    karpenter("settings.enableZonalShift", "settings: {enableZonalShift: true}", "1.12.0"),
    karpenter("settings.amiRefreshInterval", "settings: {amiRefreshInterval: 2m}", "1.13.1"),
    karpenter(
        "capacityBuffer", "settings: {featureGates: {capacityBuffer: true}}", "1.14.1"
    ),
    karpenter("settings.enableDRA", "settings: {enableDRA: true}", "1.15.0"),
    Key(
        "mig-manager", "subsystem identifier in device-filter",
        "{version: v1, mig-configs: {a: [{device-filter: '0x233010DE:0x16C110DE', devices: all, "
        "mig-enabled: true, mig-devices: {1g.10gb: 7}}]}}",
        "mig-parted-filter-too-new", "NVIDIA/mig-parted v0.15.0, release notes", "v0.15.0",
    ),
    claim(
        "firstAvailable",
        "firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}]",
        "1.34",
    ),
    claim(
        "adminAccess", "exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}", "1.34"
    ),
    claim(
        "tolerations",
        "exactly: {deviceClassName: gpu.nvidia.com, tolerations: [{operator: Exists}]}",
        "1.36",
    ),
    claim(
        "capacity",
        "exactly: {deviceClassName: gpu.nvidia.com, capacity: {requests: {memory: 8Gi}}}",
        "1.36",
    ),
)  # fmt: skip


def bare(key: Key, release: str) -> list[str]:
    found = validate_text(kind_of(key), key.values, context={"version": release})
    return [one.code for one in found.findings]


def on_minor(key: Key, release: str) -> list[str]:
    """Before 1.34 the version that the claim is written in is not served at all."""
    found = validate_text(kind_of(key), key.values, context={"kubernetesVersion": release})
    codes = [one.code for one in found.findings]
    return [key.code if code == "dra-api-not-served" else code for code in codes]


def by_chart(key: Key, release: str) -> list[str]:
    context = {"chart": {"name": key.program, "version": release}}
    return [one.code for one in validate_text(kind_of(key), key.values, context=context).findings]


def helm_release(key: Key, release: str) -> list[str]:
    document = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "x", "namespace": "gpu"},
        "spec": {
            "chart": {"spec": {"chart": key.program, "version": release}},
            "values": yaml_data(key.values),
        },
    }
    return [one.code for one in checked(json.dumps(document), kind_of(key)).findings]


def argo(key: Key, release: str) -> list[str]:
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "x", "namespace": "argocd"},
        "spec": {
            "source": {
                "repoURL": "https://charts.example",
                "chart": key.program,
                "targetRevision": release,
                "helm": {"valuesObject": yaml_data(key.values)},
            },
            "destination": {"namespace": "gpu"},
        },
    }
    return [one.code for one in checked(json.dumps(document), kind_of(key)).findings]


def declaration(key: Key, release: str) -> list[str]:
    addon = KINDS[key.program][1]
    written = {"version": release, "values": yaml_data(key.values)}
    if addon in ("networkOperator", "gpuOperator"):
        written["enabled"] = True
    spec = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "c", "region": "us-east-1", "kubernetesVersion": "1.36"},
        "pools": [{"name": "p", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
        "addons": {addon: written},
    }
    return [one.code for one in compile_data(spec).findings]


def kind_of(key: Key) -> str:
    return KINDS[key.program][0]


DOORS: tuple[Callable[[Key, str], list[str]], ...] = (
    bare,
    by_chart,
    helm_release,
    argo,
    declaration,
)


NO_CHART = {"mig-manager": (bare,), "kubernetes": (on_minor,)}
"""The operator runs the MIG manager, and Kubernetes is its own."""


def matrix() -> Iterator[Any]:
    for key in KEYS:
        for door in NO_CHART.get(key.program, DOORS):
            if door is declaration and KINDS[key.program][1] is None:
                continue
            yield pytest.param(key, door, id=f"{key.program}-{key.name}-{door.__name__}")


@pytest.mark.parametrize(("key", "door"), list(matrix()))
def test_a_release_reads_what_its_vendor_says(
    key: Key, door: Callable[[Key, str], list[str]]
) -> None:
    read = {release: key.code not in door(key, release) for release in RELEASES[key.program]}
    assert read == {release: key.is_read(release) for release in RELEASES[key.program]}, key.source


def test_the_matrix_is_eight_programs_by_six_releases_by_fifteen_keys() -> None:
    assert {len(releases) for releases in RELEASES.values()} == {6}
    assert len({key.program for key in KEYS}) == len(RELEASES) == 8
    assert len(KEYS) >= 15


@pytest.mark.parametrize("written", ["${VERSION}", "25.*", ">=0.4.0 <0.6.0", "main"])
def test_a_release_that_cannot_be_read_is_never_the_default(written: str) -> None:
    gates = {"ConsumableShares": True, "DynamicMIG": False}
    values = {"gpuResourcesEnabledOverride": True, "featureGates": gates}
    key = Key("dra-driver-nvidia-gpu", "gates", json.dumps(values), "dra-gate-unknown", "")
    assert helm_release(key, written) == argo(key, written) == []
    assert "dra-gate-unknown" in bare(key, "0.4.1")


@pytest.mark.parametrize(
    ("release", "verdict"),
    [
        # The catalogue has every gate up to the pinned release.
        ("0.5.0", "reject"),
        ("0.4.1", "reject"),
        # A later release may have unread gates, and so may a release of a range.
        ("0.6.0", "accept"),
        ("0.5.9", "accept"),
        ("0.5.x", "accept"),
        ("0.4.x", "accept"),
        (">=0.5.0", "warn"),
        ("*", "warn"),
    ],
)
def test_a_gate_that_is_not_known_may_be_of_a_later_release(release: str, verdict: str) -> None:
    values = yaml_data(driver_gate("QuantumLinks", "0.5.0").values)
    chart = {"chart": "dra-driver-nvidia-gpu", "version": release}
    wrapper = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "a", "namespace": "gpu"},
        "spec": {
            "interval": "1h",
            "chart": {"spec": {**chart, "sourceRef": {"kind": "HelmRepository", "name": "x"}}},
            "values": values,
        },
    }
    found = checked(yaml.safe_dump(wrapper), "dra-driver-values")
    assert found.verdict.value == verdict, found.findings


@pytest.mark.parametrize("gates", [{}, ""])
def test_no_gates_are_the_defaults(gates: Any) -> None:
    """TimeSlicing needs TimeSlicingSettings, which is off: reported for the driver, not guessed."""
    config = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
    }
    found = validate_text("dra-config", json.dumps(config), context={"featureGates": gates})
    assert [one.code for one in found.findings] == ["dra-gate-missing"]
    chart = {"name": "gpu-operator", "values": {"draDriver": {"featureGates": {}}}}
    found = validate_text("dra-config", json.dumps(config), context={"chart": chart})
    assert "dra-gate-missing" in {one.code for one in found.findings}
    found = validate_text("dra-config", json.dumps(config), context={})
    assert [one.code for one in found.findings] == ["dra-gate-needed"]


def test_a_patch_release_of_kueue_that_nobody_read_may_have_gates() -> None:
    # TASBalancedPlacement came with 0.15.2, TLSOptions with 0.16.1.
    key, newest = kueue_gate("GateOfTomorrow", None), values_release("kueue")
    line = newest.rpartition(".")[0]
    assert helm_release(key, newest) == ["chart-values-gate-unknown"]
    assert helm_release(key, f"{line}.99") == helm_release(key, f"{line}.x") == []
