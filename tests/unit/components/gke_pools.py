"""Pools on GKE: one for each way of buying, network and owner of the GPU stack."""

from typing import Any

NODES = {"min": 0, "max": 4}
ZONE = {"zones": ["us-central1-a"]}
RESERVED = {"reserved": {"id": "gpus", "zone": "us-central1-a", "blocks": ["block-1"]}}

POOLS: dict[str, dict[str, Any]] = {
    "on-demand": {
        "gpu": "L4",
        "nodes": {"min": 1, "max": 8},
        "labels": {"example.com/tier": "web"},
        "taints": [{"key": "example.com/team", "value": "a", "effect": "NoExecute"}],
        "team": "product",
        "zones": ["us-central1-a", "us-central1-b"],
    },
    "time-sharing": {"gpu": "L4", "nodes": NODES, "sharing": {"time_slicing": {"replicas": 4}}},
    "mps": {"gpu": "L4", "nodes": NODES, "sharing": {"mps": {"replicas": 3}}},
    "partitions": {
        "instance_types": ["a2-ultragpu-4g"],
        "nodes": NODES,
        "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
    },
    "attached": {
        "gpu": "T4",
        "gpus_per_node": 2,
        "instance_types": ["n1-standard-16"],
        "nodes": NODES,
        "zones": ["us-central1-b", "us-central1-c"],
        "gke": {"local_ssds": 1, "local_ssd_use": "raw", "limits": "perZone"},
    },
    "eighth": {"instance_types": ["g4-standard-6"], "nodes": NODES},
    "spot": {"gpu": "L4", "nodes": NODES, "intent": "batch", "capacity": [{"spot": {}}]},
    "reservation": {
        "instance_types": ["a4-highgpu-8g"],
        "nodes": {"min": 2, "max": 4},
        "intent": "training",
        "fabric": "rdma",
        "capacity": [RESERVED],
        "gke": {"accelerator_network_profile": "auto", "compact_placement": True},
    },
    "flex-start": {
        "instance_types": ["a3-highgpu-1g"],
        "nodes": NODES,
        "intent": "batch",
        "capacity": [{"flex_start": {"max_run_duration": "12h"}}],
    },
    "queued": {
        "instance_types": ["a3-megagpu-8g"],
        "nodes": NODES,
        "intent": "training",
        "fabric": "tcpxo",
        **ZONE,
        "capacity": [{"queued": {}}],
    },
    "tcpx": {
        "instance_types": ["a3-highgpu-8g"],
        "nodes": NODES,
        "intent": "training",
        "fabric": "tcpx",
        **ZONE,
        "gke": {"image_cache": "projects/p/global/images/cuda", "max_pods": 32},
    },
    "operator": {
        "instance_types": ["a2-ultragpu-1g"],
        "nodes": NODES,
        "intent": "interactive",
        "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 3, "3g.40gb": 1}}]}},
        "gke": {"driver": "gpuOperator"},
    },
    "operator-driver": {
        "gpu": "L4",
        "nodes": NODES,
        "image": "ubuntu-gke",
        "gke": {"driver": "gpuOperator", "auto_upgrade": False},
    },
    "slice": {
        "instance_types": ["ct5lp-hightpu-4t"],
        "nodes": {"min": 0, "max": 4},
        **ZONE,
        "capacity": [{"flex_start": {}}],
        "gke": {"tpu_topology": "4x4"},
    },
    "ironwood": {
        "instance_types": ["tpu7x-standard-4t"],
        "nodes": {"min": 0, "max": 16},
        **ZONE,
        "capacity": [{"spot": {}}],
        "gke": {"tpu_topology": "4x4x4"},
    },
    "ladder": {
        "instance_types": ["a3-highgpu-8g"],
        "nodes": NODES,
        **ZONE,
        "capacity": [RESERVED, {"on_demand": {}}, {"flex_start": {}}, {"spot": {}}],
    },
}

CONNECTION: dict[str, Any] = {
    "catalogue": "2026.11",
    "region": "us-central1",
    "cluster_name": "ml",
    "project": "stand-in",
    "service_account": "nodes@stand-in.iam.gserviceaccount.com",
    "network_tags": ["gpu-nodes"],
    "gpu_networks": {
        f"vpc{index}": {"network": f"gpu-{index}", "subnetwork": f"gpu-{index}-sub"}
        for index in range(1, 9)
    },
    "name_prefix": "ml",
    "tags": {"Cost-Center": "4711"},
}


def arguments(case: str, pool: dict[str, Any] | None = None, **connection: Any) -> Any:
    """Arguments of a component for one of the pools, with other settings where given."""
    return {**CONNECTION, "pool": {"name": case, **POOLS[case], **(pool or {})}, **connection}
