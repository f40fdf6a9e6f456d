"""GPU pools on an EKS cluster that exists: nothing of it is changed, two groups are added."""

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
            "name": "embed",
            "gpu": "L4",
            "nodes": {"min": 1, "max": 3},
            "sharing": {"mps": {"replicas": 4}},
        },
        {
            "name": "tune",
            "instanceTypes": ["g6e.12xlarge"],
            "nodes": {"min": 0, "max": 2},
            "intent": "batch",
            "provisioner": "clusterAutoscaler",
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
