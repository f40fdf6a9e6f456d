"""From an empty AWS account to a pod on a GPU, in one update."""

import json
import os

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from gpufleet import EksCluster, GpuFleet

config = pulumi.Config()
folder = config.get("charts") or os.environ.get("GPUFLEET_CHARTS")
region = "us-east-1"
account = aws.Provider("account", region=region)
cluster = EksCluster(
    "ml",
    {
        "cluster_name": "ml",
        "region": region,
        "zones": ["us-east-1a", "us-east-1b"],
        "public_access_cidrs": json.loads(config.require("publicAccessCidrs")),
    },
    pulumi.ResourceOptions(providers={"aws": account}),
)
inside = kubernetes.Provider("cluster", kubeconfig=cluster.kubeconfig)
fleet = GpuFleet(
    "gpus",
    {
        "spec": {
            "catalogue": "2026.11",
            "platform": "eks",
            "environment": "dev",
            "cluster": {"name": "ml", "region": region, "kubernetesVersion": "1.36"},
            "pools": [
                {
                    "name": "chat",
                    "instanceTypes": ["g6.xlarge"],
                    "nodes": {"min": 1, "max": 2},
                    "intent": "inference",
                    "sharing": {"timeSlicing": {"replicas": 2}},
                }
            ],
            "addons": {"charts": {"source": {"folder": folder}}} if folder else {},
        },
        "connection": cluster.connection,
    },
    pulumi.ResourceOptions(providers={"aws": account, "kubernetes": inside}),
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
                "resources": {"limits": {"nvidia.com/gpu.shared": 1}},
            }
        ],
    },
    opts=pulumi.ResourceOptions(provider=inside, depends_on=[fleet]),
)
pulumi.export("kubeconfig", cluster.kubeconfig)
pulumi.export("advertised", fleet.advertised)
pulumi.export("node", pod.spec.apply(lambda spec: spec.node_name))
