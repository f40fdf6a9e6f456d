"""Objects with one mistake each, which the name states."""

from objects import (
    REQUESTS,
    container,
    deployment,
    job,
    metadata,
    node_pool,
    pod,
    ray_cluster,
    ray_job,
    scaled_object,
    training,
)

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"

_TWO_AND_ONE = container({}, resources={"requests": {**REQUESTS, GPU: "2"}, "limits": {GPU: "1"}})
_HALF_A_GPU = {
    **pod("fraction", container({GPU: "1"})),
    "metadata": metadata("fraction", **{"gpu-fraction": "0.5"}),
}
_WIDE = container({GPU: "1"}, args=["vllm", "serve", "m", "--tensor-parallel-size", "4"])
_NARROW = container({GPU: "8"}, command=["torchrun", "--nproc_per_node=2", "train.py"])

DOCUMENTS = {
    "request-and-limit": training("request-and-limit", _TWO_AND_ONE),
    "cluster-stays": ray_job(
        "cluster-stays", container({GPU: "1"}), shutdownAfterJobFinishes=False
    ),
    "no-maximum": ray_cluster("no-maximum", container({GPU: "1"})),
    "two-shares": pod("two-shares", container({SHARED: "2"})),
    "fraction": _HALF_A_GPU,
    "few-gpus": deployment("few-gpus", _WIDE),
    "many-gpus": job("many-gpus", _NARROW),
    "shell": deployment("shell", container({GPU: "1"}, command=["sleep", "infinity"], args=[])),
    "unused-claim": pod(
        "unused-claim",
        container({GPU: "1"}),
        resourceClaims=[{"name": "spare", "resourceClaimTemplateName": "one-gpu"}],
    ),
    "idle-replicas": scaled_object(minReplicaCount=1, idleReplicaCount=2),
    "node-pool": node_pool(consolidateAfter="Never"),
}
"""GPU resources that each object requests, by the name of the object."""
