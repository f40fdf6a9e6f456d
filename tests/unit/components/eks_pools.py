"""Pools on EKS: one for each way of buying and each kind of image."""

from typing import Any

BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
NODES = {"min": 0, "max": 4}
AMI = "ami-0123456789abcdef0"

POOLS: dict[str, dict[str, Any]] = {
    "on-demand": {
        "gpu": "L4",
        "nodes": {"min": 1, "max": 8},
        "eks": {"release_version": "1.36.0-20261101"},
        "labels": {"example.com/tier": "web"},
        "taints": [{"key": "example.com/team", "value": "a", "effect": "NoExecute"}],
        "team": "product",
    },
    "spot": {
        "instance_types": ["g5.2xlarge", "g5.4xlarge", "g5.xlarge"],
        "nodes": NODES,
        "intent": "batch",
        "capacity": [{"spot": {}}],
    },
    "reservation": {
        "instance_types": ["p4d.24xlarge"],
        "nodes": NODES,
        "capacity": [{"reserved": {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "us-east-1b"}}],
    },
    "capacity-block": {
        "instance_types": ["p5.48xlarge"],
        "nodes": NODES,
        "intent": "training",
        "provisioner": "clusterAutoscaler",
        "fabric": "efa",
        "capacity": [{"capacity_block": {**BLOCK, "starts": "2026-12-13T11:30:00Z"}}],
    },
    "efa-on-demand": {
        "instance_types": ["p6-b300.48xlarge"],
        "nodes": NODES,
        "intent": "training",
        "fabric": "efa",
        "zones": ["us-east-1b"],
        "capacity": [{"reserved": {"id": "cr-0bbbbbbbbbbbbbbbb", "zone": "us-east-1b"}}],
    },
    "bottlerocket": {"gpu": "L40S", "nodes": NODES, "image": "bottlerocket-nvidia"},
    "arm": {"instance_types": ["g5g.2xlarge"], "nodes": NODES},
    "ubuntu": {"gpu": "L4", "nodes": NODES, "image": "ubuntu-eks", "eks": {"ami_id": AMI}},
    "own-al2023": {"gpu": "L4", "nodes": NODES, "eks": {"ami_id": AMI}},
    "own-bottlerocket": {
        "gpu": "L4",
        "nodes": NODES,
        "image": "bottlerocket-nvidia",
        "eks": {"ami_id": AMI, "local_storage": "none"},
    },
    "eighth": {
        "instance_types": ["g6f.large", "g6f.xlarge"],
        "nodes": NODES,
        "provisioner": "clusterAutoscaler",
    },
    "slices": {
        "instance_types": ["p4de.24xlarge"],
        "nodes": NODES,
        "intent": "interactive",
        "provisioner": "clusterAutoscaler",
        "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
    },
    "neuron": {
        "instance_types": ["trn1.32xlarge"],
        "nodes": NODES,
        "intent": "training",
        "fabric": "efa",
        "zones": ["us-east-1b"],
    },
}

CONNECTION: dict[str, Any] = {
    "catalogue": "2026.11",
    "region": "us-east-1",
    "cluster_name": "ml",
    "node_role_arn": "arn:aws:iam::123456789012:role/eks/nodes",
    "subnet_ids_by_zone": {"us-east-1a": "subnet-0a", "us-east-1b": "subnet-0b"},
    "vpc_id": "vpc-01",
    "cluster_security_group_id": "sg-0c",
    "cluster_endpoint": "https://ml.example.com",
    "cluster_certificate_authority": "Q0E=",
    "cluster_service_cidr": "172.20.0.0/16",
    "name_prefix": "ml",
    "tags": {"cost-center": "4711"},
}


def arguments(case: str, pool: dict[str, Any] | None = None, **connection: Any) -> Any:
    """Arguments of a component for one of the pools, with changes."""
    declared = {"name": case, **POOLS.get(case, {}), **(pool or {})}
    given = {**CONNECTION, **connection, "pool": declared}
    return {key: value for key, value in given.items() if value is not None}
