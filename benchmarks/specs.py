"""Fleets of any size for measurements: a third time-sliced, a third MIG, a third whole GPUs."""

from typing import Any

_KINDS: tuple[dict[str, Any], ...] = (
    {"gpu": "L4", "sharing": {"timeSlicing": {"replicas": 4}}},
    {
        "instanceTypes": ["p4de.24xlarge"],
        "sharing": {
            "mig": {
                "layouts": [
                    {"gpus": 4, "devices": {"1g.10gb": 7}},
                    {"gpus": 4, "devices": {"3g.40gb": 1, "2g.20gb": 2}},
                ]
            }
        },
    },
    {"instanceTypes": ["p5.48xlarge"]},
)


def fleet(pools: int, platform: str = "sandbox") -> dict[str, Any]:
    """A FleetSpec with that many pools of one node each."""
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "bench", "region": "us-east-1"},
        "pools": [
            {**_KINDS[i % len(_KINDS)], "name": f"pool-{i}", "nodes": {"min": 1, "max": 3}}
            for i in range(pools)
        ],
    }
