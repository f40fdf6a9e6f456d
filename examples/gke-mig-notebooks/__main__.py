"""A100 slices of several sizes on one node: the GPU Operator cuts what GKE itself would not."""

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
            "name": "notebooks",
            "instanceTypes": ["a2-ultragpu-1g"],
            "nodes": {"min": 0, "max": 3},
            "intent": "interactive",
            "sharing": {
                "mig": {"strategy": "mixed", "layouts": [{"devices": {"1g.10gb": 3, "3g.40gb": 1}}]}
            },
            "gke": {"driver": "gpuOperator"},
        }
    ],
    # A GPU in a virtual machine may refuse the reset that switches MIG on: reboot instead.
    "addons": {"gpuOperator": {"migManager": {"env": {"WITH_REBOOT": "true"}}}, **charts},
}
fleet = GpuFleet(
    "fleet",
    {"spec": spec},
    pulumi.ResourceOptions(providers={"gcp": google, "kubernetes": cluster}),
)
pulumi.export("advertised", fleet.advertised)
