"""Ten declarations that together need every chart a fleet can install."""

from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data

MIRROR = "registry.example.com/mirror"
_EKS = {"platform": "eks", "cluster": {"name": "ml", "region": "us-east-1"}}
_GKE = {"platform": "gke", "cluster": {"name": "ml", "region": "us-central1"}}
_L4 = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}}
_TEAMS = {"teams": [{"name": "research", "share": 1.0, "namespaces": ["research"]}]}
_SHARED_NICS = {
    "enabled": True,
    "ofed": "operator",
    "rdma": [{"name": "ib", "podsPerNode": 8, "selectors": {"vendors": ["15b3"]}}],
    "macvlan": [{"name": "net", "ipam": {"type": "nv-ipam", "poolName": "p"}}],
    "ipoib": [{"name": "ipoib", "ipam": {"type": "nv-ipam", "poolName": "p"}}],
}

SPECS: dict[str, dict[str, Any]] = {
    "eks-karpenter": {**_EKS, "provisioner": "karpenter", "pools": [_L4]},
    "eks-autoscaler-queues": {
        **_EKS,
        "provisioner": "clusterAutoscaler",
        "pools": [_L4],
        "queues": _TEAMS,
    },
    "eks-efa": {
        **_EKS,
        "pools": [
            {
                "name": "train",
                "instanceTypes": ["p5.48xlarge"],
                "nodes": {"min": 0, "max": 2},
                "fabric": "efa",
                "zones": ["us-east-1a"],
            }
        ],
    },
    "eks-neuron": {
        **_EKS,
        "pools": [
            {"name": "inf", "instanceTypes": ["inf2.48xlarge"], "nodes": {"min": 0, "max": 2}}
        ],
        "addons": {"neuronDevicePlugin": {"nodeRecovery": True}},
    },
    "eks-dra": {
        **_EKS,
        "pools": [{**_L4, "sharing": {"dra": {}}}],
    },
    "gke-device-plugin": {
        **_GKE,
        "pools": [_L4],
        "monitoring": {"backend": "prometheus", "queryUrl": "http://prometheus:9090"},
        "addons": {"keda": {"enabled": True}},
    },
    "sandbox-plugin-chart": {
        "platform": "sandbox",
        "cluster": {"name": "ml"},
        "pools": [_L4],
        "addons": {"gpuOperator": {"enabled": False}, "devicePlugin": {"enabled": True}},
    },
    "vsphere-network": {
        "platform": "vsphere",
        "cluster": {"name": "ml"},
        "pools": [
            {
                "name": "l40s",
                "gpu": "L40S",
                "nodes": {"min": 2, "max": 2},
                "vsphere": {
                    "cpus": 16,
                    "memoryGib": 128,
                    "template": "ubuntu-2404",
                    "networks": [{"network": "VM Network"}],
                },
            }
        ],
        "addons": {"networkOperator": _SHARED_NICS},
    },
    "vsphere-operator-parts": {
        "platform": "vsphere",
        "cluster": {"name": "ml"},
        "pools": [
            {
                "name": "l40s",
                "gpu": "L40S",
                "nodes": {"min": 2, "max": 2},
                "vsphere": {
                    "cpus": 16,
                    "memoryGib": 128,
                    "template": "ubuntu-2404",
                    "networks": [{"network": "VM Network"}],
                },
            }
        ],
        "addons": {"gpuOperator": {"gds": {"enabled": True}, "gdrcopy": {"enabled": True}}},
    },
    "openshift": {
        "platform": "openshift",
        "cluster": {"name": "ml", "kubernetesVersion": "1.34"},
        "pools": [
            {
                "name": "l40s",
                "gpu": "L40S",
                "nodes": {"min": 2, "max": 2},
                "openshift": {"cpus": 16, "memoryGib": 128, "template": "rhcos-l40s"},
            }
        ],
    },
}


def mirror_fleet(name: str, *, registry: str | None = None) -> Fleet:
    data = {"catalogue": "2026.11", **SPECS[name]}
    if registry is not None:
        data["addons"] = {**data.get("addons", {}), "images": {"registry": registry}}
    compiled = compile_data(data)
    assert compiled.deployable, [one.message for one in compiled.findings]
    assert compiled.fleet is not None
    return compiled.fleet
