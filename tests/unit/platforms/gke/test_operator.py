"""Pools whose GPU stack is the GPU Operator's: whose driver, what the operator runs."""

from typing import Any

from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.fleet.gpu_operator_chart import operator_values
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.daemon_sets import chosen_pools
from gpufleet.render.artefacts import artefacts
from gpufleet.render.gpu_operator_values import fleet_operator_settings
from gpufleet.render.kueue_queues import resource_flavor
from gpufleet.render.pod_request import pod_spec
from tests.reading import yaml_data
from tests.unit.platforms.gke.fleet_pools import L4, RESERVED, SPOT, ZONE, gke, with_pools


def test_the_operator_finds_googles_driver_on_container_optimized_os() -> None:
    result = with_pools({"name": "a", **L4, **gke(driver="gpuOperator")})
    assert result.findings == ()
    plan = result.fleet.addons.gpu_operator
    assert plan.driver_root == "/home/kubernetes/bin/nvidia"
    assert plan.toolkit_env == {"RUNTIME_CONFIG_SOURCE": "file"}
    values = operator_values(fleet_operator_settings(result.fleet))
    assert values["hostPaths"]["driverInstallDir"] == plan.driver_root
    assert values["toolkit"]["installDir"] == plan.driver_root
    assert values["toolkit"]["env"] == [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}]
    assert values["driver"]["enabled"] is False
    (text,) = [one.text for one in artefacts(result.fleet) if one.path.endswith("/quota.yaml")]
    quota = yaml_data(text)
    assert quota["metadata"]["namespace"] == "gpu-operator"
    # No limit, as in Google's quota of kube-system (kubernetes/kubernetes 1691311 `cluster/gce/
    # addons/admission-resource-quota-critical-pods`): Node Feature Discovery, critical too by the
    # chart's default, has a pod on nodes that no fleet counts.
    assert quota["spec"]["hard"] == {"pods": "1G"}


def test_googles_installer_is_made_for_pools_of_the_operator() -> None:
    """By `nvidia-driver-installer/cos/daemonset-preloaded.yaml` (container-engine-accelerators
    068b15a), and `daemonset-preloaded-latest-a4x.yaml` (4e822ce) on ARM."""
    operated = gke(driver="gpuOperator")
    a4x = {"instanceTypes": ["a4x-highgpu-4g"], "capacity": [RESERVED], **ZONE}
    pools: list[dict[str, Any]] = [
        {"name": "a", **L4, **operated},
        {"name": "b", **L4, **gke(driver="gpuOperator", driverVersion="latest")},
        {"name": "c", **a4x, **operated},
        {"name": "d", **L4},
    ]
    fleet = with_pools(*pools).fleet
    made = {
        one.path.removeprefix("manifests/gke/"): yaml_data(one.text)
        for one in artefacts(fleet)
        if "driver-installer" in one.path
    }
    assert {name: chosen_pools(manifest) for name, manifest in made.items()} == {
        "driver-installer.yaml": ["a"],
        "driver-installer-latest.yaml": ["b"],
        "driver-installer-arm64.yaml": ["c"],
    }
    assert not [problem for manifest in made.values() for problem in schema_problems(manifest)]
    steps = {
        name: manifest["spec"]["template"]["spec"]["initContainers"][0]
        for name, manifest in made.items()
    }
    plain = steps["driver-installer.yaml"]
    assert (plain["image"], plain["imagePullPolicy"]) == ("cos-nvidia-installer:fixed", "Never")
    assert "command" not in plain
    assert {one["name"]: one["value"] for one in plain["env"]} == {
        "NVIDIA_INSTALL_DIR_HOST": "/home/kubernetes/bin/nvidia",
        "NVIDIA_INSTALL_DIR_CONTAINER": "/usr/local/nvidia",
        "VULKAN_ICD_DIR_HOST": "/home/kubernetes/bin/nvidia/vulkan/icd.d",
        "VULKAN_ICD_DIR_CONTAINER": "/etc/vulkan/icd.d",
        "ROOT_MOUNT_DIR": "/root",
        "COS_TOOLS_DIR_HOST": "/var/lib/cos-tools",
        "COS_TOOLS_DIR_CONTAINER": "/build/cos-tools",
    }
    assert {one["name"]: one["mountPath"] for one in plain["volumeMounts"]} == {
        "dev": "/dev",
        "root": "/root",
        "libraries": "/usr/local/nvidia",
        "vulkan": "/etc/vulkan/icd.d",
        "cos-tools": "/build/cos-tools",
    }
    newest = steps["driver-installer-latest.yaml"]["command"]
    assert newest == ["/cos-gpu-installer", "install", "--version=latest"]
    assert steps["driver-installer-arm64.yaml"]["image"].endswith("cos-gpu-installer:v2.4.7")


def test_an_installer_that_is_there_already_is_named_and_not_made() -> None:
    off = {"addons": {"driverInstaller": {"enabled": False}}}
    result = with_pools({"name": "a", **L4, **gke(driver="gpuOperator")}, **off)
    (needed,) = [one for one in result.findings if one.code == "gke-driver-installer-needed"]
    assert "nvidia-driver-installer/cos/daemonset-preloaded.yaml" in needed.fix
    assert not [one for one in artefacts(result.fleet) if "driver-installer" in one.path]


def test_on_ubuntu_the_operator_brings_its_own_driver() -> None:
    ubuntu = {"name": "b", **L4, "image": "ubuntu-gke", **gke(driver="gpuOperator")}
    plan = with_pools(ubuntu).fleet.addons.gpu_operator
    assert plan.driver_root is None
    assert plan.driver
    both = with_pools({"name": "a", **L4, **gke(driver="gpuOperator")}, ubuntu)
    (conflict,) = [one for one in both.findings if one.code == "gke-operator-two-drivers"]
    assert conflict.path == "pools[1].image"
    assert not both.deployable


def test_what_is_written_for_the_operator_stays() -> None:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": "1.32"},
            "pools": [
                {"name": "a", "nodes": {"min": 0, "max": 1}, **L4, "gke": {"driver": "gpuOperator"}}
            ],
            "addons": {
                "gpuOperator": {
                    "driver": {"installDir": "/elsewhere"},
                    "toolkit": {"env": {"A": "b"}},
                }
            },
        }
    )
    assert result.fleet is not None
    values = operator_values(fleet_operator_settings(result.fleet))
    assert values["hostPaths"]["driverInstallDir"] == "/elsewhere"
    assert values["toolkit"]["env"] == [{"name": "A", "value": "b"}]


def test_whoever_works_on_a_ladder_tolerates_its_class() -> None:
    pool = {"name": "a", **L4, "capacity": [{"onDemand": {}}, SPOT], **gke(driver="gpuOperator")}
    fleet = with_pools(pool).fleet
    (fallback_order,) = fleet.pools
    member = "cloud.google.com/compute-class"
    assert fallback_order.labels[member] == "a"
    assert member in [taint.key for taint in fallback_order.taints]
    assert [one.key for one in fleet.addons.gpu_operator.tolerations] == [member]
    flavor = resource_flavor(fallback_order, fleet)["spec"]
    assert flavor["nodeLabels"][member] == "a"
    assert {one["key"] for one in flavor["tolerations"]} == {"nvidia.com/gpu", member}
    spec = pod_spec(fallback_order, fallback_order.partition.shares[0])
    assert spec["nodeSelector"][member] == "a"
    assert {one["key"] for one in spec["tolerations"]} == {"nvidia.com/gpu", member}
