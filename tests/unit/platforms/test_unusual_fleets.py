"""Unusual and legal pools from the providers' own pages: none is refused, and what each declares is
in what would be made, under the provider's own field name."""

from typing import Any

import pytest

from gpufleet.findings import Severity
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts

KARPENTER = {"provisioner": "karpenter"}
KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
NEW = {"kubernetesVersion": "1.36"}


def block(number: int, zone: str = "us-east-1a") -> dict[str, Any]:
    until = "2026-12-20T11:30:00Z"
    return {"capacityBlock": {"id": f"cr-{number:017x}", "zone": zone, "until": until}}


def types(*machines: str, **more: Any) -> dict[str, Any]:
    return {"instanceTypes": list(machines), **more}


def reserved(zone: str) -> list[dict[str, Any]]:
    return [{"reserved": {"id": "r", "zone": zone}}]


RAID = {"localStorage": "raid0"}
SECURE = {"fastImagePull": True, "kmsKeyArn": KEY, "metadataHopLimit": 2}
TAGGED = {"tags": {"team": "ml"}, "ownerId": "123456789012", "match": "targeted"}
INTERRUPTIBLE = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "interruptible": True}
DEDICATED = {
    "requirements": [
        {"key": "karpenter.k8s.aws/instance-tenancy", "operator": "In", "values": ["dedicated"]}
    ]
}
RAW = {
    "nodePool": {"template": {"metadata": {"annotations": {"example.com/a": "b"}}}},
    "nodeClass": {"detailedMonitoring": True},
}
FIRST = {"static": True}
TIMES = {"timeSlicing": {"replicas": 4}}
NUMA = {"cpuManager": "static", "topologyManager": "restricted", "memoryManager": "static"}

