"""Arguments with which each public component is made, small but complete in what it needs."""

from typing import Any

from tests.unit.components.openshift_pools import CHAT, CONNECTION

EDITION = "2026.11"
ROLE = "arn:aws:iam::123456789012:role/nodes"
POOL: dict[str, Any] = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}
SMALL: dict[str, Any] = {**POOL, "nodes": {"min": 1, "max": 1}}
PART = {"catalogue": EDITION, "platform": "eks", "region": "us-east-1", "pools": [POOL]}
QUEUES = {"teams": [{"name": "ml", "share": 0.5}]}
EKS_POOL: dict[str, Any] = {
    "catalogue": EDITION,
    "pool": POOL,
    "region": "us-east-1",
    "cluster_name": "ml",
    "node_role_arn": ROLE,
    "subnet_ids_by_zone": {"us-east-1a": "subnet-0a"},
}
VALID: dict[str, dict[str, Any]] = {
    "ClusterAutoscaler": {"catalogue": EDITION, "cluster_name": "ml", "region": "us-east-1"},
    "DevicePlugin": {"catalogue": EDITION, "config": "layouts"},
    "DraDriver": {
        **PART,
        "pools": [{**POOL, "sharing": {"dra": {}}}],
    },
    "EfaDevicePlugin": {"catalogue": EDITION, "instance_types": ["p5.48xlarge"]},
    "EksCluster": {
        "cluster_name": "ml",
        "region": "us-east-1",
        "zones": ["us-east-1a", "us-east-1b"],
    },
    "EksGpuNodeGroup": EKS_POOL,
    "GkeCluster": {
        "project": "my-project",
        "cluster_name": "ml",
        "region": "us-central1",
        "zones": ["us-central1-a"],
    },
    "GkeGpuNodePool": {
        "catalogue": EDITION,
        "pool": POOL,
        "region": "us-central1",
        "cluster_name": "ml",
    },
    "GpuAcceptance": {**PART, "pools": [{**POOL, "acceptance": {}}]},
    "GpuAddons": PART,
    "GpuFleet": {
        "spec": {
            "catalogue": EDITION,
            "platform": "sandbox",
            "cluster": {"name": "ml"},
            "pools": [SMALL],
        }
    },
    "GpuMonitoring": {**PART, "monitoring": {}},
    "GpuOperator": {"catalogue": EDITION},
    "GpuScaledObject": {
        "scaling": {
            "target": {"name": "chat", "namespace": "product"},
            "min": 0,
            "max": 8,
            "server": "http://prometheus.monitoring.svc:9090",
            "on": [{"signal": "queueLength", "target": 5, "query": "sum(gateway_queue)"}],
        }
    },
    "Karpenter": {
        "catalogue": EDITION,
        "cluster_name": "ml",
        "region": "us-east-1",
        "node_role_arn": ROLE,
    },
    "KarpenterGpuNodePool": {**EKS_POOL, "cluster_security_group_id": "sg-0a"},
    "Keda": {"catalogue": EDITION},
    "KueueQueues": {**PART, "queues": QUEUES},
    "NetworkOperator": {"catalogue": EDITION},
    "NeuronDevicePlugin": {"catalogue": EDITION},
    "NimOperator": {"catalogue": EDITION},
    "NimService": {
        "nim": {
            "name": "llama",
            "namespace": "product",
            "image": "nvcr.io/nim/meta/llama-3.2-1b-instruct",
            "tag": "1.8.4",
            "pool": "slices",
            "resource": "nvidia.com/mig-2g.20gb",
            "storage": {"size_gib": 50},
        }
    },
    "NodeMonitoringAgent": {"cluster_name": "ml"},
    "OlmOperator": {"catalogue": EDITION, "operator": "gpu-operator"},
    "OpenShiftClusterAutoscaler": {"catalogue": EDITION, "pools": [CHAT]},
    "OpenShiftGpuMachineSet": {
        "catalogue": EDITION,
        "pool": CHAT,
        "connection": dict(CONNECTION),
        "kubernetes_version": "1.35",
    },
    "SimulatedGpuNodePool": {"catalogue": EDITION, "pool": SMALL},
    "VsphereGpuNodeGroup": {
        "catalogue": EDITION,
        "pool": {
            **SMALL,
            "gpu": "A100-80GB",
            "vsphere": {"cpus": 8, "memoryGib": 64, "template": "gpu-template"},
        },
        "connection": {
            "server": "vcenter.example.com",
            "datacenter": "DC1",
            "compute_cluster": "gpu",
        },
    },
}
