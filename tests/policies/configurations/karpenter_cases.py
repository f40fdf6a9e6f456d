"""Manifests of Karpenter's: for every rule one that breaks it, and one close to it that does not."""
# ruff: noqa: E501  # one case, one line

import copy
import json
from typing import Any

AWS = "karpenter.k8s.aws/"
GATE = {"context": {"featureGates": {"NodeOverlay": True}}}
STATIC = {"context": {"featureGates": {"StaticCapacity": True}}}


def need(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    """One requirement; keys without a domain are labels of AWS machines."""
    full = key if "/" in key else f"{AWS}{key}"
    return {"key": full, "operator": operator, **({"values": list(values)} if values else {})}


L4 = need("instance-family", "g6")


def pool(*requirements: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A NodePool of L4 machines; `labels` are those of its nodes, other keys those of its spec."""
    labels = spec.pop("labels", {})
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {
            "limits": {"nvidia.com/gpu": "8"},
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.k8s.aws",
                        "kind": "EC2NodeClass",
                        "name": "gpu",
                    },
                    "requirements": list(requirements or [L4]),
                },
            },
            **spec,
        },
    }


def node_class(**spec: Any) -> dict[str, Any]:
    """An EC2NodeClass that is right; keys with the value None are left out."""
    whole = {
        "role": "nodes",
        "amiSelectorTerms": [{"alias": "al2023@v20261101"}],
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
        "instanceStorePolicy": "RAID0",
        **spec,
    }
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "gpu"},
        "spec": {key: value for key, value in whole.items() if value is not None},
    }


def overlay(capacity: dict[str, str], *requirements: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "gpu"},
        "spec": {"requirements": list(requirements or [L4]), "capacity": capacity},
    }


def job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", **spec}}},
    }


def gpus(amount: int) -> list[dict[str, Any]]:
    """One container that requests GPUs of NVIDIA."""
    return [{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": amount}}}]


def text(*objects: dict[str, Any]) -> str:
    """A stream of documents."""
    return "\n---\n".join(json.dumps(one) for one in objects)


def other(item: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(item), **changes}


def of_ibm(zone: str) -> dict[str, Any]:
    """A NodePool of IBM Cloud, whose zones are written as regions of AWS are."""
    found = pool(need("topology.kubernetes.io/zone", zone))
    ref = {"group": "karpenter-ibm.sh", "kind": "IBMNodeClass", "name": "gpu"}
    found["spec"]["template"]["spec"]["nodeClassRef"] = ref
    return found


EIGHTH = need("instance-family", "g6f")
A100 = need("instance-gpu-name", "a100")
PAGES = [{"name": "c", "image": "x", "resources": {"limits": {"hugepages-2Mi": "5Gi"}}}]
CUT = {"nvidia.com/mig.config": "all-1g.10gb"}
SHARED = {"nvidia.com/device-plugin.config": "four"}
EFA = {
    "networkInterfaces": [
        {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
        *({"networkCardIndex": i, "deviceIndex": 1, "interfaceType": "efa-only"} for i in range(4)),
    ]
}
ONE_ZONE = need("topology.kubernetes.io/zone", "us-east-1a")
P4D = need("instance-family", "p4d")
RESERVED = {"capacityReservationSelectorTerms": [{"id": "cr-0123456789abcdef0"}]}
BLOCK = need("capacity-reservation-type", "capacity-block")


def bought(*ways: str) -> dict[str, Any]:
    return need("karpenter.sh/capacity-type", *ways)


FINE_TEXT = text(pool(), node_class())

CASES: list[tuple[str, str, str | None, dict[str, Any]]] = [
    ("karpenter-nothing-to-judge", text(job()), text(job(), pool()), {}),
    ("karpenter-version-not-served", text(other(pool(), apiVersion="karpenter.sh/v1beta1")), None, {}),
    ("karpenter-version-not-served", text(other(pool(), kind="Provisioner", apiVersion="karpenter.sh/v1alpha5")), None, {}),
    ("karpenter-expire-after-misplaced", text(pool(disruption={"consolidateAfter": "1m", "expireAfter": "720h"})), None, {}),
    ("config-key-misspelt", text(pool(limit={"nvidia.com/gpu": "8"})), None, {}),
    ("config-key-unknown", text(pool(consolidation={"enabled": True})), None, {}),
    ("config-wrong-type", text(pool(weight="5")), text(pool(weight=5)), {}),
    ("config-choice-unknown", text(pool(disruption={"consolidateAfter": "1m", "consolidationPolicy": "Always"})), None, {}),
    ("config-out-of-bounds", text(pool(weight=101)), text(pool(weight=100)), {}),
    ("config-value-missing", text(pool(disruption={"consolidationPolicy": "WhenEmpty"})), None, {}),
    ("config-value-invalid", text(pool(disruption={"consolidateAfter": "1 m"})), text(pool(disruption={"consolidateAfter": "1m"})), {}),
    ("karpenter-requirement-invalid", text(pool(L4, need("instance-size", operator="in"))), None, {}),
    ("karpenter-requirement-invalid", text(pool(L4, need("instance-size"))), None, {}),
    ("karpenter-requirement-invalid", text(pool(L4, need("karpenter.sh/capacity-type", "ondemand"))), text(pool(L4, need("karpenter.sh/capacity-type", "on-demand", "reserved"))), {}),
    ("karpenter-requirement-invalid", text(pool(L4, need("topology.kubernetes.io/zone", "us-east-1"))), text(pool(L4, need("topology.kubernetes.io/zone", "us-west-2-lax-1a"))), {}),
    ("karpenter-requirement-invalid", text(pool(L4, need("topology.kubernetes.io/zone", "us-south-1"))), text(of_ibm("us-south-1")), {}),
    ("karpenter-requirement-invalid", text(pool(L4, need("instance-size", "large", operator="Exists"))), None, {}),
    ("karpenter-requirement-invalid", text(pool(L4, need("instance-cpu", "4", "8", operator="Gt"))), text(pool(L4, need("instance-cpu", "4", operator="Gte"))), {}),
    ("karpenter-label-restricted", text(pool(L4, need("instance-gpu", "l4"))), None, {}),
    ("karpenter-label-restricted", text(pool(L4, need("karpenter.sh/nodepool", "gpu"))), text(pool(L4, bought("spot"))), {}),
    ("karpenter-gpu-name-unknown", text(pool(need("instance-gpu-name", "L4"))), text(pool(need("instance-gpu-name", "l4"))), {}),
    ("karpenter-gpu-name-unknown", text(pool(need("instance-gpu-manufacturer", "NVIDIA"))), text(pool(need("instance-gpu-manufacturer", "nvidia"))), {}),
    ("karpenter-matches-nothing", text(pool(need("instance-family", "g5g"), need("kubernetes.io/arch", "amd64"))), text(pool(need("instance-family", "g5g"), need("kubernetes.io/arch", "arm64"))), {}),
    ("karpenter-matches-nothing", text(pool(A100, need("instance-gpu-memory", "80000"))), text(pool(A100, need("instance-gpu-memory", "81920"))), {}),
    ("karpenter-gpu-count-drops-fractions", text(pool(EIGHTH, need("instance-gpu-count", "0", operator="Gt"))), text(pool(L4, need("instance-gpu-count", "0", operator="Gt"))), {}),
    ("karpenter-gpu-count-drops-fractions", text(pool(need("instance-family", "g6", "g6f"), need("instance-gpu-count", "0", operator="Gt"))), text(pool(need("instance-gpu-name", "l4"), need("instance-gpu-count", "0", operator="Gt"))), {}),
    ("karpenter-fraction-without-overlay", text(pool(EIGHTH)), text(pool(EIGHTH), overlay({"nvidia.com/gpu": "1"}, EIGHTH)), GATE),
    ("karpenter-memories-mixed", text(pool(A100)), text(pool(A100, need("instance-gpu-memory", "40960"))), {}),
    ("karpenter-memories-mixed", text(pool(need("instance-family", "p4d", "p4de"))), text(pool(need("instance-category", "g", "p"))), {}),
    ("karpenter-zones-with-efa", text(pool(P4D), node_class(**EFA)), text(pool(P4D, ONE_ZONE), node_class(**EFA)), {}),
    ("karpenter-zones-with-efa", text(pool(P4D, need("topology.kubernetes.io/zone", "a", "b")), node_class(**EFA)), text(pool(P4D), node_class()), {}),
    ("karpenter-too-many-efa", text(pool(L4, ONE_ZONE), node_class(**EFA)), text(pool(P4D, ONE_ZONE), node_class(**EFA)), {}),
    ("karpenter-reservation-not-allowed", text(pool(), node_class(**RESERVED)), text(pool(L4, bought("reserved", "on-demand")), node_class(**RESERVED)), {}),
    ("karpenter-reserved-without-reservation", text(pool(L4, bought("reserved")), node_class()), text(pool(L4, bought("reserved")), node_class(**RESERVED)), {}),
    ("karpenter-al2-ended", text(pool(), node_class(amiSelectorTerms=[{"alias": "al2@v20261101"}])), text(pool(), node_class(amiSelectorTerms=[{"alias": "al2023@v20261101"}])), {"context": {"kubernetesVersion": "1.33"}}),
    ("karpenter-al2-ended", text(node_class(amiFamily="AL2", amiSelectorTerms=[{"name": "amazon-eks-gpu-node-1.31-*"}])), text(node_class(amiFamily="AL2", amiSelectorTerms=[{"id": "ami-1"}])), {}),
    ("karpenter-driver-not-for-gpu", text(pool(need("instance-family", "g7")), node_class(amiSelectorTerms=[{"alias": "bottlerocket@v1.52.0"}])), text(pool(need("instance-family", "g7")), node_class(amiSelectorTerms=[{"alias": "al2023@v20261101"}])), {}),
    ("karpenter-driver-not-for-gpu", text(pool(need("instance-family", "g7")), node_class(amiSelectorTerms=[{"alias": "al2023@v20260801"}])), text(pool(), node_class(amiSelectorTerms=[{"alias": "bottlerocket@v1.52.0"}])), {}),
    ("karpenter-image-architecture", text(pool(need("instance-family", "g5g")), node_class(amiFamily="AL2023", amiSelectorTerms=[{"name": "amazon-eks-node-al2023-x86_64-nvidia-1.36-*"}])), text(pool(), node_class(amiFamily="AL2023", amiSelectorTerms=[{"name": "amazon-eks-node-al2023-x86_64-nvidia-1.36-*"}])), {}),
    ("karpenter-image-without-driver", text(pool(), node_class(amiFamily="AL2023", amiSelectorTerms=[{"name": "amazon-eks-node-al2023-x86_64-standard-1.36-v*"}])), text(pool(), node_class(amiFamily="AL2023", amiSelectorTerms=[{"name": "amazon-eks-node-al2023-x86_64-nvidia-1.36-*"}])), {}),
    ("karpenter-image-without-driver", text(pool(), node_class(amiFamily="Bottlerocket", amiSelectorTerms=[{"ssmParameter": "/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id"}])), text(pool(), node_class(amiFamily="Bottlerocket", amiSelectorTerms=[{"ssmParameter": "/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/latest/image_id"}])), {}),
    ("karpenter-user-data-of-other-family", text(pool(), node_class(userData="#!/bin/bash\n/etc/eks/bootstrap.sh ml\n")), text(pool(), node_class(userData="#!/bin/bash\nsysctl -w vm.max_map_count=262144\n")), {}),
    ("karpenter-user-data-of-other-family", text(pool(), node_class(amiSelectorTerms=[{"alias": "bottlerocket@v1.53.0"}], userData="#!/bin/bash\ntrue\n")), text(pool(), node_class(amiSelectorTerms=[{"alias": "bottlerocket@v1.53.0"}], userData="[settings.kubernetes]\nmax-pods = 50\n")), {}),
    ("karpenter-max-pods-too-few", text(pool(), node_class(kubelet={"maxPods": 1})), text(pool(), node_class(kubelet={"maxPods": 58})), {}),
    ("karpenter-limit-below-one-node", text(pool(need("instance-family", "g6"), limits={"cpu": "3", "nvidia.com/gpu": "8"})), text(pool(need("instance-family", "g6"), limits={"cpu": "4", "nvidia.com/gpu": "1"})), {}),
    ("karpenter-limit-below-one-node", text(pool(need("node.kubernetes.io/instance-type", "p5.48xlarge"), limits={"nvidia.com/gpu": "4"})), text(pool(need("node.kubernetes.io/instance-type", "p5.48xlarge"), limits={"nvidia.com/gpu": "8"})), {}),
    ("karpenter-limit-below-one-node", text(pool(need("node.kubernetes.io/instance-type", "g6.xlarge"), limits={"memory": "12Gi"})), text(pool(need("node.kubernetes.io/instance-type", "g6.xlarge"), limits={"memory": "16Gi"})), {}),
    ("karpenter-limit-reached-first", text(pool(need("node.kubernetes.io/instance-type", "g5.xlarge"), limits={"cpu": "5", "nvidia.com/gpu": "2"})), text(pool(need("node.kubernetes.io/instance-type", "g5.xlarge"), limits={"cpu": "8", "nvidia.com/gpu": "2"})), {}),
    ("karpenter-latest", text(node_class(amiSelectorTerms=[{"alias": "al2023@latest"}])), None, {"context": {"environment": "dev"}}),
    ("karpenter-class-exclusive", text(node_class(instanceProfile="nodes")), text(node_class(role=None, instanceProfile="nodes")), {}),
    ("karpenter-class-exclusive", text(node_class(role=None)), None, {}),
    ("karpenter-class-exclusive", text(node_class(amiSelectorTerms=[{"alias": "al2023@v20261101"}, {"id": "ami-1"}])), None, {}),
    ("karpenter-small-disk", text(pool(), node_class(instanceStorePolicy=None)), text(pool(), node_class(instanceStorePolicy=None, blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "200Gi"}}])), {}),
    ("karpenter-small-disk", text(pool(), node_class(instanceStorePolicy=None, blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "50Gi"}}])), text(pool(need("instance-category", "c")), node_class(instanceStorePolicy=None)), {}),
    ("karpenter-slices-without-overlay", text(pool(need("instance-family", "p4de"), labels=CUT)), text(pool(need("instance-family", "p4de"), labels=CUT), overlay({"nvidia.com/mig-1g.10gb": "56"}, need("instance-family", "p4de"))), GATE),
    ("karpenter-slices-without-overlay", text(pool(need("instance-family", "p4de"), labels=CUT), overlay({"nvidia.com/mig-1g.10gb": "56"}, need("instance-family", "p5"))), text(pool(labels={"nvidia.com/mig.config": "all-disabled"})), GATE),
    ("karpenter-shares-without-overlay", text(pool(labels=SHARED)), text(pool(labels=SHARED), overlay({"nvidia.com/gpu": "4"})), GATE),
    ("karpenter-overlay-gate-off", text(pool(labels=SHARED), overlay({"nvidia.com/gpu": "4"})), None, {}),
    ("karpenter-label-of-auto-mode", text(pool(L4, need("eks.amazonaws.com/instance-family", "g6"))), text(pool(L4)), {}),
    ("karpenter-family-unknown", text(pool(need("instance-family", "p5", "p6"))), text(pool(need("instance-family", "p5", "p6-b200"))), {}),
]  # fmt: skip
