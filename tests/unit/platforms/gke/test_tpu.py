"""TPU pools on GKE: slices of one host and of several."""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke import tpu
from gpufleet.platforms.gke.node_pool_arguments import node_pools, workload_policies
from gpufleet.platforms.gke.tpu import tpu_slice
from gpufleet.render.pod_request import pod_spec
from gpufleet_sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet_sandbox.cloud.gcp.message import node_pool_message


def compiled(machine: str, topology: str | None = None, **pool: Any) -> Any:
    gke = {} if topology is None else {"gke": {"tpuTopology": topology}}
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [
                {"name": "tpu", "instanceTypes": [machine], "nodes": {"min": 0, "max": 4}}
                | {"zones": ["us-central1-a"]}
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
        ("ct3-hightpu-4t", None, "tpu-v3-device", "2x2", 1),
        ("ct3p-hightpu-4t", "4x4", "tpu-v3-slice", "4x4", 4),
        ("tpu7x-standard-1t", None, "tpu7x", "1x1x1", 1),
        ("tpu7x-standard-4t", None, "tpu7x", "2x2x1", 1),
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
        ("ct3p-hightpu-4t", None, {}, "tpu-topology-missing", "pools[0].gke.tpuTopology"),
        ("ct3-hightpu-4t", "4x4", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct5lp-hightpu-4t", "1x8", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct6e-standard-4t", "2x6", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct5p-hightpu-4t", "4x2x2", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct5p-hightpu-4t", "2x4x16", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct5p-hightpu-4t", "16x16x28", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct6e-standard-1t", "0x0", {}, "tpu-topology", "pools[0].gke.tpuTopology"),
        ("ct5lp-hightpu-4t", "4x4", {"zones": []}, "gke-zone-missing", "pools[0].zones"),
        (
            "ct5lp-hightpu-4t",
            "4x4",
            {"zones": ["us-central1-a", "us-central1-b"]},
            "gke-one-zone",
            "pools[0].zones",
        ),
        (
            "ct3-hightpu-4t",
            None,
            {"capacity": [{"flexStart": {}}]},
            "capacity-not-sold",
            "pools[0].capacity[0].flexStart",
        ),
        (
            "ct6e-standard-4t",
            None,
            {"gke": {"diskType": "pd-ssd"}},
            "gke-disk-type",
            "pools[0].gke.diskType",
        ),
        (
            "ct6e-standard-4t",
            None,
            {"gke": {"driverVersion": "latest"}},
            "tpu-with-driver-version",
            "pools[0].gke.driverVersion",
        ),
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


def test_what_a_topology_may_be_is_said() -> None:
    plane = compiled("ct5lp-hightpu-4t", "3x3").findings[0]
    assert plane.message == (
        "3x3 is not a slice of ct5lp-hightpu-4t: one host is 2x2; several hosts are 2x4, 4x4, 4x8, "
        "8x8, 8x16, 16x16"
    )
    eight = compiled("ct5lp-hightpu-8t", "4x4").findings[0]
    assert eight.message == "4x4 is not a slice of ct5lp-hightpu-8t: one host is 2x4"
    assert eight.fix == "leave tpuTopology out"


def test_a_machine_whose_labels_nobody_sourced_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(tpu._FAMILIES, "ct6e")  # pyright: ignore[reportPrivateUsage]
    finding = compiled("ct6e-standard-4t").findings[0]
    assert (finding.code, finding.path) == ("tpu-machine-unknown", "pools[0].instanceTypes")


@pytest.mark.parametrize(
    ("machine", "sold"),
    [
        ("ct3-hightpu-4t", {"onDemand", "spot", "reserved"}),
        ("ct5lp-hightpu-4t", {"onDemand", "spot", "reserved", "flexStart", "queued"}),
        ("ct5p-hightpu-4t", {"onDemand", "spot", "reserved", "flexStart", "queued"}),
        ("ct6e-standard-8t", {"onDemand", "spot", "reserved", "flexStart", "queued"}),
        ("tpu7x-standard-4t", {"onDemand", "spot", "reserved", "flexStart", "queued"}),
    ],
)
def test_every_way_of_buying_makes_a_node_pool_that_gke_takes(machine: str, sold: set[str]) -> None:
    reserved = {"id": "tpus", "zone": "us-central1-a"}
    for way in ("onDemand", "spot", "reserved", "flexStart", "queued"):
        result = compiled(machine, capacity=[{way: reserved if way == "reserved" else {}}])
        if way not in sold:
            assert "capacity-not-sold" in [one.code for one in result.findings], way
            continue
        assert result.deployable, (way, result.findings)
        (arguments,) = node_pools(result.fleet.pools[0], "ml", {}).values()
        admit_node_pool(node_pool_message(arguments))


def test_hosts_of_ironwood_are_placed_by_a_workload_policy() -> None:
    nodes = {"min": 0, "max": 16}
    (pool,) = compiled("tpu7x-standard-4t", "4x4x4", nodes=nodes).fleet.pools
    (arguments,) = node_pools(pool, "ml", {}).values()
    assert arguments["placementPolicy"] == {"type": "COMPACT", "policyName": "ml-tpu"}
    assert workload_policies(pool, "ml", "us-central1") == {
        "": {
            "name": "ml-tpu",
            "region": "us-central1",
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "4x4x4"},
        }
    }
    (one_host,) = compiled("tpu7x-standard-4t").fleet.pools
    assert workload_policies(one_host, "ml", "us-central1") == {}


@pytest.mark.parametrize(
    ("machine", "topology", "chips"),
    [("ct5lp-hightpu-4t", "4x4", 4), ("ct5lp-hightpu-8t", None, 8), ("ct6e-standard-1t", None, 1)],
)
def test_a_pod_takes_all_chips_of_its_machine(
    machine: str, topology: str | None, chips: int
) -> None:
    nodes = {"min": 0, "max": 4}
    (pool,) = compiled(machine, topology, nodes=nodes).fleet.pools
    (container,) = pod_spec(pool, pool.partition.shares[0])["containers"]
    assert container["resources"]["limits"] == {"google.com/tpu": str(chips)}


def test_what_ironwood_boots_from_is_called_assumed() -> None:
    (found,) = compiled("tpu7x-standard-4t").findings
    assert (found.code, found.severity.value) == ("gke-disk-type-assumed", "info")
    assert "hyperdisk-balanced" in found.message
    said = compiled("tpu7x-standard-4t", gke={"diskType": "hyperdisk-ml"})
    assert (said.deployable, said.findings) == (True, ())
    sourced = compiled("ct6e-standard-4t", gke={"diskType": "pd-balanced"})
    assert "gke-disk-type" in [one.code for one in sourced.findings]


@pytest.mark.parametrize(
    ("version", "codes"), [("1.33", {"gke-version-too-old"}), ("1.34", set()), ("1.36", set())]
)
def test_ironwood_needs_a_release_that_has_it(version: str, codes: set[str]) -> None:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": version},
            "pools": [
                {
                    "name": "tpu",
                    "instanceTypes": ["tpu7x-standard-4t"],
                    "nodes": {"min": 0, "max": 2},
                }
            ],
        }
    )
    errors = {one.code for one in result.findings if one.severity.value == "error"}
    assert errors == codes
