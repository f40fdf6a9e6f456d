"""Objects whose GPUs do not fit the work on them, by what they declare; and traps."""

from typing import Any

from tests.engine.admission_objects import (
    GPU,
    MEMORY,
    WITH_PODS,
    Case,
    changed,
    container,
    pod_spec,
)

_PREMIUM = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
_SMALL = {"gpufleet.dev/mode": "inference", "gpufleet.dev/min-gpu-memory-gib": "8"}
_NAMED = {"gpufleet.dev/mode": "inference", "gpufleet.dev/model-params-b": "3"}
_SERVER_KINDS = ("Pod", "Deployment", "StatefulSet", "Notebook", "Service")
_COUNTED_KINDS = (*_SERVER_KINDS, "Job", "CronJob")
_TRAINED_KINDS = (*_COUNTED_KINDS, "JobSet", "PyTorchJob")


def _on(kind: str, spec: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    return changed(WITH_PODS[kind](spec), "metadata/annotations", annotations)


def _of_four(kind: str, *words: str) -> dict[str, Any]:
    """Four GPUs and a command line."""
    resources = {**MEMORY, "limits": {GPU: "4"}}
    return WITH_PODS[kind](pod_spec(container(resources=resources, args=list(words))))


def _oversized() -> list[Case]:
    found: list[Case] = []
    for kind in _SERVER_KINDS:
        for said in (_SMALL, _NAMED):
            found.append(
                ("gpu-oversized-for-model", _on(kind, pod_spec(nodeSelector=_PREMIUM), said))
            )
    exceeds = "gpu-count-exceeds-parallelism"
    for kind in _COUNTED_KINDS:
        found += [
            (exceeds, _of_four(kind, "serve", "m", "--tensor-parallel-size", "2")),
            (exceeds, _of_four(kind, "serve m --tensor_parallel_size=1 -pp 2 -dp 1")),
        ]
    for kind in _TRAINED_KINDS:
        found.append((exceeds, _of_four(kind, "torchrun", "--nproc_per_node=2", "train.py")))
    return found


SIZED_RIGHT = (
    *(
        _on("Deployment", pod_spec(nodeSelector=_PREMIUM), said)
        for said in (
            {**_SMALL, "gpufleet.dev/min-gpu-memory-gib": "60"},
            {**_SMALL, "gpufleet.dev/min-gpu-memory-gib": "30"},
            {**_SMALL, "gpufleet.dev/min-gpu-memory-gib": "small"},
            {**_SMALL, "gpufleet.dev/latency-slo-ms": "20"},
            {**_NAMED, "gpufleet.dev/model-params-b": "70"},
            {**_NAMED, "gpufleet.dev/mode": "training"},
            {},
        )
    ),
    _on("Deployment", pod_spec(nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L4"}), _SMALL),
    _on("Pod", pod_spec(nodeSelector={**_PREMIUM, "nvidia.com/mig.config": "all-1g.10gb"}), _SMALL),
    _on("Pod", pod_spec(nodeSelector=_PREMIUM), {"gpufleet.dev/min-gpu-memory-gib": "8"}),
    *(
        _of_four("Deployment", *words)
        for words in (
            ("serve", "m", "--tensor-parallel-size", "4"),
            ("serve", "m", "--tensor-parallel-size", "2", "--data-parallel-size", "2"),
            ("serve", "m", "-tp", "2", "-pp", "2"),
            ("serve", "m", "-tp", "$(SIZE)"),
            ("serve", "m", "-tp", "2", "--distributed-executor-backend", "ray"),
            ("serve", "m", "-tp", "1", "-tp", "4"),
            ("sh", "-c", "serve a -tp 2 & serve b -tp 2"),
            ("torchrun", "--nproc_per_node=gpu", "train.py"),
            ("torchrun", "--nproc_per_node=4", "train.py"),
            ("python", "train.py", "--nproc-per-node=2"),
        )
    ),
    # Over several pods a size counts for the group, and each pod holds a part of it.
    WITH_PODS["LeaderWorkerSet"](
        pod_spec(
            container(resources={**MEMORY, "limits": {GPU: "2"}}, args=["serve", "m", "-tp", "1"])
        )
    ),
)
"""Objects a person might take for wrong, and the check must not."""

OVERSIZED: tuple[Case, ...] = tuple(_oversized())
