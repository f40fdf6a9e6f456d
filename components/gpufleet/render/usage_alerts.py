"""Alerts on waste and waiting: GPUs that are held and idle, not held at all, or not to be had."""

from gpufleet.render.alert import Alert
from gpufleet.spec.monitoring import Monitoring

PEAK_MINUTES = 10
"""Shortest pause that counts as idle."""
TENSOR_PART, BUSY_PART = 0.02, 0.5
"""Busy above the second with tensor cores below the first: arithmetic that they do not do."""
MEMORY_PART = 0.25
"""Memory never used beyond this is too much GPU. Servers that reserve all of it never look so."""

_DEVICE = (
    "{{ $labels.workload_namespace }}/{{ $labels.workload_pod }} on {{ $labels.node }} "
    "(GPU {{ $labels.gpu }} {{ $labels.GPU_I_PROFILE }})"
)


def usage_alerts(monitoring: Monitoring) -> list[Alert]:
    """Alerts on use; those by tensor cores only where they are measured."""
    limits = monitoring.alerts
    found = [
        Alert(
            "GpuIdle",
            f'max_over_time(gpu:engine_active:ratio{{workload_pod!=""}}[{PEAK_MINUTES}m]) '
            f"< {limits.idle_percent / 100:g}",
            max(limits.idle_minutes - PEAK_MINUTES, 1),
            "warning",
            f"{_DEVICE} is held and does nothing",
            "Ask its owner, or let the queue end it. Notebooks: end them when idle, or give them "
            "a slice.",
        ),
        Alert(
            "GpuUnallocated",
            "(sum by (resource) (gpu:allocatable:count) - (sum by (resource) "
            "(gpu:requested:count) or sum by (resource) (gpu:allocatable:count) * 0)) "
            f"/ sum by (resource) (gpu:allocatable:count) > {limits.unallocated_percent / 100:g}",
            limits.unallocated_minutes,
            "warning",
            "{{ $value | humanizePercentage }} of {{ $labels.resource }} is held by no pod",
            "Lower the pool's smallest size, or cut the GPUs in the way that is asked for.",
        ),
        Alert(
            "GpuPodPending",
            "gpu:pending:count > 0",
            limits.pending_minutes,
            "warning",
            "{{ $labels.namespace }}/{{ $labels.pod }} waits for {{ $labels.resource }}",
            "kubectl describe pod says why: no node that offers the resource, a taint, a limit of "
            "the autoscaler, or a quota of the cloud.",
        ),
        Alert(
            "GpuMemoryOversized",
            f'max_over_time(gpu:memory_used:ratio{{workload_pod!=""}}[6h]) < {MEMORY_PART:g}',
            60,
            "info",
            f"{_DEVICE} never used {MEMORY_PART:.0%} of its memory",
            "`gpufleet size` names a smaller GPU, slice or share that it fits.",
        ),
    ]
    if monitoring.profiling:
        found.append(
            Alert(
                "GpuWithoutTensorCores",
                'avg_over_time(gpu:tensor_active:ratio{workload_pod!=""}[30m]) '
                f"< {TENSOR_PART:g} "
                f"and avg_over_time(gpu:engine_active:ratio[30m]) > {BUSY_PART:g}",
                60,
                "info",
                f"{_DEVICE} is busy without its tensor cores",
                "Use bf16 or TF32, and batches; or take a cheaper GPU.",
            )
        )
    return found
