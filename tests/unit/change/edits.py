"""Edits of pools on EKS, GKE and vSphere: before and after, in the spelling of files."""

from typing import Any

Data = dict[str, Any]
L4 = {"instanceTypes": ["g6.xlarge"], "nodes": {"min": 1, "max": 4}}
SLICED = {"timeSlicing": {"replicas": 4}}
TAINT = {"key": "example.com/team", "value": "a", "effect": "NoSchedule"}
AMI, OTHER_AMI = "ami-0123456789abcdef0", "ami-0fedcba9876543210"
RESERVED = {"reserved": {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "us-east-1b"}}
MANAGED_GPU = {"gpu": "L4", "nodes": {"min": 1, "max": 4}}


def _two(pool: Data, **changed: Any) -> tuple[Data, Data]:
    return pool, {**pool, **changed}


EKS: dict[str, tuple[Data, Data]] = {
    "same": _two(L4),
    "size": _two(L4, nodes={"min": 2, "max": 6}),
    "labels": _two(L4, labels={"example.com/tier": "web"}),
    "taints": _two(L4, taints=[TAINT]),
    "disk": _two(L4, disk={"sizeGib": 400}),
    "types": _two(L4, instanceTypes=["g6.2xlarge"]),
    "more-types": _two(L4, instanceTypes=["g6.xlarge", "g6.2xlarge"]),
    "spot": _two(L4, capacity=[{"spot": {}}]),
    "image": _two(L4, image="bottlerocket-nvidia"),
    "release": _two(L4, eks={"releaseVersion": "1.36.0-20261101"}),
    "own-image": _two(L4, eks={"amiId": AMI}),
    "other-own-image": ({**L4, "eks": {"amiId": AMI}}, {**L4, "eks": {"amiId": OTHER_AMI}}),
    "own-image-labels": (
        {**L4, "eks": {"amiId": AMI}},
        {**L4, "eks": {"amiId": AMI}, "labels": {"example.com/tier": "web"}},
    ),
    "hops": _two(L4, eks={"metadataHopLimit": 2}),
    "update": _two(L4, eks={"update": {"maxUnavailable": 2}}),
    "repair": _two(L4, eks={"nodeRepair": True}),
    "zone": _two(L4, zones=["us-east-1a"]),
    "team": _two(L4, team="product"),
    "sharing": _two(L4, sharing=SLICED),
    "reservation": _two(
        {"instanceTypes": ["p4d.24xlarge"], "nodes": {"min": 0, "max": 2}}, capacity=[RESERVED]
    ),
    "raw": _two(L4, eks={"launchTemplate": {"ebsOptimized": "true"}}),
    "raw-group": _two(L4, eks={"nodeGroup": {"nodeGroupNamePrefix": "other-"}}),
    "autoscaler": _two(L4, provisioner="clusterAutoscaler"),
    "several": _two(
        L4, disk={"sizeGib": 300}, labels={"example.com/a": "b"}, nodes={"min": 0, "max": 9}
    ),
}
GKE: dict[str, tuple[Data, Data]] = {
    "same": _two(MANAGED_GPU),
    "size": _two(MANAGED_GPU, nodes={"min": 1, "max": 9}),
    "labels": _two(MANAGED_GPU, labels={"example.com/tier": "web"}),
    "taints": _two(MANAGED_GPU, taints=[TAINT]),
    "disk": _two(MANAGED_GPU, disk={"sizeGib": 400}),
    "disk-type": _two(MANAGED_GPU, gke={"diskType": "pd-ssd"}),
    "machine": _two(MANAGED_GPU, gpu=None, instanceTypes=["g2-standard-8"]),
    "gpu": _two(MANAGED_GPU, gpu="A100-40GB"),
    "spot": _two(MANAGED_GPU, capacity=[{"spot": {}}]),
    "sharing": _two(MANAGED_GPU, sharing=SLICED),
    "mps": (
        {**MANAGED_GPU, "sharing": SLICED},
        {**MANAGED_GPU, "sharing": {"mps": {"replicas": 4}}},
    ),
    "driver": _two(MANAGED_GPU, gke={"driverVersion": "latest"}),
    "upgrade": _two(MANAGED_GPU, gke={"upgrade": {"strategy": "blueGreen"}}),
    "max-pods": _two(MANAGED_GPU, gke={"maxPods": 32}),
    "secure-boot": _two(MANAGED_GPU, gke={"secureBoot": False}),
    "zones": (
        {**MANAGED_GPU, "zones": ["us-central1-a"]},
        {**MANAGED_GPU, "zones": ["us-central1-b"]},
    ),
    "raw": _two(
        MANAGED_GPU, gke={"nodePool": {"nodeConfig": {"minCpuPlatform": "Intel Ice Lake"}}}
    ),
}
MACHINE = {"cpus": 8, "memoryGib": 64, "template": "gpu-template", "updatePolicy": "restart"}
BARE = {
    "gpu": "A100-80GB",
    "disk": {"sizeGib": 200},
    "nodes": {"min": 1, "max": 1},
    "vsphere": MACHINE,
}
VSPHERE: dict[str, tuple[Data, Data]] = {
    "same": _two(BARE),
    "cpus": _two(BARE, vsphere={**MACHINE, "cpus": 16}),
    "note": _two(BARE, vsphere={**MACHINE, "annotation": "owned by ml"}),
    "labels": _two(BARE, labels={"example.com/tier": "web"}),
}


def fleet(platform: str, side: int, edits: dict[str, tuple[Data, Data]], **more: Any) -> Data:
    """The declaration of one side of all edits, each a pool."""
    region = {"eks": "us-east-1", "gke": "us-central1"}.get(platform)
    cluster = {"name": "ml", "kubernetesVersion": "1.36", **({"region": region} if region else {})}
    if platform == "gke":
        cluster["project"] = "stand-in"
    pools = [
        {"name": name, **{k: v for k, v in both[side].items() if v is not None}}
        for name, both in edits.items()
    ]
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": cluster,
        "namePrefix": "ml",
        "pools": pools,
        **more,
    }
