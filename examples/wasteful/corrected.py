"""The same objects without their mistakes."""

from objects import (
    REQUESTS,
    container,
    deployment,
    job,
    node_pool,
    pod,
    ray_cluster,
    ray_job,
    scaled_object,
    training,
)

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"

_EQUAL = container({}, resources={"requests": {**REQUESTS, GPU: "2"}, "limits": {GPU: "2"}})
_WIDE = container({GPU: "4"}, args=["vllm", "serve", "m", "--tensor-parallel-size", "4"])
_NARROW = container({GPU: "2"}, command=["torchrun", "--nproc_per_node=2", "train.py"])

DOCUMENTS = {
    "request-and-limit": training("request-and-limit", _EQUAL),
    "cluster-stays": ray_job("cluster-stays", container({GPU: "1"}), shutdownAfterJobFinishes=True),
    "no-maximum": ray_cluster("no-maximum", container({GPU: "1"}), maxReplicas=4),
    "two-shares": pod("two-shares", container({SHARED: "1"})),
    "fraction": pod("fraction", container({SHARED: "1"})),
    "few-gpus": deployment("few-gpus", _WIDE),
    "many-gpus": job("many-gpus", _NARROW),
    "shell": deployment("shell", container({SHARED: "1"})),
    "unused-claim": pod("unused-claim", container({GPU: "1"})),
    "idle-replicas": scaled_object(minReplicaCount=1, idleReplicaCount=0),
    "node-pool": node_pool(consolidateAfter="5m"),
}
"""GPU resources that each object requests, by the name of the object."""
