"""Managers of the kubelet: in the spelling of each platform, and what is refused."""

import tomllib
from typing import Any

import pytest

from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.findings import Finding, Severity
from gpufleet.fleet import Pool
from gpufleet.fleet.kubelet import kubelet_arguments
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.user_data import ClusterEndpoint, user_data
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.openshift.machine_config import kubelet_config, machine_config_pool
from tests.reading import yaml_data

ALIGNED = {"cpuManager": "static", "topologyManager": "singleNumaNode", "topologyScope": "pod"}
KUBERNETES = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "single-numa-node",
    "topologyManagerScope": "pod",
}
"""KubeletConfiguration, kubelet.config.k8s.io/v1beta1."""
REGIONS = {"eks": "us-east-1", "gke": "us-central1"}
MACHINE = {"cpus": 16, "memoryGib": 64, "template": "t"}
OWN = ClusterEndpoint("c", "https://c", "Y2E=", "172.20.0.0/16")
ALL = {"memoryManager": "static", "reservedCpus": 1, "reservedMemoryMib": 999}
NO_CPUS = [("kubelet-setting-not-here", "pools[0].kubelet.reservedCpus")]
COMPUTED = [("kubelet-setting-not-here", f"pools[0].kubelet.{f}") for f in
            ("memoryManager", "reservedCpus", "reservedMemoryMib")]  # fmt: skip


def compiled(
    platform: str, kubelet: dict[str, Any], version: str = "1.36", **pool: Any
) -> tuple[Pool, list[Finding]]:
    if platform in {"vsphere", "openshift"}:
        pool = {platform: MACHINE, **pool}
    region = {"region": REGIONS[platform]} if platform in REGIONS else {}
    declared = {"name": "p", "gpu": "L4", "nodes": {"min": 1, "max": 2}, **pool}
    spec = {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "c", "kubernetesVersion": version, **region},
        "pools": [{**declared, "kubelet": kubelet}],
    }
    result = compile_data(spec)
    assert result.fleet is not None, result.findings
    return result.fleet.pools[0], [f for f in result.findings if "kubelet" in f.path]


def part(text: str | None) -> dict[str, Any]:
    """The document inside the MIME parts."""
    assert text is not None
    return yaml_data(text.split("\n\n", 2)[2].split("\n--gpufleet--")[0])


def test_nodeadm_gets_a_kubelet_configuration() -> None:
    """awslabs/amazon-eks-ami 81fec2e nodeadm/api/v1alpha1: kubelet.config, inline."""
    pool, found = compiled("eks", ALIGNED)
    assert found == []
    config = part(user_data(pool, eks_shape(pool), {}, None))
    assert config["kind"] == "NodeConfig"
    assert config["spec"]["kubelet"] == {"config": KUBERNETES}
    own, _ = compiled("eks", ALIGNED, eks={"amiId": "ami-0123456789abcdef0"})
    joined = part(user_data(own, eks_shape(own), {"a": "b"}, OWN))["spec"]
    assert joined["kubelet"]["config"] == KUBERNETES
    assert "--node-labels=a=b" in joined["kubelet"]["flags"]
    plain, _ = compiled("eks", {})
    assert "kubelet" not in (user_data(plain, eks_shape(plain), {}, None) or "")


@pytest.mark.parametrize("own", [None, "ami-0123456789abcdef0"])
def test_bottlerocket_has_one_table_of_kubernetes(own: str | None) -> None:
    options = {"releaseVersion": None} if own is None else {"amiId": own}
    pool, _ = compiled(
        "eks",
        ALIGNED,
        image="bottlerocket-nvidia",
        eks={k: v for k, v in options.items() if v},
        sharing={"timeSlicing": {"replicas": 4}},
    )
    access = None if own is None else OWN
    settings = tomllib.loads(user_data(pool, eks_shape(pool), {}, access) or "")["settings"]
    expected = {
        "cpu-manager-policy": "static",
        "topology-manager-policy": "single-numa-node",
        "topology-manager-scope": "pod",
    }
    assert expected.items() <= settings["kubernetes"].items()
    assert ("api-server" in settings["kubernetes"]) is (own is not None)
    assert "kubelet-device-plugins" in settings


def test_the_limit_of_processes_of_a_pod() -> None:
    """kubernetes v1.36 KubeletConfiguration podPidsLimit, flag --pod-max-pids; bottlerocket
    settings.kubernetes.pod-pids-limit; Google's API NodeKubeletConfig: 1,024 to 4,194,304."""
    limit = {"podPidsLimit": 4096}
    pool, found = compiled("eks", limit)
    assert found == []
    assert part(user_data(pool, eks_shape(pool), {}, None))["spec"]["kubelet"] == {"config": limit}
    pool, _ = compiled("eks", limit, image="bottlerocket-nvidia")
    settings = tomllib.loads(user_data(pool, eks_shape(pool), {}, None) or "")["settings"]
    assert settings["kubernetes"]["pod-pids-limit"] == 4096
    pool, found = compiled("gke", limit)
    assert found == []
    ((_, arguments),) = node_pools(pool, "c", {}).items()
    assert arguments["nodeConfig"]["kubeletConfig"] == limit
    pool, _ = compiled("vsphere", limit)
    assert kubelet_arguments(pool) == {"pod-max-pids": "4096"}


