"""All pools with claims together: Kubernetes' gates, one advertiser per node, one driver."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.contract.dra import driver_root
from gpufleet.findings import Finding, Severity
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.render.releases import releases
from gpufleet.spec.base import Platform


def compiled(*pools: dict[str, Any], **spec: Any) -> tuple[Fleet | None, list[Finding]]:
    named = [
        {"name": f"pool-{i}", "gpu": "H100-80GB", "nodes": {"min": 1, "max": 1}, **pool}
        for i, pool in enumerate(pools)
    ]
    base: dict[str, Any] = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "c", "region": "us-east-1", **spec.pop("cluster", {})},
        "pools": named,
        **spec,
    }
    result = compile_data(base)
    return result.fleet, list(result.findings)


def errors(*pools: dict[str, Any], **spec: Any) -> list[tuple[str, str]]:
    _, found = compiled(*pools, **spec)
    return [(f.code, f.path) for f in found if f.severity is Severity.ERROR]


def dra(**how: Any) -> dict[str, Any]:
    return {"sharing": {"dra": how}}


LAYOUTS = [{"devices": {"1g.10gb": 7}}]
PLACE = "pools[0].sharing.dra"


@pytest.mark.parametrize(
    ("version", "how", "expected"),
    [
        ("1.32", {}, [("dra-kubernetes-too-old", PLACE)]),
        ("1.33", {}, []),
        ("1.33", {"devices": "mig"}, [("dra-kubernetes-gate-off", f"{PLACE}.devices")]),
        (
            "1.33",
            {"extendedResource": True},
            [("dra-kubernetes-gate-off", f"{PLACE}.extendedResource")],
        ),
        ("1.34", {}, []),
        ("1.35", {"devices": "mig", "layouts": LAYOUTS}, []),
        ("1.35", {"devices": "mig"}, [("dra-kubernetes-gate-off", f"{PLACE}.devices")]),
        (
            "1.34",
            {"extendedResource": True},
            [("dra-kubernetes-gate-off", f"{PLACE}.extendedResource")],
        ),
        (
            "1.35",
            {"devices": "mig", "extendedResource": True},
            [
                ("dra-kubernetes-gate-off", f"{PLACE}.devices"),
                ("dra-kubernetes-gate-off", f"{PLACE}.extendedResource"),
            ],
        ),
        ("1.36", {"devices": "mig", "extendedResource": True}, []),
    ],
)
def test_gates_of_kubernetes(version: str, how: dict[str, Any], expected: list[Any]) -> None:
    assert errors(dra(**how), cluster={"kubernetesVersion": version}) == expected


@pytest.mark.parametrize(
    ("version", "gates", "expected"),
    [
        ("1.35", {"DRAExtendedResource": True}, []),
        (
            "1.36",
            {"DRAExtendedResource": False},
            [("dra-kubernetes-gate-off", f"{PLACE}.extendedResource")],
        ),
        (
            "1.37",
            {"DRAExtendedResource": False},
            [
                ("cluster-gate-locked", "cluster.featureGates.DRAExtendedResource"),
                ("dra-kubernetes-gate-off", f"{PLACE}.extendedResource"),
            ],
        ),
        ("1.37", {"DRAExtendedResource": True}, []),
        (
            "1.36",
            {"DRADerivedAttributes": True},
            [("cluster-gate-unknown", "cluster.featureGates.DRADerivedAttributes")],
        ),
        (
            "1.36",
            {"DRAExtendedResources": True},
            [("cluster-gate-unknown", "cluster.featureGates.DRAExtendedResources")],
        ),
    ],
)
def test_gates_of_the_cluster_itself(
    version: str, gates: dict[str, bool], expected: list[Any]
) -> None:
    """kubernetes v1.37.2 pkg/features/kube_features.go."""
    cluster = {"kubernetesVersion": version, "featureGates": gates}
    assert errors(dra(extendedResource=True), cluster=cluster) == expected


@pytest.mark.parametrize(
    ("platform", "version", "said", "word"),
    [
        ("eks", "1.33", "warning", "has switched on"),
        ("eks", "1.32", "error", "release notes of 1.33"),
        ("gke", "1.32", "warning", "off unless it is switched on"),
        ("gke", "1.31", "error", "from Kubernetes 1.32"),
        ("vsphere", "1.33", "warning", "off unless it is switched on"),
        ("vsphere", "1.31", "error", "from Kubernetes 1.32"),
    ],
)
def test_what_each_platform_says_of_the_beta_api(
    platform: str, version: str, said: str, word: str
) -> None:
    place = {"eks": "us-east-1", "gke": "us-central1"}
    cluster: dict[str, Any] = {"name": "c", "kubernetesVersion": version}
    cluster |= {"region": place[platform]} if platform in place else {}
    machine = {"cpus": 16, "memoryGib": 128, "template": "ubuntu-gpu"}
    pool = {**dra(), **({"vsphere": machine} if platform == "vsphere" else {})}
    cluster = {"region": None, **cluster}
    _, found = compiled(pool, platform=platform, cluster=cluster)
    (one,) = [f for f in found if f.code.startswith("dra-kubernetes")]
    assert (one.severity.value, one.path) == (said, PLACE)
    assert word in one.message


def test_an_image_with_a_device_plugin_serves_twice() -> None:
    pool = {**dra(), "image": "bottlerocket-nvidia"}
    assert ("dra-two-advertisers", PLACE) in errors(pool)
    assert errors(dra()) == []


def test_gkes_own_plugin_serves_twice_unless_the_operator_takes_over() -> None:
    where = {"platform": "gke", "cluster": {"region": "us-central1"}}
    assert ("dra-two-advertisers", PLACE) in errors(dra(), **where)
    pool = {**dra(), "gke": {"driver": "gpuOperator"}}
    assert "dra-two-advertisers" not in [code for code, _ in errors(pool, **where)]


def test_one_driver_for_all_pools() -> None:
    both = (dra(devices="mig"), dra(sharing="mps"))
    _, found = compiled(*both)
    (conflict,) = [f for f in found if f.severity is Severity.ERROR]
    assert conflict.code == "dra-gates-conflict"
    assert "DynamicMIG excludes MPSSupport" in conflict.message
    assert "pool-0: DynamicMIG" in conflict.message
    assert errors(dra(devices="mig"), dra(sharing="timeSlicing")) == []


@pytest.mark.parametrize(
    ("addon", "code"),
    [
        ({"values": {"featureGates": {"DynamicMIG": False}}}, "dra-gate-switched-off"),
        ({"values": {"featureGates": {"PassthroughSupport": True}}}, "dra-gates-conflict"),
        ({"values": {"featureGates": {"Dynamic": True}}}, "dra-gate-unknown"),
        ({"values": {"featureGates": {"IMEXDaemonsWithDNSNames": False}}}, "dra-gates-conflict"),
        ({"enabled": False}, "dra-driver-disabled"),
        ({"values": {"resources": {"gpus": {"enabled": False}}}}, "dra-driver-serves-no-gpus"),
    ],
)
def test_overrides_that_contradict(addon: dict[str, Any], code: str) -> None:
    found = errors(dra(devices="mig"), addons={"draDriver": addon})
    assert [c for c, _ in found] == [code]


def test_overrides_that_hold() -> None:
    gates = {"featureGates": {"DynamicMIG": True, "TimeSlicingSettings": True}}
    assert errors(dra(devices="mig"), addons={"draDriver": {"values": gates}}) == []


def test_images_with_and_without_the_gpu_driver_need_two_roots() -> None:
    mixed = ({**dra(), "image": "al2023-nvidia"}, {**dra(), "image": "ubuntu-eks"})
    assert ("dra-driver-roots-differ", "pools[1].image") in errors(*mixed)
    settled = {"draDriver": {"values": {"nvidiaDriverRoot": "/"}}}
    assert "dra-driver-roots-differ" not in [c for c, _ in errors(*mixed, addons=settled)]


@pytest.mark.parametrize(
    ("image", "platform", "root"),
    [
        ("al2023-nvidia", Platform.EKS, "/"),
        ("ubuntu-eks", Platform.EKS, "/run/nvidia/driver"),
        ("cos", Platform.GKE, "/home/kubernetes/bin/nvidia"),
        ("ubuntu-vsphere", Platform.VSPHERE, "/run/nvidia/driver"),
    ],
)
def test_where_the_gpu_driver_is(image: str, platform: Platform, root: str) -> None:
    assert driver_root(load().image(image), PLATFORMS[platform]) == root


def test_a_class_that_answers_on_other_nodes_too() -> None:
    def said(*pools: dict[str, Any]) -> list[tuple[str, str]]:
        _, found = compiled(*pools)
        return [(f.severity.value, f.path) for f in found if "answers-everywhere" in f.code]

    place = "pools[0].sharing.dra.extendedResource"
    assert said(dra()) == [("info", place)]
    assert said(dra(), {"sharing": {"exclusive": {}}}) == [("warning", place)]
    assert said(dra(extendedResource=True)) == []


WAYS: list[dict[str, Any]] = [
    {"exclusive": {}},
    {"timeSlicing": {"replicas": 4}},
    {"mig": {"layouts": LAYOUTS}},
    {"dra": {}},
    {"dra": {"extendedResource": True}},
    {"dra": {"devices": "mig"}},
    {"dra": {"devices": "mig", "layouts": LAYOUTS}},
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way)[:40])
def test_no_node_has_two_advertisers(way: dict[str, Any]) -> None:
    """Exactly one advertiser follows the registration labels of a node."""
    fleet, found = compiled({"sharing": way})
    assert fleet is not None, found
    labels = fleet.pools[0].labels
    plugin = labels.get("nvidia.com/gpu.deploy.device-plugin") != "false"
    driver = labels.get("gpufleet.dev/dra") == "true"
    assert plugin != driver
    assert driver == ("dra" in way)
    assert ("nvidia.com/device-plugin.config" in labels) == plugin
    manager = labels.get("nvidia.com/gpu.deploy.mig-manager") != "false"
    assert manager == (way != {"dra": {"devices": "mig"}})
    cut_beforehand = "layouts" in str(way)
    assert cut_beforehand == (labels.get("nvidia.com/mig.config", "all-disabled") != "all-disabled")
    assert fleet.addons.gpu_operator.mig_manager == cut_beforehand


OWNER = {"gpuCluster": {"deployCR": True}, "clusterPolicy": {"deployCR": False}}


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        ({}, [("two-advertisers", "addons.gpuOperator.values.gpuCluster.deployCR")]),
        ({"ownership": "existing"}, []),
        ({"enabled": False}, [("dra-driver-disabled", "addons.draDriver.enabled")]),
    ],
)
def test_the_operator_or_the_chart_owns_the_driver(
    driver: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    """NVIDIA/cloud-native-docs gpu-operator/gpu-operator-dra.rst (pull 445): by a GPUCluster, or as
    a separate chart next to the operator."""
    values = {**OWNER, "driver": {"nvidiaDriverCRD": {"enabled": True}}}
    pool = {
        **dra(namespaces=["lab"]),
        "gpusPerNode": 8,
        "image": "plain",
        "existing": {"namePattern": "gpu-*"},
    }
    spec = {
        "platform": "existing",
        "cluster": {"kubernetesVersion": "1.36", "region": None},
        "addons": {"gpuOperator": {"values": values}, "draDriver": driver},
    }
    assert errors(pool, **spec) == expected


CLAIMED = {"gpusPerNode": 8, "image": "plain", "existing": {"namePattern": "gpu-*"}}


@pytest.mark.parametrize(
    ("sharing", "driver", "expected"),
    [
        ({"dra": {"namespaces": ["lab"]}}, {}, []),
        ({"dra": {"devices": "mig"}}, {}, []),
        ({"dra": {"devices": "mig", "layouts": LAYOUTS}}, {}, ["gpu-cluster-serves-claims"]),
        ({"exclusive": {}}, {}, ["gpu-cluster-serves-claims"]),
        ({"dra": {}}, {"enabled": True}, ["two-advertisers"]),
        # Its definition has no such field.
        ({"dra": {"consumableShares": 4}}, {}, ["gpu-cluster-has-no-setting"]),
        ({"dra": {}}, {"hostManagedImex": True}, ["gpu-cluster-has-no-setting"]),
        ({"dra": {}}, {"values": {"logVerbosity": "6"}}, ["gpu-cluster-has-no-setting"]),
    ],
)
def test_a_gpu_cluster_owns_the_stack(
    sharing: dict[str, Any], driver: dict[str, Any], expected: list[str]
) -> None:
    """Values: NVIDIA/gpu-operator v26.7.0 values.yaml, clusterPolicy, gpuCluster, draDriver."""
    fleet, found = compiled(
        {**CLAIMED, "sharing": sharing},
        platform="existing",
        cluster={"kubernetesVersion": "1.36", "region": None},
        addons={"gpuOperator": {"gpuCluster": True}, "draDriver": driver},
    )
    assert [f.code for f in found if f.severity is Severity.ERROR] == expected
    assert fleet is not None
    if expected:
        return
    made = {release.chart.name: release.values for release in releases(fleet)}
    values = made["gpu-operator"]
    assert values["gpuCluster"] == {"deployCR": True}
    assert values["clusterPolicy"] == {"deployCR": False}
    assert values["driver"]["nvidiaDriverCRD"] == {"enabled": True}
    gates = {"DynamicMIG": True} if "devices" in sharing["dra"] else {}
    assert values["draDriver"]["featureGates"] == gates
    assert "dra-driver-nvidia-gpu" not in made