# Named after what the Amazon EKS user guide, karpenter.sh and bottlerocket.dev call it.
EKS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "node-health: repair": (
        types("p5.48xlarge", eks={"nodeRepair": True}),
        ("nodeRepairConfig:\n    enabled: true",),
    ),
    "nodeclasses: placementGroupSelector": (
        types("p4d.24xlarge", **KARPENTER, fabric="efa", karpenter={"placementGroup": "pg"}),
        ("placementGroupSelector:\n    name: pg",),
    ),
    "placement group of a node group": (
        types("g6e.48xlarge", eks={"placementGroup": True}, zones=["us-east-1a"]),
        ("placementGroup:\n  strategy: cluster",),
    ),
    "nodeclasses: instanceStorePolicy": (
        types("g6.48xlarge", **KARPENTER, eks=RAID),
        ("instanceStorePolicy: RAID0",),
    ),
    "nodeadm: localStorage": (
        types("p5.48xlarge", eks=RAID),
        ("userData: |", "localStorage:\n        strategy: RAID0"),
    ),
    "nodepools: capacity types": (
        types("g6.xlarge", "g6.2xlarge", **KARPENTER, capacity=[{"spot": {}}, {"onDemand": {}}]),
        ("- on-demand\n        - spot", "- g6.2xlarge\n        - g6.xlarge"),
    ),
    "bottlerocket: kubelet-device-plugins": (
        types("g6e.xlarge", image="bottlerocket-nvidia", **KARPENTER, sharing=TIMES),
        ('device-sharing-strategy = "time-slicing"', "replicas = 4"),
    ),
    "bottlerocket: the same in a node group": (
        types("g6e.xlarge", image="bottlerocket-nvidia", sharing=TIMES),
        ("BOTTLEROCKET_x86_64_NVIDIA", 'device-sharing-strategy = "time-slicing"'),
    ),
    "bottlerocket: releaseVersion": (
        types("g5.xlarge", image="bottlerocket-nvidia", eks={"releaseVersion": "1.52.0-7a6b3c1d"}),
        ('releaseVersion: "1.52.0-7a6b3c1d"',),
    ),
    "ml-eks-optimized-ami: GB200 in a block": (
        types("p6e-gb200.36xlarge", capacity=[block(1, "us-east-1-dfw-2a")], fabric="efa"),
        ("AL2023_ARM_64_NVIDIA", "marketType: capacity-block", "networkCardIndex: 13"),
    ),
    "ml-eks-optimized-ami: G5g": (types("g5g.xlarge"), ("AL2023_ARM_64_NVIDIA",)),
    "static capacity": (
        types("g6.xlarge", **KARPENTER, karpenter=FIRST, nodes={"min": 3, "max": 4}),
        ("replicas: 3", 'limits:\n    nodes: "4"'),
    ),
    "static capacity, two blocks, then on demand": (
        types(
            "p5.48xlarge",
            **KARPENTER,
            fabric="efa",
            karpenter=FIRST,
            nodes={"min": 2, "max": 3},
            capacity=[block(1), block(2), {"onDemand": {}}],
        ),
        ("- id: cr-00000000000000001\n  - id: cr-00000000000000002", "networkCardIndex: 31"),
    ),
    "capacityReservationSelectorTerms": (
        types("p5.48xlarge", **KARPENTER, karpenter={"reservations": [TAGGED]}),
        ("team: ml", 'ownerID: "123456789012"', "instanceMatchCriteria: targeted"),
    ),
    "interruptible reservation": (
        types("p5.48xlarge", **KARPENTER, capacity=[{"reserved": INTERRUPTIBLE}, {"onDemand": {}}]),
        ("- id: cr-0123456789abcdef0", "- on-demand\n        - reserved"),
    ),
    "Trainium in a block": (
        types("trn2.48xlarge", fabric="efa", capacity=[block(3)]),
        ("AL2023_x86_64_NEURON", "cr-00000000000000003", "gpufleet-p-drain"),
    ),
    "launch-templates: tenancy": (
        types("p4d.24xlarge", eks={"launchTemplate": {"placement": {"tenancy": "dedicated"}}}),
        ("placement:\n    tenancy: dedicated",),
    ),
    "scheduling: instance-tenancy": (
        types("p4d.24xlarge", **KARPENTER, karpenter=DEDICATED),
        ("instance-tenancy\n        operator: In\n        values:\n        - dedicated",),
    ),
    "SOCI, a key of KMS, hop limit": (
        types("g6.12xlarge", eks=SECURE),
        ("FastImagePull: true", f'kmsKeyId: "{KEY}"', "httpPutResponseHopLimit: 2"),
    ),
    "nodeoverlays and capacity buffers": (
        types(
            "g6.xlarge",
            **KARPENTER,
            nodes={"min": 1, "max": 4},
            karpenter={"buffer": True, "priceAdjustment": "-15%", "weight": 10},
        ),
        ('priceAdjustment: "-15%"', "kind: CapacityBuffer", "weight: 10"),
    ),
    "automode": (types("g6.xlarge", provisioner="autoMode"), ("group: eks.amazonaws.com",)),
    "what no field of gpufleet names": (
        types(
            "g6.xlarge", **KARPENTER, karpenter={**RAW, "nodeClass": {"detailedMonitoring": True}}
        ),
        ("example.com/a: b", "detailedMonitoring: true"),
    ),
    "kubelet: static CPUs": (
        types("p5.48xlarge", kubelet={"cpuManager": "static", "topologyManager": "restricted"}),
        ("cpuManagerPolicy: static", "topologyManagerPolicy: restricted"),
    ),
}

