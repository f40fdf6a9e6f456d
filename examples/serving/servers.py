"""The servers: what each runs, on what, and how much of the GPU it may take.

Sizes are those of these commands (the figure in `to plan with` is below the share's memory):

    gpufleet size --model Qwen2.5-0.5B --context 4096 --batch 32 --gpu L4 --time-slicing 4
    gpufleet size --model Qwen2.5-1.5B --context 4096 --batch 32 --gpu A100-80GB --mig 1g.10gb
"""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

NAMESPACE = "serving"
HUB_OBJECT = "hub"
"""Name of the Secret with the token of the model hub."""
PORT = 8000


@dataclass(frozen=True)
class Server:
    """One model, and the share of a GPU that it is served on."""

    name: str
    model: str
    parameters: str
    """Billions, for the policies."""
    pool: str
    resource: str
    utilisation: str
    """Part of the memory that vLLM uses: of the GPU under time-slicing, of the slice on MIG."""
    sequences: int
    most: int


SERVERS = (
    Server(
        name="chat",
        model="Qwen/Qwen2.5-0.5B-Instruct",
        parameters="0.494",
        pool="chat",
        resource="nvidia.com/gpu.shared",
        utilisation="0.22",
        sequences=32,
        most=4,
    ),
    Server(
        name="code",
        model="Qwen/Qwen2.5-1.5B-Instruct",
        parameters="1.54",
        pool="notebooks",
        resource="nvidia.com/mig-1g.10gb",
        utilisation="0.90",
        sequences=32,
        most=3,
    ),
)


def deploy(server: Server, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """A Deployment that is ready when the model is loaded, and the Service in front of it."""
    labels = {"app": server.name}
    kubernetes.core.v1.Service(
        server.name,
        metadata={"name": server.name, "namespace": NAMESPACE},
        spec={"selector": labels, "ports": [{"port": 80, "target_port": PORT}]},
        opts=opts,
    )
    return kubernetes.apps.v1.Deployment(
        server.name,
        metadata={
            "name": server.name,
            "namespace": NAMESPACE,
            "annotations": {
                "gpufleet.dev/mode": "inference",
                "gpufleet.dev/model-params-b": server.parameters,
                "gpufleet.dev/precision": "bf16",
            },
        },
        spec={
            "selector": {"match_labels": labels},
            # The fleet holds no spare GPU for a second pod next to the first.
            "strategy": {"rolling_update": {"max_surge": 0, "max_unavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": _pod(server)},
        },
        # KEDA sets the replicas.
        opts=pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(ignore_changes=["spec.replicas"])
        ),
    )


def _pod(server: Server) -> dict[str, Any]:
    health = {"http_get": {"path": "/health", "port": PORT}, "period_seconds": 10}
    return {
        "node_selector": {"gpufleet.dev/pool": server.pool},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {
                "name": "vllm",
                "image": "vllm/vllm-openai:v0.11.0",
                "args": [
                    f"--model={server.model}",
                    "--max-model-len=4096",
                    f"--max-num-seqs={server.sequences}",
                    f"--gpu-memory-utilization={server.utilisation}",
                    "--dtype=bfloat16",
                ],
                "env": [
                    {
                        "name": "HF_TOKEN",
                        "value_from": {"secret_key_ref": {"name": HUB_OBJECT, "key": "token"}},
                    }
                ],
                "ports": [{"container_port": PORT, "name": "http"}],
                # Download and load of the model take minutes; after that it must respond.
                "startup_probe": {**health, "failure_threshold": 60},
                "readiness_probe": {**health, "failure_threshold": 3},
                "resources": {
                    "requests": {"cpu": "500m", "memory": "3Gi"},
                    "limits": {server.resource: "1", "memory": "8Gi"},
                },
            }
        ],
    }
