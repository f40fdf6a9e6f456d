"""Four models on each L4: GKE brings driver and device plugin, spot first."""

import pulumi
import pulumi_gcp as gcp

from gpufleet import GkeGpuNodePool

config = pulumi.Config()
region = config.require("region")
google = gcp.Provider("google", project=config.require("project"), region=region)
chat = GkeGpuNodePool(
    "chat",
    {
        "catalogue": "2026.11",
        "region": region,
        "cluster_name": config.require("cluster"),
        "pool": {
            "name": "chat",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 4},
            "intent": "inference",
            "capacity": [{"spot": {}}],
            "sharing": {"time_slicing": {"replicas": 4}},
        },
    },
    pulumi.ResourceOptions(providers={"gcp": google}),
)
pulumi.export("nodePools", chat.node_pool_names)
pulumi.export("advertised", chat.advertised)
