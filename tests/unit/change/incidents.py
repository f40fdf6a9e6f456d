"""Public upgrade incidents as pairs of declarations: what was changed, and what it did."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Data = dict[str, Any]
NODES = {"min": 2, "max": 4}
SLICES: Data = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
AMI, OTHER_AMI = {"amiId": "ami-0123456789abcdef0"}, {"amiId": "ami-0fedcba9876543210"}
MACHINE: Data = {"cpus": 16, "memoryGib": 64, "template": "ubuntu"}


@dataclass(frozen=True)
class Incident:
    """One thread."""

    thread: str
    old: Data
    new: Data
    codes: frozenset[str]
    """Findings of which one must be there."""
    words: tuple[str, ...] = ()
    """Required text of the plan: the reason of the incident."""


def eks(version: str = "1.36", addons: Data | None = None, **pool: Any) -> Data:
    return _fleet("eks", version, addons, {"instanceTypes": ["g6.xlarge"], **pool})


def gke(**pool: Any) -> Data:
    return _fleet("gke", "1.36", None, {"gpu": "L4", **pool})


def bare(version: str = "1.36", addons: Data | None = None, **pool: Any) -> Data:
    own = {"gpu": "A100-80GB", "gpusPerNode": 8, "vsphere": MACHINE, **pool}
    return _fleet("vsphere", version, addons, own)


def openshift(version: str, addons: Data | None = None) -> Data:
    own = {"gpu": "L4", "openshift": {**MACHINE, "template": "rhcos"}}
    return _fleet("openshift", version, addons, own)


def operator(version: str, **more: Any) -> Data:
    return {"gpuOperator": {"version": version, **more}}


def plugin(version: str) -> Data:
    own = {"enabled": True, "version": version}
    return {"gpuOperator": {"enabled": False}, "devicePlugin": own}


def _fleet(platform: str, version: str, addons: Data | None, pool: Data) -> Data:
    region = {"eks": "us-east-1", "gke": "us-central1"}.get(platform)
    cluster = {"name": "c", "kubernetesVersion": version}
    top = {key: pool.pop(key) for key in ("tags", "queues", "namePrefix") if key in pool}
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {**cluster, **({"region": region} if region else {})},
        "pools": [{"name": "gpu", "nodes": NODES, **pool}],
        "addons": addons or {},
        **top,
    }


REPLACED = frozenset({"change-by-replacement"})
BREAKS = frozenset({"change-breaks"})
DRIVER = frozenset({"change-reloads-driver"})
CLAIMS: Mapping[str, Any] = {"instanceTypes": ["p4de.24xlarge"], "sharing": {"dra": {}}}
KARPENTER: Mapping[str, Any] = {"provisioner": "karpenter"}

SEEN = (
    Incident(
        "NVIDIA/gpu-operator#2166",
        bare(addons=operator("v25.3.4")),
        bare(addons=operator("v25.10.0")),
        DRIVER,
        ("Init:CrashLoopBackOff", "past the upgrade controller"),
    ),
    Incident(
        "NVIDIA/gpu-operator#1876",
        eks(addons=operator("v25.3.2")),
        eks(addons=operator("v25.10.0")),
        BREAKS,
        ("CDI", "runtimeClassName"),
    ),
    Incident(
        "canonical/k8s-snap#2388",
        bare(addons=operator("v25.3.4")),
        bare(addons=operator("v25.10.1")),
        BREAKS,
        ("containerd 1.7",),
    ),
    Incident(
        "NVIDIA/gpu-operator#1835",
        bare(addons=operator("v25.3.4")),
        bare(addons=operator("v25.10.0")),
        BREAKS,
        ("drop-in file",),
    ),
    Incident(
        "NVIDIA/gpu-operator#2549",
        bare(addons=operator("v25.3.0", driver={"precompiled": True, "version": "570"})),
        bare(addons=operator("v25.10.0")),
        BREAKS,
        ("upgrade-failed",),
    ),
    Incident(
        "NVIDIA/gpu-operator#416",
        bare(addons={"gpuOperator": {"driver": {"version": "580.65.06"}}}),
        bare(addons={"gpuOperator": {"driver": {"version": "580.105.08"}}}),
        DRIVER,
        ("GPU pods must leave first",),
    ),
    Incident(
        "NVIDIA/gpu-operator#901",
        bare(addons={"gpuOperator": {"driver": {"version": "580.65.06"}}}),
        bare(
            addons={
                "gpuOperator": {
                    "driver": {
                        "version": "580.105.08",
                        "upgradePolicy": {"drain": {"enabled": False}},
                    }
                }
            }
        ),
        frozenset({"change-driver-without-drain"}),
        ("keeps the driver loaded",),
    ),
    Incident(
        "NVIDIA/gpu-operator#2509",
        bare(addons={"gpuOperator": {"driver": {"version": "580.65.06"}}}),
        bare(
            addons={
                "gpuOperator": {
                    "driver": {"version": "580.105.08", "upgradePolicy": {"autoUpgrade": False}}
                }
            }
        ),
        frozenset({"change-driver-waits"}),
        ("upgrade-required", "driver in use"),
    ),
    Incident(
        "NVIDIA/gpu-operator#460",
        bare(sharing=SLICES),
        bare(sharing={"mig": {"strategy": "single", "layouts": [{"devices": {"1g.10gb": 7}}]}}),
        frozenset({"change-strategy-for-everyone"}),
        ("every node at once",),
    ),
    Incident(
        "NVIDIA/gpu-operator#1309",
        bare(sharing=SLICES),
        bare(),
        frozenset({"mig-manager-leaves-too-early"}),
        ("switch MIG mode off",),
    ),
    Incident(
        "NVIDIA/gpu-operator#1220",
        eks("1.35", operator("v26.3.0"), image="ubuntu-eks", eks=AMI),
        eks("1.36", operator("v26.7.0"), image="ubuntu-eks", eks=OTHER_AMI),
        frozenset({"change-together"}),
        ("the cause is not visible",),
    ),
    Incident(
        "NVIDIA/k8s-device-plugin#1645",
        eks(
            addons={
                "gpuOperator": {"enabled": False},
                "devicePlugin": {"enabled": True, "version": "0.18.1"},
            }
        ),
        eks(
            addons={
                "gpuOperator": {"enabled": False},
                "devicePlugin": {"enabled": True, "version": "0.18.2"},
            }
        ),
        BREAKS,
        ("0 GPUs",),
    ),
    Incident(
        "hashicorp/terraform-provider-google#23248",
        gke(),
        gke(gke={"driverVersion": "latest"}),
        REPLACED,
        ("deletes the old pool first",),
    ),
    Incident(
        "hashicorp/terraform-provider-google#10895",
        gke(),
        gke(capacity=[{"spot": {}}]),
        REPLACED,
        ("deletes the old pool first",),
    ),
    Incident(
        "terraform-aws-modules/terraform-aws-eks#2514",
        eks(tags={"a": "b"}),
        eks(tags={"a": "c"}),
        REPLACED,
        ("replaces the nodes",),
    ),
    Incident(
        "terraform-aws-modules/terraform-aws-eks#1793",
        eks(),
        eks(team="ml"),
        REPLACED,
        ("replaces the nodes",),
    ),
    Incident(
        "terraform-aws-modules/terraform-aws-eks#1109",
        eks(),
        eks(disk={"sizeGib": 500}),
        REPLACED,
        ("replaces the nodes",),
    ),
    Incident(
        "aws/karpenter-provider-aws#6923",
        eks("1.34", **KARPENTER),
        eks("1.36", **KARPENTER),
        frozenset({"kubernetes-minor-skipped"}),
        ("one minor version at a time",),
    ),
    Incident(
        "aws/karpenter-provider-aws#3979",
        eks(**KARPENTER, eks=AMI),
        eks(**KARPENTER, eks=OTHER_AMI),
        REPLACED,
        ("replaces the nodes",),
    ),
    Incident(
        "kubernetes-sigs/karpenter#1995",
        eks(addons={"karpenter": {"version": "0.37.0"}}, **KARPENTER),
        eks(addons={"karpenter": {"version": "1.0.0"}}, **KARPENTER),
        BREAKS,
        ("expired node is drained",),
    ),
    Incident(
        "aws/karpenter-provider-aws#5373",
        eks(addons={"karpenter": {"version": "0.32.2"}}, **KARPENTER),
        eks(addons={"karpenter": {"version": "0.33.0"}}, **KARPENTER),
        BREAKS,
        ("drift is on by default",),
    ),
    Incident(
        "awslabs/amazon-eks-ami#2165",
        eks("1.32", image="al2-nvidia", eks={"releaseVersion": "1.32.1-20250212"}),
        eks("1.32", image="al2-nvidia", eks={"releaseVersion": "1.32.1-20250224"}),
        BREAKS,
        ("pods with GPUs fail to start",),
    ),
    Incident(
        "2i2c-org/infrastructure#7008",
        eks("1.32", image="al2-nvidia"),
        eks("1.32", image="al2023-nvidia"),
        BREAKS,
        ("offer no GPU",),
    ),
    Incident(
        "awslabs/amazon-eks-ami#2323",
        eks("1.32", image="al2-nvidia"),
        eks("1.33", image="al2023-nvidia"),
        BREAKS,
        ("libraries for graphics",),
    ),
)
"""Threads that were read while the rules and the records were written."""

UNSEEN = (
    Incident(
        "terraform-aws-modules/terraform-aws-eks#2905",
        eks(),
        eks(instanceTypes=["g6.2xlarge"]),
        REPLACED,
        ("replaces the nodes",),
    ),
    Incident(
        "terraform-aws-modules/terraform-aws-eks#1813",
        eks(capacity=[{"spot": {}}]),
        eks(capacity=[{"spot": {}}], instanceTypes=["g6.4xlarge"]),
        REPLACED,
        ("replaces the nodes",),
    ),
    Incident(
        "cilium/cilium#19890",
        gke(),
        gke(taints=[{"key": "node.example.com/not-ready", "effect": "NoExecute"}]),
        frozenset({"change-evicts-pods"}),
        ("evict every pod",),
    ),
    Incident(
        "NVIDIA/gpu-operator#2527",
        bare(addons=operator("v26.3.1")),
        bare(addons=operator("v26.3.2")),
        DRIVER,
        ("the driver is loaded again",),
    ),
    Incident(
        "NVIDIA/gpu-operator#433",
        bare(),
        bare(taints=[{"key": "example.com/a40", "effect": "NoSchedule"}]),
        DRIVER,
        ("the driver is loaded again",),
    ),
    Incident(
        "NVIDIA/gpu-operator#1711",
        openshift("1.32", operator("v25.3.2")),
        openshift("1.33", operator("v25.3.3")),
        frozenset({"change-together"}),
        ("the cause is not visible",),
    ),
    Incident(
        "NVIDIA/aicr#2439",
        eks(addons={**operator("v26.3.3"), "draDriver": {"version": "0.4.1"}}, **CLAIMS),
        eks(addons={**operator("v26.7.0"), "draDriver": {"version": "0.5.0"}}, **CLAIMS),
        BREAKS,
        ("ComputeDomain",),
    ),
    Incident(
        "aws/containers-roadmap#1384",
        eks(eks={"releaseVersion": "1.36.0-20261001", "update": {"strategy": "surge"}}),
        eks(eks={"releaseVersion": "1.36.0-20261101", "update": {"strategy": "surge"}}),
        REPLACED,
        ("replaces the nodes",),
    ),
)
"""Threads that were read after the rules and the records were written. For the last but one the
plan had no record then."""
