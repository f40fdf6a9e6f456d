"""Pods that request exactly the resources of their pool, and declare their purpose."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

NAMESPACE = "workloads"
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def small_models(opts: pulumi.ResourceOptions) -> None:
    """Ten replicas of a 1.1 B model, four to an L4."""
    kubernetes.apps.v1.Deployment(
        "small-models",
        metadata={
            "name": "small-models",
            "namespace": NAMESPACE,
            "annotations": {
                "gpufleet.dev/model-params-b": "1.1",
                "gpufleet.dev/precision": "bf16",
                "gpufleet.dev/mode": "inference",
            },
        },
        spec={
            "replicas": 10,
            "selector": {"match_labels": {"app": "small-models"}},
            "template": _template(
                "small-models",
                "chat",
                {
                    "name": "server",
                    "image": "vllm/vllm-openai:v0.11.0",
                    "args": ["--model", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"],
                    "resources": _resources("nvidia.com/gpu.shared", 1, "500m", "3Gi"),
                },
            ),
        },
        opts=opts,
    )


def notebooks(opts: pulumi.ResourceOptions) -> None:
    """Six notebooks, each on its own slice with its own memory."""
    kubernetes.apps.v1.StatefulSet(
        "notebooks",
        metadata={"name": "notebooks", "namespace": NAMESPACE},
        spec={
            "replicas": 6,
            "service_name": "notebooks",
            "pod_management_policy": "Parallel",
            "selector": {"match_labels": {"app": "notebooks"}},
            "template": _template(
                "notebooks",
                "notebooks",
                {
                    "name": "jupyter",
                    "image": "quay.io/jupyter/pytorch-notebook:cuda12-2025-10-06",
                    "resources": _resources("nvidia.com/mig-1g.10gb", 1, "2", "16Gi"),
                },
            ),
        },
        opts=opts,
    )


def training(opts: pulumi.ResourceOptions) -> None:
    """A training job on all eight GPUs of a machine."""
    kubernetes.batch.v1.Job(
        "training",
        metadata={
            "name": "training",
            "namespace": NAMESPACE,
            # Training takes hours: a deployment waits for its start. Waiting for nothing at all
            # would not wait for a deletion either, and a changed job would meet the old one.
            "annotations": {"pulumi.com/waitFor": "jsonpath={.status.startTime}"},
        },
        spec={
            "backoff_limit": 0,
            # A node that is taken away is not a failure of the training.
            "pod_failure_policy": {
                "rules": [
                    {
                        "action": "Ignore",
                        "on_pod_conditions": [{"type": "DisruptionTarget", "status": "True"}],
                    }
                ]
            },
            "template": _template(
                "training",
                "training",
                {
                    "name": "torchrun",
                    "image": "nvcr.io/nvidia/pytorch:25.10-py3",
                    "command": ["torchrun", "--nproc-per-node=8", "train.py"],
                    "resources": _resources("nvidia.com/gpu", 8, "96", "1Ti"),
                },
                annotations={"sandbox.gpufleet.dev/run-for": "12h"},
                restart_policy="Never",
            ),
        },
        opts=pulumi.ResourceOptions.merge(
            # Kubernetes refuses most changes of a Job's specification.
            opts,
            pulumi.ResourceOptions(replace_on_changes=["spec"], delete_before_replace=True),
        ),
    )


def _template(
    app: str,
    pool: str,
    container: dict[str, Any],
    annotations: dict[str, str] | None = None,
    **pod: str,
) -> kubernetes.core.v1.PodTemplateSpecArgsDict:
    return {
        "metadata": {"labels": {"app": app}, "annotations": annotations or {}},
        "spec": {
            "node_selector": {"gpufleet.dev/pool": pool},
            "tolerations": [GPU_TOLERATION],
            "containers": [container],
            **pod,
        },
    }


def _resources(gpu: str, count: int, cpu: str, memory: str) -> dict[str, dict[str, str]]:
    return {
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {gpu: str(count), "memory": memory},
    }
