"""The same chat service twice, and a forgotten shell."""

import pulumi
import pulumi_kubernetes as kubernetes

TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
REQUESTS = {"cpu": "2", "memory": "8Gi"}


def wasteful_chat(options: pulumi.ResourceOptions) -> None:
    """Six replicas of a 1.1 B model, each on a whole H100."""
    _chat("nvidia.com/gpu", [], options)


def corrected_chat(options: pulumi.ResourceOptions) -> None:
    """Six replicas of the same model, each on a quarter of an L4 and in a quarter of its memory."""
    _chat("nvidia.com/gpu.shared", ["--gpu-memory-utilization", "0.22"], options)


def _chat(resource: str, arguments: list[str], options: pulumi.ResourceOptions) -> None:
    kubernetes.apps.v1.Deployment(
        "chat",
        metadata={
            "name": "wasteful-chat",
            "namespace": "default",
            # Declared needs of the service: rules may stop a deployment on them.
            "annotations": {
                "gpufleet.dev/model-params-b": "1.1",
                "gpufleet.dev/precision": "bf16",
                "gpufleet.dev/mode": "inference",
            },
        },
        spec={
            "replicas": 6,
            "selector": {"match_labels": {"app": "wasteful-chat"}},
            "template": {
                "metadata": {"labels": {"app": "wasteful-chat"}},
                "spec": {
                    "tolerations": TOLERATIONS,
                    "containers": [
                        {
                            "name": "server",
                            "image": "vllm/vllm-openai:v0.11.0",
                            "args": [
                                "--model",
                                "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
                                *arguments,
                            ],
                            "resources": {"requests": REQUESTS, "limits": {resource: "1"}},
                        }
                    ],
                },
            },
        },
        opts=options,
    )


def forgotten_shell(options: pulumi.ResourceOptions) -> None:
    """A pod that holds two shares of a GPU and sleeps."""
    kubernetes.core.v1.Pod(
        "shell",
        metadata={"name": "wasteful-shell", "namespace": "default"},
        spec={
            "tolerations": TOLERATIONS,
            "containers": [
                {
                    "name": "shell",
                    "image": "nvidia/cuda:13.0.1-base-ubuntu24.04",
                    "command": ["sh", "-c", "nvidia-smi; sleep infinity"],
                    "resources": {"requests": REQUESTS, "limits": {"nvidia.com/gpu.shared": "2"}},
                }
            ],
        },
        opts=options,
    )
