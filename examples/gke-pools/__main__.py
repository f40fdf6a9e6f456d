"""GPU pools on a GKE cluster that exists: the setting `fleet` names the declaration."""

import os
from pathlib import Path

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
import yaml

from gpufleet import GpuFleet

config = pulumi.Config()
google = gcp.Provider("google", project=config.require("project"), region=config.require("region"))
cluster = kubernetes.Provider("cluster")
spec = yaml.safe_load(Path(__file__).with_name(f"{config.require('fleet')}.yaml").read_text())
spec["cluster"] = {"name": config.require("cluster"), "region": config.require("region")}
if folder := config.get("charts") or os.environ.get("GPUFLEET_CHARTS"):
    spec.setdefault("addons", {})["charts"] = {"source": {"folder": folder}}
fleet = GpuFleet(
    "fleet",
    {"spec": spec},
    pulumi.ResourceOptions(providers={"gcp": google, "kubernetes": cluster}),
)
pulumi.export("advertised", fleet.advertised)
