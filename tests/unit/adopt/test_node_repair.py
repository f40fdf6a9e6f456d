"""Limits of EKS node repair that exist are `health` of the proposed pool, or named."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.adopt.blueprints import eks_blueprint
from tests.unit.adopt.test_inputs import adopted, fleet_of

OVERRIDE = {
    "node_monitoring_condition": "AcceleratedHardwareReady",
    "node_unhealthy_reason": "NvidiaXID31Error",
    "min_repair_wait_time_mins": 15,
    "repair_action": "NoAction",
}


@pytest.mark.parametrize(
    ("repair", "health"),
    [
        (
            {"max_unhealthy_node_threshold_percentage": 20, "max_parallel_nodes_repaired_count": 1},
            {"mode": "repair", "floor": {"percent": 80}, "atOnce": 1},
        ),
        ({"max_unhealthy_node_threshold_count": 2}, {"mode": "repair", "floor": {"nodes": 8}}),
        ({"max_unhealthy_node_threshold_count": 10}, {"mode": "repair", "floor": {"nodes": 0}}),
        (
            {"max_parallel_nodes_repaired_count": 2},
            {"mode": "repair", "floor": {"asPlatform": True}, "atOnce": 2},
        ),
        # 5 % of ten nodes is 0; a share of the unhealthy ones and overrides have no field.
        ({"max_unhealthy_node_threshold_percentage": 5}, None),
        ({"max_parallel_nodes_repaired_percentage": 50}, None),
        ({"node_repair_config_overrides": [OVERRIDE]}, None),
    ],
)
def test_limits_of_node_repair_are_health(
    repair: dict[str, Any], health: dict[str, Any] | None, tmp_path: Path
) -> None:
    blueprint = eks_blueprint()
    after = blueprint["resource_changes"][0]["change"]["after"]
    after = {
        **after,
        "scaling_config": [{"min_size": 10, "max_size": 10, "desired_size": 10}],
        "node_repair_config": [{"enabled": True, **repair}],
    }
    blueprint["resource_changes"][0]["change"]["after"] = after
    found = adopted(tmp_path, blueprint)
    (pool,) = found["spec"]["pools"]
    assert pool.get("health") == health
    missed = [one["path"] for one in found["notExpressed"] if "epair" in one["path"]]
    overrides = ["nodeRepairConfig.nodeRepairConfigOverrides"]
    assert missed == (overrides if "node_repair_config_overrides" in repair else [])
    found["spec"]["cluster"]["region"] = "us-east-1"
    assert fleet_of(found["spec"]).deployable
