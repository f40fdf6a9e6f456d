from typing import Any

import pytest

from gpufleet.documents.writing import yaml_stream
from gpufleet.fleet.nic_cluster_policy import rdma_request
from gpufleet.render.artefacts import artefacts
from gpufleet.render.pod_request import MPS_USER, claiming_pod_spec, pod_spec, topology_hint
from tests.reading import yaml_data
from tests.unit.render.fleets import compiled, eks, gke, one
from tests.unit.render.golden_files import assert_golden

POOLS = {pool.name: pool for fleet in (eks(), gke()) for pool in fleet.pools}


def spec(name: str, share: int = 0) -> dict[str, Any]:
    return pod_spec(POOLS[name], POOLS[name].partition.shares[share])


def limits(name: str, share: int = 0) -> dict[str, str]:
    return spec(name, share)["containers"][0]["resources"]["limits"]


def test_golden_file() -> None:
    documents = [
        {"spec": pod_spec(pool, share)}
        for pool in POOLS.values()
        for share in pool.partition.shares
    ]
    assert_golden("pod-requests.yaml", yaml_stream(documents))


def test_a_pod_asks_for_one_share_by_its_published_name() -> None:
    assert limits("chat") == {"nvidia.com/gpu.shared": "1"}
    assert [limits("large", i) for i in range(4)] == [
        {"nvidia.com/gpu": "1"},
        {"nvidia.com/mig-1g.10gb": "1"},
        {"nvidia.com/mig-2g.20gb": "1"},
        {"nvidia.com/mig-3g.40gb": "1"},
    ]
    assert limits("partitions") == {"nvidia.com/gpu": "1"}


def test_selector_and_tolerations_lead_to_the_pool() -> None:
    assert spec("slices")["nodeSelector"] == {"gpufleet.dev/pool": "slices"}
    assert spec("slices")["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {
            "key": "example.com/team",
            "operator": "Equal",
            "value": "vision",
            "effect": "NoExecute",
        },
    ]


def test_mps_on_gke_needs_the_hosts_ipc_namespace() -> None:
    assert spec("clients")["hostIPC"] is True
    assert spec("clients")["securityContext"] == {"runAsUser": MPS_USER}


def test_limits_of_an_mps_client_are_variables_of_its_container() -> None:
    declared = {"replicas": 4, "activeThreadPercentage": 20, "pinnedMemoryMib": 4096}
    pool = one(gpu="L4", sharing={"mps": declared})
    (container,) = pod_spec(pool, pool.partition.shares[0])["containers"]
    assert container["env"] == [
        {"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": "20"},
        {"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=4096M"},
    ]
    (share,) = pool.partition.shares
    assert (share.threads_percent, share.memory_bytes) == (20, 4096 << 20)


def test_mps_of_the_device_plugin_needs_one_user_and_no_host_namespace() -> None:
    pool = one(gpu="L4", sharing={"mps": {"replicas": 4}})
    spec = pod_spec(pool, pool.partition.shares[0])
    assert spec["securityContext"] == {"runAsUser": MPS_USER}
    assert not {"hostIPC", "hostPID", "hostNetwork"} & set(spec)


def test_nothing_else_needs_a_security_context() -> None:
    for name in ("chat", "large", "whole", "partitions", "turns"):
        assert not {"hostIPC", "hostPID", "securityContext"} & set(spec(name)), name
        assert "securityContext" not in spec(name)["containers"][0], name


def test_training_over_efa_takes_whole_nodes_with_their_interfaces() -> None:
    (container,) = spec("training")["containers"]
    assert container["resources"]["limits"] == {
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
        "hugepages-2Mi": "5120Mi",
    }
    assert "memory" in container["resources"]["requests"]
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}


RDMA: dict[str, Any] = {"gpu": "H100-80GB", "gpusPerNode": 8, "fabric": "rdma"}


