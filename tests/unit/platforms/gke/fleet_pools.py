"""Pools on GKE to be validated: one in a fleet, and pieces of declarations."""

from typing import Any

from gpufleet.catalogue import GCP, Catalogue, load
from gpufleet.platforms.compiled import compile_data

CATALOGUE: Catalogue = load("2026.11")
ROWS = [row for row in CATALOGUE.instances.values() if row.cloud == GCP]
ZONE = {"zones": ["us-central1-a"]}
RESERVED = {"reserved": {"id": "gpus", "zone": "us-central1-a"}}
FLEX, QUEUED, SPOT = {"flexStart": {}}, {"queued": {}}, {"spot": {}}
ON_DEMAND = {"onDemand": {}}
L4 = {"gpu": "L4"}
H100 = {"instanceTypes": ["a3-highgpu-8g"]}


def compiled(pool: dict[str, Any], version: str = "1.36", **fleet: Any) -> Any:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": version},
            "pools": [{"name": "p", "nodes": {"min": 0, "max": 3}, **pool}],
            **fleet,
        }
    )


def found(pool: dict[str, Any], version: str = "1.36") -> dict[str, tuple[str, str]]:
    result = compiled(pool, version)
    return {one.code: (one.path, one.message) for one in result.findings}


def gke(**options: Any) -> dict[str, Any]:
    return {"gke": options}


def with_pools(*pools: dict[str, Any], **fleet: Any) -> Any:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [{"nodes": {"min": 0, "max": 3}, **pool} for pool in pools],
            **fleet,
        }
    )
