"""Configuration of the Network Operator, against NVIDIA's own definitions where a copy is at
hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.manifests import (
    network_release_values,
    nic_cluster_policy,
    operands_namespace,
    secondary_networks,
)
from tests.reading import yaml_data
from tests.unit.render.upstream_definitions import assert_accepted

CHARTS = Path(__file__).parents[4] / "shared/reference/charts"
NETWORK: dict[str, Any] = {
    "ofed": "operator",
    "ofedDriver": {
        "precompiled": True,
        "env": {"UNLOAD_STORAGE_MODULES": "true"},
        "repoConfig": "repos",
        "certConfig": "certs",
        "upgradePolicy": {"autoUpgrade": True, "safeLoad": True, "drain": {"podSelector": "a=b"}},
    },
    "rdma": [
        {"name": "rail_a", "prefix": "example.com", "podsPerNode": 4},
        {"name": "rail-b", "selectors": {"ifNames": ["ens2f0"], "deviceIds": ["101d"]}},
    ],
    "sriov": [{"name": "nic0", "selectors": {"pfNames": ["ens1f0"], "isRdma": True}}],
    "macvlan": [
        {
            "name": "storage",
            "master": "ens3",
            "mtu": 9000,
            "ipam": {"type": "nv-ipam", "poolName": "p"},
        }
    ],
    "hostDevice": [{"name": "rail0", "namespace": "train", "resourceName": "nic0"}],
    "ipoib": [{"name": "ib0", "master": "ib0"}],
    "imagePullSecret": "ngc",
}


def fleet(network: dict[str, Any] | None = None, **more: Any) -> Any:
    pool = {
        "name": "train",
        "gpu": "H100-80GB",
        "gpusPerNode": 8,
        "vsphere": {"cpus": 96, "memoryGib": 1024, "template": "gpu-node"},
        "nodes": {"min": 1, "max": 4},
        "fabric": "rdma",
        "taints": [{"key": "team", "value": "a", "effect": "NoExecute"}],
    }
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "vsphere",
            "cluster": {"name": "c"},
            "pools": [pool],
            "addons": {"networkOperator": network or {}, **more},
        }
    )
    assert compiled.deployable, compiled.findings
    assert compiled.fleet is not None
    return compiled.fleet


@pytest.mark.parametrize("network", [{}, NETWORK])
def test_the_policy_is_accepted_by_its_definition(network: dict[str, Any]) -> None:
    policy = nic_cluster_policy(fleet(network))
    assert policy is not None
    assert policy["metadata"]["name"] == "nic-cluster-policy"
    assert_accepted("mellanox.com_nicclusterpolicies.yaml", policy)


@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        ("MacvlanNetwork", "mellanox.com_macvlannetworks.yaml"),
        ("HostDeviceNetwork", "mellanox.com_hostdevicenetworks.yaml"),
        ("IPoIBNetwork", "mellanox.com_ipoibnetworks.yaml"),
    ],
)
def test_networks_are_accepted_by_their_definitions(kind: str, definition: str) -> None:
    (made,) = [one for one in secondary_networks(fleet(NETWORK)) if one["kind"] == kind]
    assert_accepted(definition, made)


@pytest.mark.parametrize(
    ("section", "schema"),
    [
        ("rdmaSharedDevicePlugin", "rdma_shared_device_plugin"),
        ("sriovDevicePlugin", "sriov_network_device_plugin"),
    ],
)
def test_plugin_configurations_pass_the_webhooks_schemas(section: str, schema: str) -> None:
    path = CHARTS / f"network-operator-26.4.1.webhook-schema.{schema}.json"
    if not path.is_file():
        pytest.skip(f"no upstream schema to compare with: {path}")
    policy = nic_cluster_policy(fleet(NETWORK))
    assert policy is not None
    config = json.loads(policy["spec"][section]["config"])
    Draft7Validator(json.loads(path.read_text())).validate(config)


def test_everything_that_is_needed_and_nothing_else() -> None:
    policy = nic_cluster_policy(fleet())
    assert policy is not None
    spec = policy["spec"]
    assert set(spec) == {"global", "tolerations", "rdmaSharedDevicePlugin"}
    assert spec["global"] == {
        "repository": "nvcr.io/nvidia/mellanox",
        "version": "network-operator-v26.4.1",
    }
    assert spec["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]
    assert json.loads(spec["rdmaSharedDevicePlugin"]["config"]) == {
        "configList": [
            {
                "resourceName": "rdma_shared_device_a",
                "rdmaHcaMax": 63,
                "selectors": {"vendors": ["15b3"]},
            }
        ]
    }


def test_networks_bring_what_they_need() -> None:
    policy = nic_cluster_policy(fleet(NETWORK))
    assert policy is not None
    spec = policy["spec"]
    assert set(spec["secondaryNetwork"]) == {"multus", "cniPlugins", "ipoib"}
    assert spec["nvIpam"] == {"image": "nvidia-k8s-ipam", "enableWebhook": False}
    assert spec["ofedDriver"]["version"] == "doca3.4.1-26.04-1.1.0.0-1"
    assert spec["ofedDriver"]["upgradePolicy"]["safeLoad"] is True
    without = nic_cluster_policy(fleet({"macvlan": [{"name": "a"}]}))
    assert without is not None
    assert set(without["spec"]["secondaryNetwork"]) == {"multus", "cniPlugins"}
    assert "nvIpam" not in without["spec"]


def test_raw_policy_is_merged_last() -> None:
    policy = nic_cluster_policy(fleet({"policy": {"rdmaSharedDevicePlugin": {"useCdi": True}}}))
    assert policy is not None
    assert policy["spec"]["rdmaSharedDevicePlugin"]["useCdi"] is True
    assert policy["spec"]["rdmaSharedDevicePlugin"]["image"] == "k8s-rdma-shared-dev-plugin"


def test_values_label_gpus_and_nics_and_reach_tainted_nodes() -> None:
    worker = network_release_values(fleet())["node-feature-discovery"]["worker"]
    classes = worker["config"]["sources"]["pci"]["deviceClassWhitelist"]
    assert {"02", "0200", "0207", "0300", "0302"} == set(classes)
    assert {"key": "team", "operator": "Exists", "effect": "NoExecute"} in worker["tolerations"]


def test_a_mirror_serves_chart_and_policy() -> None:
    mirrored = fleet(NETWORK, images={"registry": "registry.example.com/m"})
    values = network_release_values(mirrored)
    assert values["operator"]["repository"] == "registry.example.com/m/nvidia/cloud-native"
    assert values["imagePullSecrets"] == ["ngc"]
    policy = nic_cluster_policy(mirrored)
    assert policy is not None
    assert policy["spec"]["global"]["repository"] == "registry.example.com/m/nvidia/mellanox"


def test_every_key_exists_in_the_chart() -> None:
    path = CHARTS / "network-operator-26.4.1.values.yaml"
    if not path.is_file():
        pytest.skip(f"no upstream values to compare with: {path}")
    upstream = yaml_data(path.read_text())
    values = network_release_values(fleet(NETWORK, images={"registry": "registry.example.com/m"}))

    def unknown(ours: Any, theirs: Any, where: str) -> list[str]:
        if not isinstance(ours, dict):
            return []
        return [
            found
            for key, value in ours.items()
            for found in (
                unknown(value, theirs[key], f"{where}.{key}")
                if key in theirs
                else [f"{where}.{key}"]
            )
        ]

    assert unknown(values, upstream, "") == []


def test_the_namespace_admits_privileged_operands() -> None:
    metadata = operands_namespace(fleet().addons.network_operator.namespace)["metadata"]
    assert metadata["name"] == "nvidia-network-operator"
    assert metadata["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
