"""From an empty Google Cloud project to a pod on a GPU, in one update."""

import json
import os

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from gpufleet import GkeCluster, GpuFleet

config = pulumi.Config()
folder = config.get("charts") or os.environ.get("GPUFLEET_CHARTS")
project, region = config.require("project"), "us-central1"
google = gcp.Provider("google", project=project, region=region)
cluster = GkeCluster(
    "ml",
    {
        "project": project,
        "cluster_name": "ml",
        "region": region,
        "zones": ["us-central1-a", "us-central1-b"],
        "public_access_cidrs": json.loads(config.require("publicAccessCidrs")),
    },
    pulumi.ResourceOptions(providers={"gcp": google}),
)
inside = kubernetes.Provider("cluster", kubeconfig=cluster.kubeconfig)
fleet = GpuFleet(
    "gpus",
    {
        "spec": {
            "catalogue": "2026.11",
            "platform": "gke",
            "environment": "dev",
            "cluster": {"name": "ml", "region": region, "kubernetesVersion": "1.36"},
            "pools": [
                {
                    "name": "chat",
                    "gpu": "L4",
                    "zones": ["us-central1-a"],
                    "nodes": {"min": 1, "max": 2},
                    "intent": "inference",
                    "sharing": {"timeSlicing": {"replicas": 2}},
                }
            ],
            "addons": {"charts": {"source": {"folder": folder}}} if folder else {},
        },
        "connection": cluster.connection,
    },
    pulumi.ResourceOptions(providers={"gcp": google, "kubernetes": inside}),
)
pod = kubernetes.core.v1.Pod(
    "first",
    metadata={"name": "first", "namespace": "default"},
    spec={
        "nodeSelector": {"gpufleet.dev/pool": "chat"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {
                "name": "cuda",
                "image": "nvcr.io/nvidia/cuda:13.0.1-base-ubuntu24.04",
                "command": ["sh", "-c", "nvidia-smi && sleep infinity"],
                "resources": {"limits": {"nvidia.com/gpu": 1}},
            }
        ],
    },
    opts=pulumi.ResourceOptions(provider=inside, depends_on=[fleet]),
)
pulumi.export("kubeconfig", cluster.kubeconfig)
pulumi.export("advertised", fleet.advertised)
pulumi.export("node", pod.spec.apply(lambda spec: spec.node_name))
