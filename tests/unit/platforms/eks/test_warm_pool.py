"""Machines of warm pools that run are paid for (Amazon EC2 Auto Scaling user guide, warm pools)."""

from typing import Any

import pytest

from gpufleet.fleet.model import SpendBounds
from gpufleet.platforms.compiled import compile_data

G6 = 804_800
"""g6.xlarge on demand in us-east-1, micro-dollars an hour (AWS' public price list: 0.8048)."""


def spend(warm: dict[str, Any] | None) -> SpendBounds:
    raw = {} if warm is None else {"eks": {"nodeGroup": {"warmPoolConfig": warm}}}
    pool = {"name": "p", "instanceTypes": ["g6.xlarge"], "provisioner": "managed", **raw}
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [{**pool, "nodes": {"min": 1, "max": 4, "expected": 2}}],
        }
    )
    assert result.fleet is not None
    return result.fleet.pools[0].spend


@pytest.mark.parametrize(
    ("warm", "nodes"),
    [
        (None, (1, 2, 4)),
        ({"poolState": "STOPPED", "minSize": 2}, (1, 2, 4)),
        # Group and warm pool have the group's largest size together.
        ({"poolState": "RUNNING"}, (4, 4, 4)),
        ({"poolState": "RUNNING", "minSize": 2}, (4, 4, 6)),
        ({"poolState": "RUNNING", "maxGroupPreparedCapacity": 2}, (2, 2, 4)),
        ({"poolState": "RUNNING", "maxGroupPreparedCapacity": -1}, (4, 4, 4)),
        ({"poolState": "RUNNING", "enabled": False}, (1, 2, 4)),
    ],
)
def test_running_machines_are_paid(warm: Any, nodes: tuple[int, int, int]) -> None:
    found = spend(warm)
    assert (found.minimum, found.expected, found.maximum) == tuple(G6 * one for one in nodes)
