"""Times of a declaration: as a file holds them, and as the engine hands a stack file's on."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.capacity import CapacityBlock

BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a"}


@pytest.mark.parametrize(
    "written",
    [
        "2026-12-20T11:30:00Z",
        datetime(2026, 12, 20, 11, 30, tzinfo=UTC),
        # What Go 1.26 prints of times that yaml.v3 reads: `fmt.Println(t.String())`.
        "2026-12-20 11:30:00 +0000 UTC",
        "2026-12-20 12:30:00 +0100 CET",
        "2026-12-20 13:00:00 +0130 +0130",
        "2026-12-20 03:30:00 -0800 -0800",
        "2026-12-20 08:30:00 -0300 -03",
        "2026-12-20 11:30:00.000000000 +0000 UTC",
    ],
)
def test_a_time_of_a_file_and_of_the_engine(written: object) -> None:
    block = CapacityBlock.model_validate({**BLOCK, "until": written})
    assert block.until == datetime(2026, 12, 20, 11, 30, tzinfo=UTC)


def test_a_day_without_quotes_is_its_midnight() -> None:
    block = CapacityBlock.model_validate({**BLOCK, "until": "2026-12-20 00:00:00 +0000 UTC"})
    assert block.until == datetime(2026, 12, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    ["2026-12-20 11:30:00", "2026-12-20T11:30:00", "2026-13-20 11:30:00 +0000 UTC", "soon", True],
)
def test_another_time_is_refused(written: Any) -> None:
    pool = {
        "name": "training",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 1},
        "capacity": [{"capacityBlock": {**BLOCK, "until": written}}],
    }
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [pool],
        }
    )
    assert not compiled.deployable
    assert "pools[0].capacity[0].capacityBlock.until" in {f.path for f in compiled.findings}
