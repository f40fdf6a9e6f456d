"""A pool of five nodes with eight A100 each, before and after."""

from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data

EIGHTHS: dict[str, Any] = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
HALVES: dict[str, Any] = {"mig": {"layouts": [{"devices": {"3g.40gb": 2}}]}}
WHOLE: dict[str, Any] = {"exclusive": {}}


def fleet_data(
    sharing: dict[str, Any], *, platform: str = "sandbox", gpu: str = "A100-80GB", **pool: Any
) -> dict[str, Any]:
    """A fleet of one pool, `cut`."""
    cluster = {"name": "sb"} | ({"region": "us-east-1"} if platform == "eks" else {})
    one = {
        "name": "cut",
        "gpu": gpu,
        "gpusPerNode": 8,
        "nodes": {"min": 5, "max": 5},
        "sharing": sharing,
        **pool,
    }
    return {"catalogue": "2026.11", "platform": platform, "cluster": cluster, "pools": [one]}


def compiled(data: dict[str, Any]) -> Fleet:
    """The fleet; it must compile."""
    result = compile_data(data)
    assert result.deployable, [str(f) for f in result.findings]
    assert result.fleet is not None
    return result.fleet
