"""Workloads that may scale to zero when idle, and those whose idle time cannot be measured.

Sources: kedacore/keda v2.20.2 `pkg/scaling/executor/scale_scaledobjects.go` (scaling to zero and
back); NVIDIA/dcgm-exporter `internal/pkg/transformation/kubernetes.go` (the pod in a series of a
device).
"""

from collections.abc import Iterable, Iterator, Sequence

from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.scaling_rules import name_too_long
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.idle import IdleNotebook, IdlePolicy
from gpufleet.spec.monitoring import Monitoring

_finding, _rules = findings_in(__file__), rules_in(__file__)


def stoppable(pools: Iterable[Pool]) -> Iterator[tuple[Pool, IdlePolicy, IdleNotebook]]:
    """Notebooks that may be stopped, each with its pool and its policy."""
    for pool in pools:
        if (idle := pool.spec.idle) is not None:
            for one in idle.stopped:
                yield pool, idle, one


def validate_idle(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """Errors in the settings for stopping idle workloads."""
    seen: dict[tuple[str, str], str] = {}
    found: list[Finding] = []
    for pool in pools:
        if (idle := pool.spec.idle) is not None:
            path = f"{pool.path}.idle"
            found += _rules("idle", pool.path, spec=spec, pool=pool)
            if (why := _unmeasured(spec.monitoring, pool)) is not None:
                found.append(_finding("idle-not-measured", path, why=why, pool=pool.name))
            found += _notebooks(idle, path, seen)
    return found


def _unmeasured(monitoring: Monitoring | None, pool: Pool) -> str | None:
    """Why the activity of a notebook's devices is not known; None if it is."""
    partition = pool.partition
    if pool.gpu.vendor != "nvidia":
        return f"DCGM measures NVIDIA GPUs, not {pool.gpu.key}"
    if partition.dra is not None:
        return "the exporter, as installed, does not report the pod of a claimed device"
    if any(share.replicas > 1 for share in partition.shares):
        return "the exporter measures the GPU, not each pod that shares it"
    profiled = monitoring is None or monitoring.profiling
    if not profiled and any(gpu.mig_enabled for gpu in partition.gpus):
        return "without profiling MIG slices have no activity"
    return None


def _notebooks(idle: IdlePolicy, path: str, seen: dict[tuple[str, str], str]) -> Iterator[Finding]:
    for index, one in enumerate(idle.notebooks):
        place = f"{path}.notebooks[{index}]"
        key = one.namespace, one.name
        if key in seen:
            yield _finding("idle-notebook-twice", place, found="/".join(key), first=seen[key])
        seen.setdefault(key, place)
        yield from name_too_long(one.name, f"{place}.name")
    names = {one.name for one in idle.notebooks}
    for index, name in enumerate(idle.exempt):
        if name not in names:
            place = f"{path}.exempt[{index}]"
            yield _finding("idle-exempt-unknown", place, found=name, allowed=sorted(names))
