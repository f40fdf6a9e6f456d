"""A signal against what its target is."""

from gpufleet.cluster.scaling import AutoscalerTarget
from gpufleet.contract.programs.autoscaler_signals import is_missing_on_mig, is_utilisation
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.validation import CheckReport

HOST_SIGNALS = ("cpu", "memory")
"""Metrics of metrics-server."""


def validate_signal(
    text: str, where: str, target: AutoscalerTarget | None, report: CheckReport
) -> None:
    """A metric's name or a query, against what the target is."""
    if target is not None and target.sliced and is_missing_on_mig(text):
        report.add(
            "autoscaler-utilisation-on-mig",
            where,
            "GPU utilisation is 0 or missing on MIG slices, and the target runs on slices",
            "scale by a signal of the server, or by DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
            found=shown(text),
        )
    elif is_utilisation(text) and (target is None or target.batches):
        what = "the target is a server that batches" if target is not None else "if it is a server"
        report.add(
            "autoscaler-utilisation-of-server",
            where,
            f"GPU utilisation shows activity, not load ({what}): it is high with the "
            "first request and does not grow with the second",
            "scale by vllm:num_requests_running or the server's own queue",
            found=shown(text),
        )


def validate_cpu(where: str, names: list[str], report: CheckReport, *, never: bool) -> None:
    """A target with GPUs that nothing but its host's load scales.

    `never`: not even that does, because the use of CPU is a part of the request
    (pkg/controller/podautoscaler/replica_calculator.go of Kubernetes)."""
    found = " and ".join(sorted(set(names))) or "cpu, the default"
    why = "a server that waits for its GPU needs no CPU"
    if never:
        why = "a container without a CPU request has no use of it, and the autoscaler never scales"
    report.add(
        "autoscaler-cpu-of-gpu-workload",
        where,
        f"the target requests GPUs and is scaled by {found}: {why}",
        "scale by requests running or waiting, or by the length of its queue",
        found=sorted(set(names)),
    )
