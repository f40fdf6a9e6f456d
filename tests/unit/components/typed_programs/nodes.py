"""Node pools on GKE and the agents of EKS, one mistake each."""

from gpufleet import EfaDevicePlugin, GkeGpuNodePool

GkeGpuNodePool(
    "right",
    {
        "catalogue": "2026.11",
        "cluster_name": "ml",
        "region": "us-central1",
        "pool": {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}},
    },
)
GkeGpuNodePool(
    "wrong",
    {
        "catalogue": "2026.11",
        "cluster_name": "ml",
        "region": "us-central1",
        "pool": {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "maximum": 4}},  # wrong
    },
)
EfaDevicePlugin("efa", {"catalogue": "2026.11", "instance_types": ["p5.48xlarge"]})
EfaDevicePlugin("one", {"catalogue": "2026.11", "instance_types": "p5.48xlarge"})  # wrong
EfaDevicePlugin("key", {"catalogue": "2026.11", "instanceType": ["p5.48xlarge"]})  # wrong
