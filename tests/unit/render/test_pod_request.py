from typing import Any

from gpufleet.render.pod_request import MPS_USER, pod_spec
from gpufleet.render.yaml_text import yaml_stream
from tests.unit.render.fleets import eks, gke, one
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
