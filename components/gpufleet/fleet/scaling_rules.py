"""The wrong signal, found before it scales: rules about KEDA's ScaledObject.

Sources: kedacore/keda v2.20.2 `apis/keda/v1alpha1`, `pkg/scalers/prometheus_scaler.go`;
kubernetes/api v0.36 `autoscaling/v2/types.go`; NVIDIA/dcgm-exporter issues 216 and 430 (no
utilisation on MIG).
"""

from collections.abc import Iterable, Iterator, Sequence

from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.idle import IdleNotebook, IdlePolicy
from gpufleet.spec.monitoring import Monitoring
from gpufleet.spec.scaling import KedaScaling, ScaleOn, Signal

_finding, _rules = findings_in(__file__), rules_in(__file__)

DEFAULT_TARGETS = {Signal.KV_CACHE: 0.8, Signal.TENSOR_ACTIVE: 0.8, Signal.GPU_UTILISATION: 0.7}
"""Targets for most workloads, with room for a burst while the next replica loads. Ours."""
OF_PODS = frozenset(Signal) - {Signal.QUEUE_LENGTH}
"""Signals from the pods themselves: they disappear with the last pod."""
MAX_KEDA_NAME = 54
"""Longest name of a ScaledObject: KEDA's autoscaler is called `keda-hpa-<name>`, at most 63."""
NEEDED_SECRETS = {
    "basic": ("username", "password"),
    "bearer": ("bearerToken",),
    "tls": ("cert", "key"),
    "custom": ("customAuthHeader", "customAuthValue"),
}
"""Secrets that each authentication mode reads (KEDA 2.20 documentation, Prometheus trigger)."""


def told_by_pods(on: ScaleOn) -> bool:
    """Whether a signal disappears with the last pod."""
    return on.signal in OF_PODS and on.query is None


def validate_scaling(scaling: KedaScaling, name: str) -> list[Finding]:
    """Everything that is wrong with how a workload is to scale; paths begin at the arguments."""
    findings = [
        f for index, on in enumerate(scaling.on) for f in _range(on, f"scaling.on[{index}]")
    ]
    if scaling.min == 0 and all(told_by_pods(on) for on in scaling.on):
        signals = ", ".join(on.signal.value for on in scaling.on)
        findings.append(_finding("scaling-from-zero-by-pods", found=signals))
    shown = _rules("scaling", scaling=scaling, defaults=list(DEFAULT_TARGETS))
    return [*findings, *shown, *_keda(scaling, name)]


def _range(on: ScaleOn, path: str) -> Iterator[Finding]:
    if on.target is not None and on.signal in DEFAULT_TARGETS and on.target > 1:
        yield _finding(
            "scaling-target-out-of-range",
            path,
            fix=(f"write {on.target / 100:g}" if on.target <= 100 else "write a part of 1"),
            word=on.signal.value,
            target=f"{on.target:g}",
            found=on.target,
            limit=1,
        )


def name_too_long(name: str, place: str) -> Iterator[Finding]:
    """The finding about a workload whose name leaves no room for KEDA's prefix."""
    if len(name) > MAX_KEDA_NAME:
        yield _finding("scaling-name-too-long", place, found=len(name), limit=MAX_KEDA_NAME)


def _keda(scaling: KedaScaling, name: str) -> Iterator[Finding]:
    yield from name_too_long(name, "scaling.target.name")
    if bool(scaling.secrets) != (scaling.auth_modes is not None) and scaling.authentication is None:
        lacking = "authModes" if scaling.secrets else "secrets"
        yield _finding("scaling-authentication-incomplete", f"scaling.{lacking}")
    given = [one.parameter for one in scaling.secrets]
    missing = [one for one in NEEDED_SECRETS.get(scaling.auth_modes or "", ()) if one not in given]
    if missing and given:
        yield _finding(
            "scaling-authentication-incomplete/mode",
            auth_modes=scaling.auth_modes,
            lacking=" and ".join(missing),
            found=given,
            missing=missing,
        )


# Workloads that may scale to zero when idle, and those whose idle time cannot be measured.
#
# Sources: kedacore/keda v2.20.2 `pkg/scaling/executor/scale_scaledobjects.go` (scaling to zero and
# back); NVIDIA/dcgm-exporter `internal/pkg/transformation/kubernetes.go` (the pod in a series of a
# device).


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
