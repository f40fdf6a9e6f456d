"""Training that waits in Kueue until Google has all its nodes at once, for seven days at most."""

import os

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from gpufleet import GpuFleet

config = pulumi.Config()
folder = config.get("charts") or os.environ.get("GPUFLEET_CHARTS")
charts = {"charts": {"source": {"folder": folder}}} if folder else {}
google = gcp.Provider("google", project=config.require("project"), region=config.require("region"))
cluster = kubernetes.Provider("cluster")
spec = {
    "catalogue": "2026.11",
    "platform": "gke",
    "cluster": {"name": config.require("cluster"), "region": config.require("region")},
    "pools": [
        {
            "name": "training",
            "instanceTypes": ["g2-standard-96"],
            "nodes": {"min": 0, "max": 4},
            "intent": "training",
            "capacity": [{"queued": {"maxRunDuration": "2d"}}],
        }
    ],
    "queues": {"teams": [{"name": "research", "share": 0.6}, {"name": "product", "share": 0.4}]},
    "addons": charts,
}
fleet = GpuFleet(
    "fleet",
    {"spec": spec},
    pulumi.ResourceOptions(providers={"gcp": google, "kubernetes": cluster}),
)
pulumi.export("advertised", fleet.advertised)
