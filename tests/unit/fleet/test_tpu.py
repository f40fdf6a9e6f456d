"""TPU pools on GKE: slices of one host and of several."""

from typing import Any

import pytest

from gpufleet.fleet import compile_data
from gpufleet.fleet.tpu import tpu_slice
from gpufleet.render.gke_node_pool import node_pools
from gpufleet.render.pod_request import pod_spec
from gpufleet.sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet.sandbox.cloud.gcp.message import node_pool_message


def compiled(machine: str, topology: str | None = None, **pool: Any) -> Any:
    gke = {} if topology is None else {"gke": {"tpuTopology": topology}}
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [
                {"name": "tpu", "instanceTypes": [machine], "nodes": {"min": 0, "max": 4}}
                | gke
                | pool
            ],
        }
    )


@pytest.mark.parametrize(
    ("machine", "topology", "accelerator", "shape", "hosts"),
    [
        ("ct5lp-hightpu-1t", None, "tpu-v5-lite-podslice", "1x1", 1),
        ("ct5lp-hightpu-8t", None, "tpu-v5-lite-podslice", "2x4", 1),
        ("ct5lp-hightpu-4t", "4x4", "tpu-v5-lite-podslice", "4x4", 4),
        ("ct6e-standard-4t", "2x2", "tpu-v6e-slice", "2x2", 1),
        ("ct5p-hightpu-4t", "2x2x4", "tpu-v5p-slice", "2x2x4", 4),
    ],
)
def test_a_slice_has_its_hosts_and_names(
    machine: str, topology: str | None, accelerator: str, shape: str, hosts: int
) -> None:
    result = compiled(machine, topology)
    assert result.deployable, result.findings
    (pool,) = result.fleet.pools
    found = tpu_slice(pool)
    assert found is not None
    assert (found.accelerator, found.topology, found.hosts) == (accelerator, shape, hosts)
    (arguments,) = node_pools(pool, "ml", {}).values()
    admit_node_pool(node_pool_message(arguments))
    placed = {"type": "COMPACT", "tpuTopology": shape} if hosts > 1 else None
    assert arguments.get("placementPolicy") == placed
    assert "guestAccelerators" not in arguments["nodeConfig"]
    taint = {"key": "google.com/tpu", "value": "present", "effect": "NO_SCHEDULE"}
    assert arguments["nodeConfig"]["taints"] == [taint]


def test_a_pod_asks_for_chips_and_selects_the_slice() -> None:
    (pool,) = compiled("ct6e-standard-4t").fleet.pools
    spec = pod_spec(pool, pool.partition.shares[0])
    assert spec["nodeSelector"] == {
        "gpufleet.dev/pool": "tpu",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "2x2",
    }
    assert spec["tolerations"] == [
        {"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}
    ]
    (container,) = spec["containers"]
    assert list(container["resources"]["limits"]) == ["google.com/tpu"]


@pytest.mark.parametrize(
    ("machine", "topology", "pool", "code", "path"),
    [
        ("ct5lp-hightpu-4t", "2x2x4", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct5lp-hightpu-4t", "3x3", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct5lp-hightpu-8t", "4x4", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        (
            "ct5lp-hightpu-4t",
            "4x4",
            {"nodes": {"min": 0, "max": 3}},
            "tpu-slice-size",
            "pools[0].nodes",
        ),
        (
            "ct5lp-hightpu-4t",
            "4x4",
            {"nodes": {"min": 2, "max": 4}},
            "tpu-slice-size",
            "pools[0].nodes",
        ),
        (
            "ct5lp-hightpu-4t",
            None,
            {"sharing": {"timeSlicing": {"replicas": 2}}},
            "sharing-needs-nvidia",
            "pools[0].sharing.timeSlicing",
        ),
        (
            "ct5lp-hightpu-4t",
            None,
            {"gke": {"driver": "gpuOperator"}},
            "tpu-with-gpu-operator",
            "pools[0].gke.driver",
        ),
        ("ct3-hightpu-4t", None, {}, "tpu-machine-unknown", "pools[0].instanceTypes"),
    ],
)
def test_a_wrong_tpu_pool_is_refused(
    machine: str, topology: str | None, pool: dict[str, Any], code: str, path: str
) -> None:
    result = compiled(machine, topology, **pool)
    assert (code, path) in [(one.code, one.path) for one in result.findings], result.findings
    assert not result.deployable


def test_a_whole_slice_is_made_at_once() -> None:
    nodes = {"min": 4, "max": 4}
    (pool,) = compiled("ct5lp-hightpu-4t", "4x4", nodes=nodes, zones=["us-central1-a"]).fleet.pools
    (arguments,) = node_pools(pool, "ml", {}).values()
    assert arguments["initialNodeCount"] == 4
    assert arguments["autoscaling"]["totalMaxNodeCount"] == 4
