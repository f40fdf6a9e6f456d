"""The Network Operator's rules over declarations, and what would never be ready."""

from typing import Any

import pytest

from gpufleet.fleet.nic_cluster_policy import policy_spec
from gpufleet.platforms.compiled import compile_data

NET = {"name": "rail0", "ipam": {"type": "nv-ipam", "poolName": "a"}}
SRIOV = {"name": "nic0", "selectors": {"vendors": ["15b3"]}}


def compiled(network: dict[str, Any], **pool: Any) -> Any:
    one = {
        "name": "train",
        "gpu": "H100-80GB",
        "gpusPerNode": 8,
        "vsphere": {"cpus": 96, "memoryGib": 1024, "template": "gpu-node"},
        "nodes": {"min": 1, "max": 4},
        "fabric": "rdma",
        **pool,
    }
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "vsphere",
            "cluster": {"name": "c"},
            "pools": [one],
            "addons": {"networkOperator": network},
        }
    )


def codes(result: Any) -> set[str]:
    return {f.code for f in result.findings if f.severity.value != "info"}


@pytest.mark.parametrize(
    ("network", "code"),
    [
        ({}, None),
        ({"macvlan": [NET]}, None),
        ({"macvlan": [NET], "ipoib": [NET]}, "network-name-taken"),
        ({"macvlan": [NET], "ipoib": [{**NET, "namespace": "other"}]}, None),
        (
            {"macvlan": [{"name": "a", "ipam": {"type": "whereabouts"}}]},
            "network-ipam-not-installed",
        ),
        ({"hostDevice": [{"name": "a", "resourceName": "nic0"}]}, "host-device-resource-unknown"),
        ({"sriov": [SRIOV], "hostDevice": [{"name": "a", "resourceName": "nic0"}]}, None),
        ({"ofed": "operator"}, None),
        ({"ofed": "operator", "version": "25.7.0"}, "ofed-version-unknown"),
        ({"ofed": "operator", "ofedDriver": {"version": "26.04-1.1.0.0"}}, None),
        ({"wait": True}, "network-policy-never-ready"),
        ({"policy": {"ofedDrivr": {}}}, "config-key-misspelt"),
        ({"values": {"nfd": {"enabld": True}}}, "config-key-misspelt"),
        (
            {"policy": {"ibKubernetes": {"image": "ib-kubernetes"}}},
            "nic-policy-field-missing",
        ),
    ],
)
def test_rules(network: dict[str, Any], code: str | None) -> None:
    found = codes(compiled(network))
    assert (code in found) if code else found == set(), found


def test_waiting_is_for_nodes_that_are_there_already() -> None:
    there = compiled({}, ownership="existing")
    assert there.fleet.addons.network_operator.wait is True
    assert "network-policy-never-ready" not in codes(compiled({"wait": True}, ownership="existing"))
    assert compiled({}).fleet.addons.network_operator.wait is False


def test_rdma_pools_get_a_resource_and_the_operator_runs_discovery() -> None:
    plan = compiled({}).fleet.addons
    assert [one.name for one in plan.network_operator.rdma] == ["rdma_shared_device_a"]
    assert plan.network_operator.node_feature_discovery is True
    assert plan.gpu_operator.node_feature_discovery is False
    assert compiled({"sriov": [SRIOV]}).fleet.addons.network_operator.rdma == ()


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ({"rdma": [{"name": "-a"}]}, "rdma[0].name"),
        ({"sriov": [{**SRIOV, "name": "nic-0"}]}, "sriov[0].name"),
        ({"sriov": [{**SRIOV, "prefix": "nvidia"}]}, "sriov[0].prefix"),
        ({"sriov": [{"name": "a", "selectors": {}}]}, "at least one of vendors"),
        ({"rdma": [{"name": "a", "selectors": {}}]}, "at least one of vendors"),
        ({"ofedDriver": {"version": "latest"}}, "ofedDriver.version"),
        ({"ofedDriver": {"upgradePolicy": {"safeLoad": True}}}, "safeLoad needs autoUpgrade"),
        ({"macvlan": [{**NET, "mode": "router"}]}, "macvlan[0].mode"),
        ({"macvlan": [{**NET, "mtu": -1}]}, "macvlan[0].mtu"),
        ({"macvlan": [{"name": "a", "ipam": {"poolName": "x"}}]}, "ipam has no type"),
    ],
)
def test_shapes_the_webhook_would_refuse(network: dict[str, Any], said: str) -> None:
    result = compiled(network)
    assert any(said in f"{f.path} {f.message}" for f in result.findings), result.findings


def test_networks_without_the_operator_are_refused() -> None:
    result = compiled({"macvlan": [NET]}, fabric="none")
    assert "network-operator-off" in codes(result)


def openshift(network: dict[str, Any]) -> Any:
    size = {"cpus": 32, "memoryGib": 256, "template": "rhcos", "networks": [{"network": "vms"}]}
    pool = {"name": "train", "gpu": "A100-80GB", "nodes": {"min": 2, "max": 2}, "fabric": "rdma"}
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "openshift",
            "cluster": {"name": "c"},
            "pools": [{**pool, "openshift": size}],
            "addons": {"networkOperator": network},
        }
    )


@pytest.mark.parametrize(
    ("network", "installed"),
    [
        ({"macvlan": [NET]}, None),
        ({"ipoib": [NET]}, {"ipoib": {"image": "ipoib-cni"}}),
    ],
)
def test_openshift_has_multus_and_its_plugins(network: dict[str, Any], installed: object) -> None:
    """Mellanox/network-operator-docs 0c0ecad, deployment-guide-openshift.rst: both are there, and
    only the IPoIB plugin is not."""
    fleet = openshift(network).fleet
    spec = policy_spec(fleet.spec.addons, fleet.addons.network_operator)
    assert spec.get("secondaryNetwork") == installed
    assert spec["nvIpam"]["image"] == "nvidia-k8s-ipam"


def test_openshift_has_whereabouts() -> None:
    network = {"macvlan": [{"name": "a", "ipam": {"type": "whereabouts"}}]}
    assert "network-ipam-not-installed" not in codes(openshift(network))
    assert "network-ipam-not-installed" in codes(compiled(network))
