"""The smallest fleet: two L4 nodes, each GPU offered four times."""

import os

import pulumi
import pulumi_kubernetes as kubernetes

from gpufleet import GpuFleet

cluster = kubernetes.Provider("cluster", kubeconfig=os.environ["KUBECONFIG"])
spec = {
    "catalogue": "2026.11",
    "platform": "sandbox",
    "cluster": {"name": "minimal"},
    "pools": [
        {
            "name": "chat",
            "gpu": "L4",
            "nodes": {"min": 2, "max": 4},
            "sharing": {"timeSlicing": {"replicas": 4}},
        }
    ],
}
fleet = GpuFleet("fleet", {"spec": spec}, pulumi.ResourceOptions(providers=[cluster]))
pulumi.export("advertised", fleet.advertised)
pulumi.export("usdPerHour", fleet.expected_usd_per_hour)