# Named after the pages of Google's documentation; fields of container/v1 NodePool.
GKE: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[str, Any]]] = {
    "provisioningrequest: queued, flex start": (
        types(
            "a3-megagpu-8g",
            fabric="tcpxo",
            zones=["us-central1-b"],
            capacity=[{"queued": {"flexStart": True}}],
        ),
        ("queuedProvisioning:\n  enabled: true", "flexStart: true", "maxRunDuration:"),
        {},
    ),
    "a block of a reservation": (
        types(
            "a4-highgpu-8g",
            fabric="rdma",
            zones=["us-central1-b"],
            capacity=[{"reserved": {"id": "r", "zone": "us-central1-b", "blocks": ["b1"]}}],
            gke={"acceleratorNetworkProfile": "auto"},
        ),
        ("r/reservationBlocks/b1", "acceleratorNetworkProfile: auto"),
        NEW,
    ),
    "about-custom-compute-classes": (
        {"gpu": "L4", "provisioner": "computeClass", "capacity": [{"spot": {}}, {"onDemand": {}}]},
        ("kind: ComputeClass", "spot: true", "spot: false"),
        {},
    ),
    "autopilot-gpus": (
        {"gpu": "L4", "provisioner": "computeClass"},
        ("kind: ComputeClass",),
        {"autopilot": True},
    ),
    "spot-vms: A3": (
        types("a3-highgpu-8g", zones=["us-central1-a"], capacity=[{"spot": {}}]),
        ("spot: true", "localSsdCount: 16"),
        {},
    ),
    "tpus: a slice of several hosts": (
        types("ct6e-standard-4t", gke={"tpuTopology": "4x4"}, zones=["us-central1-b"]),
        ('tpuTopology: "4x4"', "google.com/tpu"),
        {},
    ),
    "A4X": (
        types(
            "a4x-highgpu-4g",
            fabric="rdma",
            nodes={"min": 0, "max": 18},
            zones=["us-central1-b"],
            capacity=reserved("us-central1-b"),
        ),
        ("type: nvidia-gb200", "placementPolicy:\n  type: COMPACT"),
        NEW,
    ),
    "fractional G4": (types("g4-standard-12"), ("machineType: g4-standard-12",), NEW),
    "maintenance interval, NUMA": (
        types(
            "a3-megagpu-8g",
            zones=["us-central1-b"],
            capacity=[{"spot": {}}],
            gke={"maintenanceInterval": "periodic"},
            kubelet=NUMA,
        ),
        ("maintenanceInterval: PERIODIC", "policy: restricted", "policy: Static"),
        NEW,
    ),
    "local-ssd: raw block; image cache": (
        types(
            "a2-ultragpu-1g", gke={"localSsdUse": "raw", "imageCache": "projects/p/global/images/i"}
        ),
        ("localNvmeSsdBlockConfig:", "diskImage: projects/p/global/images/i"),
        {},
    ),
    "multi-instance GPU, time-shared": (
        types(
            "a2-highgpu-1g",
            sharing={"mig": {"strategy": "single", "layout": "all-1g.5gb", **TIMES}},
        ),
        ('gpuPartitionSize: "1g.5gb"', "maxSharedClientsPerGpu: 4"),
        {},
    ),
    "nvidia-mps-gpus": (
        {"gpu": "L4", "sharing": {"mps": {"replicas": 8}}},
        ("gpuSharingStrategy: MPS", "maxSharedClientsPerGpu: 8"),
        {},
    ),
    "four T4 of N1": (
        types("n1-standard-32", gpu="T4", gpusPerNode=4),
        ("type: nvidia-tesla-t4\n    count: 4",),
        {},
    ),
    "an AI zone": (
        types("ct6e-standard-8t", zones=["us-south1-ai1b"], capacity=reserved("us-south1-ai1b")),
        ("- us-south1-ai1b",),
        {"region": "us-south1"},
    ),
    "a key of Cloud KMS": (
        types(
            "g2-standard-8",
            gke={"kmsKey": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"},
        ),
        ("bootDiskKmsKey: projects/p/locations/us-central1/keyRings/r/cryptoKeys/k",),
        {},
    ),
}


def made(platform: str, pool: dict[str, Any], **cluster: Any) -> str:
    region = "us-east-1" if platform == "eks" else "us-central1"
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "c", "region": region, "kubernetesVersion": "1.34", **cluster},
            "pools": [{"name": "p", "nodes": {"min": 0, "max": 4}, **pool}],
        }
    )
    refused = [one for one in result.findings if one.severity is Severity.ERROR]
    assert not refused
    assert result.fleet is not None
    return "\n".join(file.text for file in artefacts(result.fleet))


@pytest.mark.parametrize("case", EKS)
def test_nothing_of_a_pool_on_eks_is_dropped(case: str) -> None:
    pool, wanted = EKS[case]
    text = made("eks", pool)
    assert [one for one in wanted if one not in text] == []


@pytest.mark.parametrize("case", GKE)
def test_nothing_of_a_pool_on_gke_is_dropped(case: str) -> None:
    pool, wanted, cluster = GKE[case]
    text = made("gke", pool, **cluster)
    assert [one for one in wanted if one not in text] == []


@pytest.mark.parametrize(
    ("platform", "zone"),
    [("gke", "us-central1-a"), ("openshiftGcp", "us-central1-a"), ("openshiftAws", "us-east-1a")],
)
def test_zones_of_a_fleet_without_a_region_are_shown_in_the_region_of_the_example(
    platform: str, zone: str
) -> None:
    pool: dict[str, Any] = {"name": "p", "gpu": "L4", "nodes": {"min": 0, "max": 2}}
    if platform == "gke":
        pool["gke"] = {"limits": "perZone"}
    found = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "c"},
            "pools": [pool],
        }
    ).findings
    assert not [one for one in found if "None" in f"{one.message} {one.fix}"]
    assert any(zone in (one.fix or "") for one in found)
    assert "region-missing" in {one.code for one in found}
