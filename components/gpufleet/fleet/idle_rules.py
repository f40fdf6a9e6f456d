"""What may go to zero when idle, and what could never be seen to be idle.

Sources: kedacore/keda v2.20.2 `pkg/scaling/executor/scale_scaledobjects.go` (what scales to zero
and back); NVIDIA/dcgm-exporter `internal/pkg/transformation/kubernetes.go` (which pod a series of a
device names).
"""

from collections.abc import Iterable, Iterator, Sequence

from gpufleet.findings import Finding, error, info
from gpufleet.fleet.model import Pool
from gpufleet.fleet.scaling_rules import name_too_long
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.idle import IdleNotebook, IdlePolicy
from gpufleet.spec.monitoring import Monitoring, MonitoringBackend
from gpufleet.spec.pool import Intent


def stoppable(pools: Iterable[Pool]) -> Iterator[tuple[Pool, IdlePolicy, IdleNotebook]]:
    """Notebooks that may be stopped, each with its pool and what is asked of it."""
    for pool in pools:
        if (idle := pool.spec.idle) is not None:
            for one in idle.stopped:
                yield pool, idle, one


def validate_idle(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """Everything that is wrong with what stops when idle."""
    seen: dict[tuple[str, str], str] = {}
    found: list[Finding] = []
    for pool in pools:
        if (idle := pool.spec.idle) is not None:
            path = f"{pool.path}.idle"
            found += _needs(spec, path)
            found += _pool(spec.monitoring, pool, path)
            found += _notebooks(idle, path, seen)
    return found


def _needs(spec: FleetSpec, path: str) -> Iterator[Finding]:
    if spec.addons.keda.enabled is not True:
        yield error(
            "idle-needs-keda",
            path,
            "KEDA scales notebooks to zero, and the fleet has none",
            "write `addons: {keda: {enabled: true}}`, with `ownership: existing` where KEDA is in "
            "the cluster already",
        )
    monitoring = spec.monitoring
    if monitoring is None or monitoring.backend is MonitoringBackend.NONE:
        yield error(
            "idle-needs-monitoring",
            path,
            "idle is what the recorded activity of the GPUs shows, and nothing records it",
            "write `monitoring: {queryUrl: ...}`",
        )
    elif monitoring.query_url is None:
        yield error(
            "idle-needs-monitoring",
            "monitoring.queryUrl",
            "KEDA must know where the activity of the GPUs is asked",
            "write the address: http://prometheus.monitoring.svc:9090",
        )


def _pool(monitoring: Monitoring | None, pool: Pool, path: str) -> Iterator[Finding]:
    if pool.spec.intent is not Intent.INTERACTIVE:
        yield error(
            "idle-not-interactive",
            path,
            f"nothing would start what a pool for {pool.spec.intent.value} runs again: only a "
            "person extends a lease",
            "write `intent: interactive`, or scale services with GpuScaledObject",
            found=pool.spec.intent.value,
        )
    if (why := _unmeasured(monitoring, pool)) is not None:
        yield error(
            "idle-not-measured",
            path,
            f"{why}: a notebook on {pool.name} would never count as idle",
            "give notebooks whole GPUs or MIG slices of the device plugin, with "
            "`monitoring: {profiling: true}`",
        )
    if pool.spec.nodes.min == pool.spec.nodes.max:
        yield info(
            "idle-frees-no-node",
            f"{pool.path}.nodes.min",
            f"{pool.name} always has {pool.spec.nodes.max} nodes: what stops leaves room for "
            "others, and the nodes are paid all the same",
            "lower `nodes.min`",
            found=pool.spec.nodes.min,
        )


def _unmeasured(monitoring: Monitoring | None, pool: Pool) -> str | None:
    """Why the activity of a notebook's part is not known; None where it is."""
    partition = pool.partition
    if pool.gpu.vendor != "nvidia":
        return f"DCGM measures NVIDIA GPUs, and not {pool.gpu.key}"
    if partition.dra is not None:
        return "the exporter, as it is installed, names no pod of a claimed device"
    if any(share.replicas > 1 for share in partition.shares):
        return "the exporter measures the GPU, and not what each pod that shares it does"
    profiled = monitoring is None or monitoring.profiling
    if not profiled and any(gpu.mig_enabled for gpu in partition.gpus):
        return "without profiling MIG slices have no activity"
    return None


def _notebooks(idle: IdlePolicy, path: str, seen: dict[tuple[str, str], str]) -> Iterator[Finding]:
    for index, one in enumerate(idle.notebooks):
        place = f"{path}.notebooks[{index}]"
        key = one.namespace, one.name
        if key in seen:
            yield error(
                "idle-notebook-twice",
                place,
                f"{one.namespace}/{one.name} is at {seen[key]} too, and one object scales it",
                "remove one of the two",
            )
        seen.setdefault(key, place)
        yield from name_too_long(one.name, f"{place}.name")
    names = {one.name for one in idle.notebooks}
    for index, name in enumerate(idle.exempt):
        if name not in names:
            yield error(
                "idle-exempt-unknown",
                f"{path}.exempt[{index}]",
                f"{name} is none of the notebooks: nothing is exempted by it",
                "write the name of a notebook, or remove it",
                found=name,
                allowed=sorted(names),
            )
