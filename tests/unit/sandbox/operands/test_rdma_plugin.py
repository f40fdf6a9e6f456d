"""The played RDMA shared device plugin, against configurations as the renderer and others write."""

import json
from typing import Any

import pytest

from gpufleet.fleet.nic_cluster_policy import policy_spec
from gpufleet.platforms.compiled import compile_data
from gpufleet_sandbox.operands.cluster import ClusterView, NodeView
from gpufleet_sandbox.operands.gpu_operator import NIC_LABEL
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, HardwareError, read_hardware
from gpufleet_sandbox.operands.rdma_plugin import RDMA_ANNOTATION, read_rdma_plugin
from gpufleet_sandbox.operands.simulated_node import SimulatedNode

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
SEEN = {NIC_LABEL: "true"}


def configured(*entries: dict[str, Any]) -> dict[str, Any]:
    config = json.dumps({"configList": list(entries)})
    return {"rdmaSharedDevicePlugin": {"config": config}, "tolerations": TOLERATIONS}


def entry(name: str = "rail_a", **selectors: list[str]) -> dict[str, Any]:
    return {"resourceName": name, "rdmaHcaMax": 63, "selectors": selectors}


def advertised(spec: dict[str, Any], nics: int = 2, labels: dict[str, str] = SEEN) -> Any:
    plugin = read_rdma_plugin(spec)
    assert plugin is not None
    return plugin.advertises(nics, labels, (GPU_TAINT,))


def test_shares_of_every_resource_whose_selectors_a_card_meets() -> None:
    spec = configured(
        entry(vendors=["15b3"]),
        {**entry("second", ifNames=["ib1"]), "resourcePrefix": "example.com"},
        entry("third", ifNames=["ib2"]),
        entry("ethernet", linkTypes=["ether"]),
        entry("both", vendors=["15b3"], drivers=["ixgbe"]),
    )
    assert advertised(spec) == {"rdma/rail_a": 63, "example.com/second": 63}


def test_nothing_where_the_plugin_does_not_run() -> None:
    spec = configured(entry(vendors=["15b3"]))
    assert advertised(spec, labels={}) == {}
    assert advertised(spec, nics=0) == {}
    assert advertised({**spec, "tolerations": []}) == {}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"rdmaSharedDevicePlugin": {"config": "not json"}},
        {"rdmaSharedDevicePlugin": {"config": '{"configList": [{"resourceName": "a"}]}'}},
    ],
)
def test_a_configuration_that_cannot_be_read_is_no_plugin(spec: dict[str, Any]) -> None:
    assert read_rdma_plugin(spec) is None


def test_it_reads_what_is_rendered() -> None:
    made = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "c"},
            "pools": [
                {
                    "name": "train",
                    "gpu": "H100-80GB",
                    "gpusPerNode": 8,
                    "nodes": {"min": 1, "max": 1},
                    "fabric": "rdma",
                    "taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}],
                }
            ],
        }
    )
    assert made.fleet is not None, made.findings
    plugin = read_rdma_plugin(
        policy_spec(made.fleet.spec.addons, made.fleet.addons.network_operator)
    )
    assert plugin is not None
    taints = (GPU_TAINT, {"key": "team", "value": "a", "effect": "NoSchedule"})
    assert plugin.advertises(8, SEEN, taints) == {"rdma/rdma_shared_device_a": 63}


def hardware(nics: Any) -> str:
    gpus = [{"product": "NVIDIA L4", "memoryMiB": 23034, "count": 1}]
    return json.dumps({"gpus": gpus, "nics": nics, "cpu": "8", "memory": "32Gi"})


def test_resources_come_and_go_with_the_plugin() -> None:
    plugin = read_rdma_plugin(configured(entry(vendors=["15b3"])))
    node = NodeView("n", "u", {}, {HARDWARE_ANNOTATION: hardware(1)}, {}, {})
    with_plugin = ClusterView(None, None, feature_discovery=True, rdma=plugin)
    found = SimulatedNode(0).step(node, with_plugin, 0, list)
    assert found.labels[NIC_LABEL] == "true"
    assert found.resources["rdma/rail_a"] == "63"
    assert found.annotations[RDMA_ANNOTATION] == "rdma/rail_a"

    annotations = {HARDWARE_ANNOTATION: hardware(1), RDMA_ANNOTATION: "rdma/rail_a"}
    carried = {"rdma/rail_a": "63"}
    later = NodeView("n", "u", SEEN, annotations, carried, carried)
    gone = SimulatedNode(0).step(later, ClusterView(None, None, feature_discovery=True), 0, list)
    assert gone.resources["rdma/rail_a"] is None
    assert gone.annotations[RDMA_ANNOTATION] is None


@pytest.mark.parametrize("nics", [-1, "2", True])
def test_the_number_of_cards_is_a_number(nics: Any) -> None:
    with pytest.raises(HardwareError, match="nics must be a whole number"):
        read_hardware({HARDWARE_ANNOTATION: hardware(nics)})
