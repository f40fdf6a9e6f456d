"""Quotas of teams and monitoring of a cluster that exists, one mistake each."""

from gpufleet import GpuMonitoring, KueueQueues

KueueQueues(
    "queues",
    {
        "catalogue": "2026.11",
        "platform": "gke",
        "pools": [{"name": "train", "gpu": "H100-80GB", "nodes": {"min": 0, "max": 2}}],
        "queues": {"teams": [{"name": "research", "share": 1}]},
    },
)
KueueQueues("a", {"catalogue": "2026.11", "platform": "gke", "pools": [], "quues": {}})  # wrong
KueueQueues(
    "b",
    {
        "catalogue": "2026.11",
        "platform": "gke",
        "pools": [],
        "queues": {"teams": [{"name": "research", "shares": 1}]},  # wrong
    },
)
GpuMonitoring("c", {"catalogue": 2026.11})  # wrong
