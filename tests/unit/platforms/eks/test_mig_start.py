"""New nodes with MIG wait with the device plugin until the MIG manager has made their layout.

Expected value: NVIDIA/mig-parted 1b7e764 `pkg/mig/reconfigure/reconfigure.go`, maybeSetPaused and
maybeSetTrue: `false` stays for ever, every other value becomes `true` when a layout is done.
"""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_objects import node_pool
from gpufleet.platforms.eks.node_group_arguments import group_labels, node_group
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.user_data import user_data
from tests.reading import yaml_data

LABEL = "nvidia.com/gpu.deploy.device-plugin"
PAUSED = "paused-for-mig-change"
SLICES = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
CODE = "mig-change-stops-kubelet"


def fleet(addons: dict[str, Any] | None = None, **pool: Any) -> Any:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
            "addons": addons or {},
            "pools": [
                {
                    "name": "cut",
                    "instanceTypes": ["p5.48xlarge"],
                    "nodes": {"min": 0, "max": 2},
                    "provisioner": "managed",
                    "sharing": SLICES,
                    **pool,
                }
            ],
        }
    )
    assert result.fleet is not None, result.findings
    return result


def flags(result: Any) -> list[str]:
    pool = result.fleet.pools[0]
    text = user_data(pool, eks_shape(pool), group_labels(pool), None)
    if text is None:
        return []
    config = yaml_data(text.split("\n\n", 2)[2].rsplit("\n--", 1)[0])
    return config["spec"].get("kubelet", {}).get("flags", [])


def test_a_node_registers_with_the_plugin_paused_and_the_group_has_no_such_label() -> None:
    """EKS puts labels of a group on running nodes too, where the pause would never end."""
    result = fleet()
    assert flags(result) == [f"--node-labels={LABEL}={PAUSED}"]
    pool = result.fleet.pools[0]
    group = node_group(pool, eks_shape(pool), "ml", {}, "1.36")
    assert group["labels"]["nvidia.com/mig.config"].startswith("cut-")
    assert LABEL not in group["labels"]


def test_nodes_of_karpenter_get_it_from_their_node_pool() -> None:
    pool = fleet(provisioner="karpenter").fleet.pools[0]
    labels = node_pool(pool, eks_shape(pool))["spec"]["template"]["metadata"]["labels"]
    assert labels[LABEL] == PAUSED


@pytest.mark.parametrize(
    ("addons", "pool"),
    [
        ({}, {"sharing": {"timeSlicing": {"replicas": 4}}}),
        ({}, {"sharing": {"exclusive": {}}}),
        # No controller would remove the pause.
        ({"gpuOperator": {"migManager": {"enabled": False}}}, {}),
        ({"gpuOperator": {"values": {"migManager": {"enabled": False}}}}, {}),
        # Another plugin, which has no such label.
        ({"devicePlugin": {"enabled": True}}, {}),
        # The DRA driver serves these, and `false` keeps the plugin away for good.
        ({}, {"sharing": {"dra": {"devices": "mig", "layouts": SLICES["mig"]["layouts"]}}}),
    ],
)
def test_a_plugin_that_no_one_would_start_is_not_paused(
    addons: dict[str, Any], pool: dict[str, Any]
) -> None:
    result = fleet(addons, **pool)
    assert not any(PAUSED in flag for flag in flags(result))
    given = fleet(addons, **pool, provisioner="karpenter").fleet.pools[0]
    labels = node_pool(given, eks_shape(given))["spec"]["template"]["metadata"]["labels"]
    assert labels.get(LABEL) != PAUSED


def test_that_the_kubelet_stops_for_the_first_layout_is_said() -> None:
    """NVIDIA/gpu-operator#2415: one report, on Amazon Linux 2023 with the driver of the image."""
    found = [one for one in fleet().findings if one.code == CODE]
    assert [one.severity.value for one in found] == ["info"]
    assert "gpu-operator#2415" in str(found[0].evidence["source"])
    assert CODE not in {one.code for one in fleet(sharing={"exclusive": {}}).findings}
