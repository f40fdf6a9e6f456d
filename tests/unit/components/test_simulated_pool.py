import json
from typing import Any

import pulumi
import pytest

from gpufleet import SimulatedGpuNodePool
from gpufleet.catalogue import load
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.sandbox.simulated_node import MAX_NAME, node_name, simulated_nodes

NODE = "kubernetes:core/v1:Node"
POOL: Any = {
    "name": "notebooks",
    "instance_types": ["p4de.24xlarge"],
    "nodes": {"min": 2, "max": 3},
    "labels": {"rack": "7"},
    "taints": [{"key": "team", "value": "ml", "effect": "NoExecute"}],
    "zones": ["us-east-1a", "us-east-1b"],
    "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
}


def arguments(**changes: Any) -> Any:
    return {"catalogue": "2026.11", "pool": POOL, **changes}


def test_a_node_is_born_with_everything_operands_and_scheduler_read(run: Any) -> None:
    recording = run(lambda: SimulatedGpuNodePool("pool", arguments()))
    first, second = recording.all(NODE)
    assert [n.inputs["metadata"]["name"] for n in (first, second)] == [
        "sandbox-notebooks-0",
        "sandbox-notebooks-1",
    ]
    labels = first.inputs["metadata"]["labels"]
    assert labels["nvidia.com/mig.config"].startswith("notebooks-")
    assert labels["nvidia.com/device-plugin.config"] == "default"
    assert labels["gpufleet.dev/pool"] == "notebooks"
    assert labels["gpufleet.dev/simulated"] == "true"
    assert labels["node.kubernetes.io/instance-type"] == "p4de.24xlarge"
    assert labels["kubernetes.io/hostname"] == "sandbox-notebooks-0"
    assert labels["rack"] == "7"
    zones = [n.inputs["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in (first, second)]
    assert zones == ["us-east-1a", "us-east-1b"]
    assert first.inputs["spec"]["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "team", "value": "ml", "effect": "NoExecute"},
    ]


def test_the_hardware_is_the_machine_of_the_catalogue(run: Any) -> None:
    recording = run(lambda: SimulatedGpuNodePool("pool", arguments()))
    annotations = recording.all(NODE)[0].inputs["metadata"]["annotations"]
    assert json.loads(annotations["sandbox.gpufleet.dev/hardware"]) == {
        "cpu": "96",
        "memory": "1179648Mi",
        "gpus": [{"product": "NVIDIA A100-SXM4-80GB", "memoryMiB": 81920, "count": 8}],
        "driver": "595.91.07",
        "toolkit": True,
    }
    price = load("2026.11").instance("p4de.24xlarge").on_demand.usd_per_hour
    assert float(annotations["gpufleet.dev/usd-per-hour"]) == float(price or 0)


def test_the_status_is_left_to_the_operands(run: Any) -> None:
    recording = run(lambda: SimulatedGpuNodePool("pool", arguments()))
    assert all("status" not in node.inputs for node in recording.all(NODE))


def test_outputs_and_the_declaration_to_hand_on(run: Any) -> None:
    seen: list[Any] = []

    def program() -> Any:
        pool = SimulatedGpuNodePool("pool", arguments(name_prefix="lab"))
        assert pool.spec == POOL
        return pulumi.Output.all(pool.node_names, pool.advertised, pool.usd_per_node_hour).apply(
            seen.extend
        )

    run(program)
    assert seen[0] == ["lab-notebooks-0", "lab-notebooks-1"]
    assert seen[1] == {"nvidia.com/mig-1g.10gb": 56}
    assert float(seen[2]) > 0


def test_a_pool_without_a_price_has_none(run: Any) -> None:
    pool = {**POOL, "capacity": [{"on_prem": {}}]}
    seen: list[Any] = []

    def program() -> Any:
        made = SimulatedGpuNodePool("pool", arguments(pool=pool))
        return made.usd_per_node_hour.apply(seen.append)

    recording = run(program)
    assert seen == [None]
    annotations = recording.all(NODE)[0].inputs["metadata"]["annotations"]
    assert "gpufleet.dev/usd-per-hour" not in annotations


def test_errors_name_field_value_and_limit(run: Any) -> None:
    layouts = [{"devices": {"3g.40gb": 2, "1g.10gb": 1}}]
    pool = {**POOL, "nodes": {"min": 4, "max": 3}, "sharing": {"mig": {"layouts": layouts}}}

    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            SimulatedGpuNodePool("pool", arguments(pool=pool))
        assert str(caught.value).startswith('SimulatedGpuNodePool "pool": ')
        assert "min 4 is greater than max 3" in str(caught.value)

    assert run(program).resources == []


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [("Lab_One", "lab-one-chat-3"), ("a" * 70, None), ("b-" * 40, None)],
)
def test_node_names_are_legal_whatever_the_cluster_is_called(
    prefix: str, expected: str | None
) -> None:
    name = node_name(prefix, "chat", 3)
    assert len(name) <= MAX_NAME
    assert name.endswith("-chat-3")
    assert "--" not in name
    assert expected is None or name == expected


def test_long_prefixes_stay_apart() -> None:
    assert node_name("x" * 70 + "one", "chat", 0) != node_name("x" * 70 + "two", "chat", 0)


def test_a_fractional_device_has_its_share_of_the_memory() -> None:
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "c"},
            "pools": [{"name": "p", "instanceTypes": ["g6f.large"], "nodes": {"min": 1, "max": 1}}],
        }
    )
    assert compiled.fleet is not None
    (pool,) = compiled.fleet.pools
    (node,) = simulated_nodes(pool, load("2026.11"), prefix="c", region="r")
    hardware = json.loads(node.metadata["annotations"]["sandbox.gpufleet.dev/hardware"])
    whole = (pool.gpu.memory_bytes or 0) >> 20
    assert hardware["gpus"][0]["memoryMiB"] < whole / 4
