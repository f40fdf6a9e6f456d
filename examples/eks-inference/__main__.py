"""Inference on L4 that four replicas share, on spot capacity, and on demand when there is none."""

import os

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from gpufleet import GpuFleet

config = pulumi.Config()
connection = config.require_object("connection")
account = aws.Provider("account", region="us-east-1")
cluster = kubernetes.Provider("cluster", kubeconfig=connection["kubeconfig"])
folder = config.get("charts") or os.environ.get("GPUFLEET_CHARTS")
spec = {
    "catalogue": "2026.11",
    "platform": "eks",
    "environment": "dev",
    "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
    "pools": [
        {
            "name": "chat",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 8},
            "provisioner": "karpenter",
            "capacity": [{"spot": {}}, {"onDemand": {}}],
            "sharing": {"timeSlicing": {"replicas": 4}},
            "eks": {"releaseVersion": "1.36.0-20261101"},
        },
    ],
    "addons": {} | ({"charts": {"source": {"folder": folder}}} if folder else {}),
}
fleet = GpuFleet(
    "gpus",
    {
        "spec": spec,
        "connection": {
            "cluster_name": "ml",
            "node_role_arn": connection["nodeRoleArn"],
            "subnet_ids_by_zone": connection["subnetIdsByZone"],
            "vpc_id": connection["vpcId"],
            "cluster_security_group_id": connection["clusterSecurityGroupId"],
        },
    },
    pulumi.ResourceOptions(providers={"aws": account, "kubernetes": cluster}),
)
pulumi.export("advertised", fleet.advertised)
pulumi.export("maximumUsdPerHour", fleet.maximum_usd_per_hour)
