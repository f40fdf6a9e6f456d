"""The wrong signal, found before it scales: rules about KEDA's ScaledObject.

Sources: kedacore/keda v2.20.2 `apis/keda/v1alpha1`, `pkg/scalers/prometheus_scaler.go`;
kubernetes/api v0.36 `autoscaling/v2/types.go`; NVIDIA/dcgm-exporter issues 216 and 430 (no
utilisation on MIG).
"""

from collections.abc import Iterator

from gpufleet.findings import Finding, findings_in
from gpufleet.spec.scaling import KedaScaling, ScaleOn, Signal, WorkloadKind

_finding = findings_in(__file__)

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
_OF_GPU = (Signal.GPU_UTILISATION, Signal.TENSOR_ACTIVE)


def told_by_pods(on: ScaleOn) -> bool:
    """Whether a signal disappears with the last pod."""
    return on.signal in OF_PODS and on.query is None


def validate_scaling(scaling: KedaScaling, name: str) -> list[Finding]:
    """Everything that is wrong with how a workload is to scale; paths begin at the arguments."""
    findings = [f for index, on in enumerate(scaling.on) for f in _signal(scaling, on, index)]
    if scaling.min == 0 and all(told_by_pods(on) for on in scaling.on):
        signals = ", ".join(on.signal.value for on in scaling.on)
        findings.append(_finding("scaling-from-zero-by-pods", found=signals))
    return [*findings, *_keda(scaling, name)]


def _signal(scaling: KedaScaling, on: ScaleOn, index: int) -> Iterator[Finding]:
    path = f"on[{index}]"
    word = on.signal.value
    if on.signal in _OF_GPU and scaling.workload is WorkloadKind.LLM_SERVING:
        yield _finding("scaling-signal-wrong", path, found=word)
    if on.signal is Signal.GPU_UTILISATION and scaling.mig:
        yield _finding("scaling-signal-not-on-mig", path, found=word)
    if (
        on.signal in (Signal.REQUESTS_RUNNING, Signal.REQUESTS_WAITING, Signal.KV_CACHE)
        and scaling.workload is WorkloadKind.BATCH
    ):
        yield _finding("scaling-signal-wrong/batch", path, found=word)
    if on.signal is Signal.QUEUE_LENGTH and on.query is None:
        yield _finding("scaling-query-missing", path)
    if on.thresholds is not None:
        if on.signal not in _OF_GPU or on.query is not None:
            yield _finding("scaling-thresholds-signal", path, found=word)
        if on.target is not None:
            yield _finding("scaling-thresholds-and-target", path, found=on.target)
    elif on.target is None and on.signal not in DEFAULT_TARGETS:
        yield _finding("scaling-target-missing", path, word=word)
    if on.target is not None and on.signal in DEFAULT_TARGETS and on.target > 1:
        yield _finding(
            "scaling-target-out-of-range",
            path,
            fix=(f"write {on.target / 100:g}" if on.target <= 100 else "write a part of 1"),
            word=word,
            target=f"{on.target:g}",
            found=on.target,
            limit=1,
        )


def name_too_long(name: str, place: str) -> Iterator[Finding]:
    """The finding about a workload whose name leaves no room for KEDA's prefix."""
    if len(name) > MAX_KEDA_NAME:
        yield _finding("scaling-name-too-long", place, found=len(name), limit=MAX_KEDA_NAME)


def _keda(scaling: KedaScaling, name: str) -> Iterator[Finding]:
    yield from name_too_long(name, "target.name")
    if scaling.authentication is not None and scaling.secrets:
        yield _finding("scaling-two-authentications")
    if bool(scaling.secrets) != (scaling.auth_modes is not None) and scaling.authentication is None:
        yield _finding(
            "scaling-authentication-incomplete", "authModes" if scaling.secrets else "secrets"
        )
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
    if scaling.fallback is None and scaling.min == 0:
        yield _finding("scaling-fallback")
    if scaling.fallback is not None and scaling.fallback.replicas > scaling.max:
        yield _finding(
            "scaling-fallback-over-max", found=scaling.fallback.replicas, limit=scaling.max
        )
