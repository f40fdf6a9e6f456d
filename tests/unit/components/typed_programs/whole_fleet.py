"""A user's fleet, and three that are not right."""

import pulumi
import pulumi_kubernetes as kubernetes

from gpufleet import FleetSpecArgs, GpuFleet

cluster = kubernetes.Provider("cluster")
SPEC: FleetSpecArgs = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
    "budget": {"usdPerHour": 42},
    "pools": [
        {
            "name": "chat",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 4},
            "capacity": [{"spot": {}}, {"onDemand": {}}],
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {
            "name": "notebooks",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 1, "max": 1},
            "sharing": {"mig": {"layouts": [{"gpus": "all", "devices": {"1g.10gb": 7}}]}},
        },
    ],
    "queues": {"teams": [{"name": "research", "share": 0.6}]},
}
GpuFleet("right", {"spec": SPEC, "connection": {}}, pulumi.ResourceOptions(providers=[cluster]))
GpuFleet("connection", {"spec": SPEC, "connection": {"clusterName": "ml"}})  # wrong
PLATFORM: FleetSpecArgs = {
    "catalogue": "2026.11",
    "platform": "ekx",  # wrong
    "cluster": {"name": "ml"},
    "pools": [],
}
GpuFleet(
    "x",
    {
        "spec": {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "regoin": "us-east-1"},  # wrong
            "pools": [],
        },
    },
)
MISSING: FleetSpecArgs = {"catalogue": "2026.11", "platform": "eks", "pools": []}  # wrong
