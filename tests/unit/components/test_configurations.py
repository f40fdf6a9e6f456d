"""Pools of other stacks: only what the cluster's add-ons declare."""

from typing import Any

import pulumi
import pytest

from gpufleet import GpuAddons, SimulatedGpuNodePool
from gpufleet.components_base.configurations import validate_labels
from gpufleet.components_base.inputs import InvalidArgumentsError

MIG = "nvidia.com/mig.config"
PLUGIN = "nvidia.com/device-plugin.config"
POOL: Any = {
    "name": "notebooks",
    "instance_types": ["p4de.24xlarge"],
    "nodes": {"min": 1, "max": 1},
    "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
}


def test_what_is_declared_is_fine() -> None:
    labels = {MIG: "notebooks-1", PLUGIN: "default", "other": "x"}
    assert validate_labels(labels, ["notebooks-1", "default"], "notebooks") == []


def test_what_is_not_is_named_with_the_nearest() -> None:
    (finding,) = validate_labels({MIG: "notebooks-2"}, ["notebooks-1", "default"], "notebooks")
    assert finding.code == "configuration-not-declared"
    assert f"{MIG}=notebooks-2" in finding.message
    assert "nearest: notebooks-1" in finding.message
    assert "deploy that stack first" in str(finding.fix)


def declared_by(pools: list[Any]) -> pulumi.Output[list[str]]:
    args: Any = {"catalogue": "2026.11", "platform": "sandbox", "pools": pools}
    return GpuAddons("addons", args).configurations


def test_the_output_of_the_add_ons_admits_their_pools(run: Any) -> None:
    def program() -> Any:
        args: Any = {"catalogue": "2026.11", "pool": POOL, "configurations": declared_by([POOL])}
        return SimulatedGpuNodePool("pool", args).nodes[0].metadata

    node = run(program).one("kubernetes:core/v1:Node")
    assert node.inputs["metadata"]["labels"][MIG].startswith("notebooks-")


def test_another_layout_is_refused_before_anything_is_registered(run: Any) -> None:
    def program() -> None:
        args: Any = {"catalogue": "2026.11", "pool": POOL, "configurations": ["default", "all-x"]}
        with pytest.raises(InvalidArgumentsError, match="configuration-not-declared"):
            SimulatedGpuNodePool("pool", args)

    assert run(program).resources == []
