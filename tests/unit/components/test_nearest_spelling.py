"""Misspelt inputs of a component: the error names the correct one."""

from typing import Any

import pytest

from gpufleet import EksGpuNodeGroup
from gpufleet.components_base.inputs import InvalidArgumentsError

WIRED: dict[str, Any] = {
    "catalogue": "2026.11",
    "region": "us-east-1",
    "cluster_name": "ml",
    "node_role_arn": "arn:aws:iam::123456789012:role/nodes",
    "subnet_ids_by_zone": {"us-east-1a": "subnet-1"},
}
POOL: dict[str, Any] = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 1}}
SLICED = {"taints": [{"key": "team", "effect": "NO_SCHEDULE"}]}


@pytest.mark.parametrize(
    ("args", "path", "fix"),
    [
        (
            {**WIRED, "pool": {**POOL, "ownership": "existing"}},
            "pool.ownership",
            "remove the line, or declare the pool in GpuFleet, KueueQueues and GpuAddons only",
        ),
        (
            {**WIRED, "pool": {**POOL, "ownership": "exsiting"}},
            "pool.ownership",
            "nearest: existing",
        ),
        (
            {**WIRED, "pool": {**POOL, **SLICED}},
            "pool.taints[0].effect",
            "nearest: NoSchedule",
        ),
        (
            {**WIRED, "pool": POOL, "connection": {"clusterName": "ml", "nodeRoleArn": "a"}},
            "connection",
            "write what is in it as arguments here: cluster_name, node_role_arn",
        ),
        ({**WIRED, "pool": POOL, "gpu": "L4"}, "gpu", "write it inside `pool`"),
    ],
)
def test_the_nearest_right_spelling(plain_run: Any, args: Any, path: str, fix: str) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        plain_run(lambda: EksGpuNodeGroup("chat", args))
    assert [(one.path, one.fix) for one in refused.value.findings] == [(path, fix)]