@pytest.mark.parametrize("image", ["al2023-nvidia", "bottlerocket-nvidia"])
def test_karpenter_gets_them_as_user_data(image: str) -> None:
    pool, _ = compiled("eks", ALIGNED, provisioner="karpenter", image=image)
    spec = node_class(pool, eks_shape(pool), "c", {}, "p")["spec"]
    assert "single-numa-node" in spec["userData"]
    plain, _ = compiled("eks", {}, provisioner="karpenter", image=image)
    assert "userData" not in node_class(plain, eks_shape(plain), "c", {}, "p")["spec"]


def test_gke_has_fields_of_its_own() -> None:
    """Google's API, container v1 NodeKubeletConfig."""
    pool, found = compiled("gke", {**ALIGNED, "memoryManager": "static"})
    assert found == []
    ((_, arguments),) = node_pools(pool, "c", {}).items()
    assert arguments["nodeConfig"]["kubeletConfig"] == {
        "cpuManagerPolicy": "static",
        "topologyManager": {"policy": "single-numa-node", "scope": "pod"},
        "memoryManager": {"policy": "Static"},
    }
    plain, _ = compiled("gke", {})
    ((_, arguments),) = node_pools(plain, "c", {}).items()
    assert "kubeletConfig" not in arguments["nodeConfig"]


def test_gke_has_them_from_a_release_on() -> None:
    _, found = compiled("gke", {**ALIGNED, "memoryManager": "static"}, version="1.31")
    assert {f.path for f in found if f.severity is Severity.ERROR} == {
        "pools[0].kubelet.topologyManager",
        "pools[0].kubelet.memoryManager",
    }


def test_openshift_has_a_kubelet_config_for_the_pools_own_machines() -> None:
    options = {**MACHINE, "machineConfig": {}}
    kubelet = {**ALIGNED, "memoryManager": "static", "reservedCpus": 2, "reservedMemoryMib": 2148}
    pool, found = compiled("openshift", kubelet, openshift=options)
    assert found == []
    made, machines = kubelet_config(pool), machine_config_pool(pool)
    assert made is not None
    assert machines is not None
    selected = made["spec"]["machineConfigPoolSelector"]["matchLabels"]
    assert selected.items() <= machines["metadata"]["labels"].items()
    # The reserved memory of all NUMA nodes: system-reserved and the threshold of 100 MiB.
    assert made["spec"]["kubeletConfig"] == {
        **KUBERNETES,
        "memoryManagerPolicy": "Static",
        "systemReserved": {"cpu": "2", "memory": "2048Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "2148Mi"}}],
    }
    if has_schema(made["apiVersion"], made["kind"]):
        assert list(schema_problems(made)) == []


@pytest.mark.parametrize(
    ("platform", "kubelet", "pool", "expected"),
    [
        ("eks", ALL, {}, COMPUTED),
        ("eks", ALL, {"image": "bottlerocket-nvidia"}, COMPUTED),
        ("gke", {"reservedCpus": 1}, {}, NO_CPUS),
        (
            "openshift",
            {"cpuManager": "static"},
            {},
            [("kubelet-setting-not-here", "pools[0].kubelet.cpuManager")],
        ),
        (
            "openshift",
            {"memoryManager": "static", "topologyManager": "restricted"},
            {"openshift": {**MACHINE, "machineConfig": {}}},
            [("kubelet-reservation-missing", "pools[0].kubelet.reservedMemoryMib")],
        ),
        (
            "vsphere",
            {"cpuManager": "static"},
            {},
            [("kubelet-reservation-missing", "pools[0].kubelet.reservedCpus")],
        ),
        (
            "vsphere",
            {"memoryManager": "static", "topologyManager": "restricted", "reservedCpus": 1},
            {},
            [("kubelet-reservation-missing", "pools[0].kubelet.reservedMemoryMib")],
        ),
        ("vsphere", {"cpuManager": "static", "reservedCpus": 1}, {}, []),
    ],
)  # fmt: skip
def test_settings_that_nodes_do_not_get_are_refused(
    platform: str, kubelet: dict[str, Any], pool: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    _, found = compiled(platform, kubelet, **pool)
    errors = [f for f in found if f.severity is Severity.ERROR]
    assert [(f.code, f.path) for f in errors] == expected
    assert all(f.fix and "value" in f.evidence and "limit" in f.evidence for f in errors)


@pytest.mark.parametrize(
    ("kubelet", "pool", "code"),
    [
        ({"topologyManager": "restricted"}, {}, "kubelet-topology-without-cores"),
        ({"topologyScope": "pod"}, {}, "kubelet-scope-without-topology"),
        (
            ALIGNED,
            {"instanceTypes": ["p5.48xlarge"], "fabric": "efa", "intent": "training"},
            "kubelet-whole-node-on-one-numa-node",
        ),
    ],
)
def test_settings_that_do_less_than_they_say(
    kubelet: dict[str, Any], pool: dict[str, Any], code: str
) -> None:
    declared = {"gpu": None, **pool} if "instanceTypes" in pool else pool
    _, found = compiled("eks", kubelet, **declared)
    assert [(f.code, f.severity) for f in found] == [(code, Severity.WARNING)]


def test_auto_mode_has_none() -> None:
    _, found = compiled("eks", {"cpuManager": "static"}, provisioner="autoMode", image="eks-auto")
    assert ("kubelet-setting-not-here", "pools[0].kubelet.cpuManager") in [
        (f.code, f.path) for f in found
    ]


def test_simulated_nodes_have_no_kubelet() -> None:
    _, found = compiled("sandbox", ALIGNED)
    assert [f.code for f in found] == ["kubelet-not-simulated"]
