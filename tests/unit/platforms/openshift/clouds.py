"""Fleets on OpenShift on a cloud that tests of several layers start from."""

import copy
from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data

AWS_CHAT: dict[str, Any] = {
    "name": "chat",
    "gpu": "L4",
    "nodes": {"min": 1, "max": 4},
    "zones": ["us-east-1a", "us-east-1b", "us-east-1c"],
    "sharing": {"timeSlicing": {"replicas": 4}},
}
AWS_SLICES: dict[str, Any] = {
    "name": "slices",
    "instanceTypes": ["p4de.24xlarge"],
    "nodes": {"min": 1, "max": 1},
    "zones": ["us-east-1a"],
    "intent": "interactive",
    "sharing": {"mig": {"strategy": "mixed", "layouts": [{"devices": {"1g.10gb": 7}}]}},
    "openshiftAws": {"machineConfig": {"kernelArguments": ["iommu=pt"]}},
}
BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
AWS_PLACE: dict[str, Any] = {
    "infrastructure_name": "ocp-x7k2p",
    "ami_id": "ami-0aaaaaaaaaaaaaaaa",
    "iam_instance_profile": "ocp-x7k2p-worker-profile",
    "subnet_names_by_zone": {
        "us-east-1a": "ocp-x7k2p-subnet-private-us-east-1a",
        "us-east-1b": "ocp-x7k2p-subnet-private-us-east-1b",
    },
    "subnet_ids_by_zone": {"us-east-1c": "subnet-0cccccccccccccccc"},
    "security_group_names": ["ocp-x7k2p-node", "ocp-x7k2p-lb"],
}
GCP_TURNS: dict[str, Any] = {
    "name": "turns",
    "gpu": "T4",
    "gpusPerNode": 2,
    "instanceTypes": ["n1-standard-8"],
    "nodes": {"min": 0, "max": 3},
    "zones": ["us-central1-a", "us-central1-b"],
    "sharing": {"timeSlicing": {"replicas": 4}},
}
GCP_SLICES: dict[str, Any] = {
    "name": "slices",
    "instanceTypes": ["a2-ultragpu-1g"],
    "nodes": {"min": 1, "max": 1},
    "zones": ["us-central1-a"],
    "intent": "interactive",
    "sharing": {"mig": {"strategy": "mixed", "layouts": [{"devices": {"1g.10gb": 7}}]}},
}
GCP_PLACE: dict[str, Any] = {
    "infrastructureName": "ocp-x7k2p",
    "projectId": "acme",
    "network": "ocp-x7k2p-network",
    "subnetwork": "ocp-x7k2p-worker-subnet",
    "serviceAccount": "ocp-x7k2p-w@acme.iam.gserviceaccount.com",
    "image": "projects/rhcos-cloud/global/images/rhcos-422",
    "networkTags": ["ocp-x7k2p-worker"],
}
REGIONS = {"openshiftAws": "us-east-1", "openshiftGcp": "us-central1"}
POOLS = {"openshiftAws": [AWS_CHAT, AWS_SLICES], "openshiftGcp": [GCP_TURNS, GCP_SLICES]}


def declaration(platform: str, *pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A declaration with these pools; without any, with all of the platform above."""
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "ocp", "kubernetesVersion": "1.35", "region": REGIONS[platform]},
        "pools": copy.deepcopy(list(pools) or POOLS[platform]),
        **more,
    }


def fleet(platform: str, *pools: dict[str, Any], **more: Any) -> Fleet:
    """The fleet of it, which must compile without an error."""
    compiled = compile_data(declaration(platform, *pools, **more))
    assert compiled.deployable, [str(finding) for finding in compiled.findings]
    assert compiled.fleet is not None
    return compiled.fleet
