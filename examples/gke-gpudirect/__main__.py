"""A cluster for training over several A3 Mega machines, with the networks of GPUDirect-TCPXO."""

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
        "zones": ["us-central1-a"],
        "multi_networking": True,
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
            "cluster": {
                "name": "ml",
                "region": region,
                "project": project,
                "kubernetesVersion": "1.36",
            },
            "pools": [
                {
                    "name": "training",
                    "instanceTypes": ["a3-megagpu-8g"],
                    "zones": ["us-central1-a"],
                    "nodes": {"min": 0, "max": 4},
                    "intent": "training",
                    "fabric": "tcpxo",
                    "capacity": [{"flexStart": {"maxRunDuration": "2d"}}],
                }
            ],
            "addons": {
                "gpuDirect": {"networks": {"cidr": "192.168.0.0/16"}},
                **({"charts": {"source": {"folder": folder}}} if folder else {}),
            },
        },
        "connection": cluster.connection,
    },
    pulumi.ResourceOptions(providers={"gcp": google, "kubernetes": inside}),
)
pulumi.export("kubeconfig", cluster.kubeconfig)
pulumi.export("advertised", fleet.advertised)
