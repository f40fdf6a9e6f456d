"""What of a batch's inputs makes it do something: which machines, and how they are reached."""

from typing import Any

import pytest

from gpufleet.platforms.vsphere.vcenter.batch_provider import VsphereGpuNodeBatchProvider

BATCH: dict[str, Any] = {
    "group": "o/p/s/g",
    "width": 16.0,
    "common": {"endpoint": {"server": "vc"}, "place": {"cluster": "C"}, "cpus": 8.0},
    "nodes": [{"name": "gpu-0", "owner": "o/p/s/g/0", "generation": "0123456789ab"}],
}


@pytest.mark.parametrize(
    ("more", "changes"),
    [
        ({"preflight": "create"}, False),
        ({"width": 4.0}, False),
        ({"common": {**BATCH["common"], "cpus": 16.0, "annotation": "new"}}, False),
        ({"common": {**BATCH["common"], "timeouts": {"clone": 60.0}}}, True),
        ({"common": {**BATCH["common"], "endpoint": {"server": "other"}}}, True),
        ({"nodes": []}, True),
    ],
)
def test_what_makes_a_batch_work(more: dict[str, Any], changes: bool) -> None:
    found = VsphereGpuNodeBatchProvider().diff("g", BATCH, {**BATCH, **more})
    assert found.changes is changes