def test_training_over_rdma_asks_for_every_shared_network_resource() -> None:
    fleet = compiled("sandbox", {"train": {**RDMA, "nodes": {"min": 0, "max": 2}}})
    (pool,), plan = fleet.pools, fleet.addons.network_operator
    asked = rdma_request(pool, fleet.spec, plan)
    assert asked.resources == {"rdma/rdma_shared_device_a": "1"}
    assert asked.annotations == {}
    spec = pod_spec(pool, pool.partition.shares[0], asked.resources)
    (container,) = spec["containers"]
    assert container["resources"]["limits"] == {
        "nvidia.com/gpu": "8",
        "rdma/rdma_shared_device_a": "1",
    }
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}


@pytest.mark.parametrize(
    ("platform", "machine"),
    [
        ("vsphere", {"vsphere": {"cpus": 16, "memoryGib": 128, "template": "ubuntu"}}),
        ("openshift", {"openshift": {"cpus": 16, "memoryGib": 128, "template": "rhcos"}}),
        ("sandbox", {}),
    ],
)
@pytest.mark.parametrize(
    ("network", "limits", "joined"),
    [
        (
            {"macvlan": [{"name": "rail-0"}, {"name": "rail-1", "namespace": "ml"}]},
            {"rdma/rdma_shared_device_a": "1"},
            "default/rail-0, ml/rail-1",
        ),
        (
            {
                "sriov": [{"name": "vf", "selectors": {"vendors": ["15b3"], "isRdma": True}}],
                "hostDevice": [
                    {"name": "rail-0", "resourceName": "vf"},
                    {"name": "rail-1", "resourceName": "vf"},
                ],
            },
            {"nvidia.com/vf": "2"},
            "default/rail-0, default/rail-1",
        ),
    ],
)
def test_pods_name_the_networks_and_the_devices_they_need(
    platform: str,
    machine: dict[str, Any],
    network: dict[str, Any],
    limits: dict[str, str],
    joined: str,
) -> None:
    """A host device is taken by one network, so two networks take two."""
    pools = {
        "train": {**RDMA, **machine, "nodes": {"min": 1, "max": 1}},
        "chat": {"gpu": "L4", **machine, "nodes": {"min": 1, "max": 1}},
    }
    fleet = compiled(platform, pools, addons={"networkOperator": network})
    texts = {file.path: file.text for file in artefacts(fleet)}
    files = {name: yaml_data(texts[f"pods/{name}.yaml"]) for name in pools}
    pod = files["train"]
    assert pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == joined
    asked = pod["spec"]["containers"][0]["resources"]["limits"]
    assert {key: asked[key] for key in limits} == limits
    assert "metadata" not in files["chat"]


def test_claimed_gpus_come_with_the_network_too() -> None:
    pool = one("sandbox", **RDMA, sharing={"dra": {}})
    assert pool.partition.dra is not None
    (offer,) = pool.partition.dra.offers
    (container,) = claiming_pod_spec(pool, offer, {"rdma/a": "1"})["containers"]
    assert container["resources"]["limits"] == {"rdma/a": "1"}
    assert container["resources"]["claims"]
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}


def test_jobs_over_several_nodes_are_placed_close_together() -> None:
    pools = {
        "train": {"gpu": "H100-80GB", "gpusPerNode": 8, "fabric": "rdma"},
        "chat": {"gpu": "L4"},
    }
    queues: dict[str, Any] = {
        "teams": [{"name": "all", "share": 1}],
        "topologies": [
            {
                "name": "rails",
                "levels": ["example.com/room", "nvidia.com/gpu.clique", "kubernetes.io/hostname"],
                "pools": ["train", "chat"],
            }
        ],
    }
    declared = {name: {**pool, "nodes": {"min": 2, "max": 2}} for name, pool in pools.items()}
    fleet = compiled("sandbox", declared, queues=queues)
    wanted = {"kueue.x-k8s.io/podset-preferred-topology": "nvidia.com/gpu.clique"}
    assert topology_hint(fleet.pool("train"), fleet.spec.queues) == wanted
    assert topology_hint(fleet.pool("train"), None) == {}
    assert topology_hint(fleet.pool("chat"), fleet.spec.queues) == {}
    files = {file.path: file.text for file in artefacts(fleet)}
    (snippet,) = [text for path, text in files.items() if "train" in path and "limits" in text]
    assert "podset-preferred-topology: nvidia.com/gpu.clique" in snippet.replace('"', "")
