"""GPU pools on an EKS cluster that exists: `fleet` names the declaration, nothing else is made."""

import os
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
import yaml

from gpufleet import GpuFleet

config = pulumi.Config()
connection = config.require_object("connection")
account = aws.Provider("account", region="us-east-1")
cluster = kubernetes.Provider("cluster", kubeconfig=connection["kubeconfig"])
spec = yaml.safe_load(Path(__file__).with_name(f"{config.require('fleet')}.yaml").read_text())
if folder := config.get("charts") or os.environ.get("GPUFLEET_CHARTS"):
    spec.setdefault("addons", {})["charts"] = {"source": {"folder": folder}}
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
