"""A fleet of one Capacity Block, and what is changed in it."""

from datetime import UTC, datetime
from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data

BLOCK: dict[str, Any] = {
    "id": "cr-0ff6b4e00366a231d",
    "zone": "us-east-2b",
    "starts": "2026-12-03T11:30:00Z",
    "until": "2026-12-20T11:30:00Z",
    "usdPerHour": "30",
}


def moment(text: str) -> datetime:
    """A moment of 2026-12, `20T11:30`."""
    return datetime.fromisoformat(f"2026-12-{text}").replace(tzinfo=UTC)


def block_pool(block: dict[str, Any] | None = None, **pool: Any) -> dict[str, Any]:
    """A pool of a block of p5.48xlarge, eight GPUs each."""
    return {
        "name": "training",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 4},
        "intent": "training",
        "eks": {"releaseVersion": "1.36.0-20261101"},
        "capacity": [{"capacityBlock": BLOCK | (block or {})}],
        **pool,
    }


def block_fleet(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A fleet on EKS."""
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "environment": "dev",
        "cluster": {"name": "ml", "region": "us-east-2", "kubernetesVersion": "1.36"},
        "pools": list(pools or (block_pool(),)),
        **more,
    }


def at(data: dict[str, Any], when: str | None) -> Fleet:
    """The fleet at a moment of 2026-12."""
    result = compile_data(data, at=None if when is None else moment(when))
    assert result.fleet is not None, [str(f) for f in result.findings]
    return result.fleet
