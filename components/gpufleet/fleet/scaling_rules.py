"""The wrong signal, found before it scales: rules about HorizontalPodAutoscaler and ScaledObject.

Sources: kedacore/keda v2.20.2 `apis/keda/v1alpha1`, `pkg/scalers/prometheus_scaler.go`;
kubernetes/api v0.36 `autoscaling/v2/types.go`; NVIDIA/dcgm-exporter issues 216 and 430 (no
utilisation on MIG).
"""

from collections.abc import Iterator

from gpufleet.findings import Finding, error, info, warning
from gpufleet.spec.scaling import KedaScaling, ScaleOn, Scaling, Signal, WorkloadKind

DEFAULT_TARGETS = {Signal.KV_CACHE: 0.8, Signal.TENSOR_ACTIVE: 0.8, Signal.GPU_UTILISATION: 0.7}
"""Targets that hold for most: room for a burst while the next replica loads. Our own figures."""
OF_PODS = frozenset(Signal) - {Signal.QUEUE_LENGTH}
"""Signals that the pods themselves give: they are gone with the last pod."""
MAX_KEDA_NAME = 54
"""Longest name of a ScaledObject: KEDA's autoscaler is called `keda-hpa-<name>`, at most 63."""
NEEDED_SECRETS = {
    "basic": ("username", "password"),
    "bearer": ("bearerToken",),
    "tls": ("cert", "key"),
    "custom": ("customAuthHeader", "customAuthValue"),
}
"""What each way of authenticating reads (KEDA 2.20 documentation, Prometheus trigger)."""
_OF_GPU = (Signal.GPU_UTILISATION, Signal.TENSOR_ACTIVE)


def told_by_pods(on: ScaleOn) -> bool:
    """Whether a signal is gone with the last pod."""
    return on.signal in OF_PODS and on.query is None


def validate_scaling(scaling: Scaling, name: str) -> list[Finding]:
    """Everything that is wrong with how a workload is to scale; paths begin at the arguments."""
    findings = [f for index, on in enumerate(scaling.on) for f in _signal(scaling, on, index)]
    if scaling.min == 0:
        findings += _from_zero(scaling)
    if isinstance(scaling, KedaScaling):
        findings += _keda(scaling, name)
    return findings


def _signal(scaling: Scaling, on: ScaleOn, index: int) -> Iterator[Finding]:
    path = f"on[{index}]"
    word = on.signal.value
    if on.signal in _OF_GPU and scaling.workload is WorkloadKind.LLM_SERVING:
        yield warning(
            "scaling-signal-wrong",
            f"{path}.signal",
            f"{word} of a server that batches is high as soon as one sequence runs, and does not "
            "grow with the second: replicas are added that have nothing to do",
            "write requestsRunning with the batch a replica keeps up with (`gpufleet size` says "
            "it), or kvCache",
            found=word,
        )
    if on.signal is Signal.GPU_UTILISATION and scaling.mig:
        yield error(
            "scaling-signal-not-on-mig",
            f"{path}.signal",
            "GPU utilisation is 0 or missing on MIG slices: nothing would ever scale",
            "write tensorActive, or a signal of the server",
            found=word,
        )
    if (
        on.signal in (Signal.REQUESTS_RUNNING, Signal.REQUESTS_WAITING, Signal.KV_CACHE)
        and scaling.workload is WorkloadKind.BATCH
    ):
        yield warning(
            "scaling-signal-wrong",
            f"{path}.signal",
            f"{word} is a server's, and a batch has none",
            "write queueLength with the query of your queue",
            found=word,
        )
    if on.signal is Signal.QUEUE_LENGTH and on.query is None:
        yield error(
            "scaling-query-missing",
            f"{path}.query",
            "queueLength is of a queue that only you know",
            "write the PromQL that gives its length as one number",
        )
    if on.signal is Signal.QUEUE_LENGTH and not isinstance(scaling, KedaScaling):
        yield error(
            "scaling-needs-keda",
            f"{path}.signal",
            "a queue outside the pods is an external metric, and the API of these belongs to KEDA "
            "where it is installed",
            "use GpuScaledObject",
            found=word,
        )
    if on.target is None and on.signal not in DEFAULT_TARGETS:
        yield error(
            "scaling-target-missing",
            f"{path}.target",
            f"the highest {word} of one replica is not known",
            "measure it, or use the batch that `gpufleet size` computes for a replica",
        )
    if on.target is not None and on.signal in DEFAULT_TARGETS and on.target > 1:
        yield error(
            "scaling-target-out-of-range",
            f"{path}.target",
            f"{word} is between 0 and 1, and never reaches {on.target:g}",
            f"write {on.target / 100:g}" if on.target <= 100 else "write a part of 1",
            found=on.target,
            limit=1,
        )


def _from_zero(scaling: Scaling) -> Iterator[Finding]:
    if not isinstance(scaling, KedaScaling):
        yield error(
            "scaling-to-zero-without-keda",
            "min",
            "an autoscaler of Kubernetes keeps at least one replica: HPAScaleToZero is a feature "
            "gate that managed control planes do not set",
            "write `min: 1`, or use GpuScaledObject",
            found=0,
            limit=1,
        )
        return
    if all(told_by_pods(on) for on in scaling.on):
        signals = ", ".join(on.signal.value for on in scaling.on)
        yield error(
            "scaling-from-zero-by-pods",
            "on",
            f"{signals} is measured in the pods, and at 0 replicas there are none: nothing would "
            "ever start the first",
            "add queueLength with a query of the gateway or queue in front",
            found=signals,
        )


def name_too_long(name: str, place: str) -> Iterator[Finding]:
    """The finding about a workload whose name leaves KEDA no room for its own."""
    if len(name) > MAX_KEDA_NAME:
        yield error(
            "scaling-name-too-long",
            place,
            f"{len(name)} characters; KEDA puts keda-hpa- before it and 63 are allowed",
            f"at most {MAX_KEDA_NAME}",
            found=len(name),
            limit=MAX_KEDA_NAME,
        )


def _keda(scaling: KedaScaling, name: str) -> Iterator[Finding]:
    yield from name_too_long(name, "target.name")
    if scaling.authentication is not None and scaling.secrets:
        yield error(
            "scaling-two-authentications",
            "secrets",
            "one is named and another would be made",
            "remove `authentication` or `secrets`",
        )
    if bool(scaling.secrets) != (scaling.auth_modes is not None) and scaling.authentication is None:
        yield error(
            "scaling-authentication-incomplete",
            "authModes" if scaling.secrets else "secrets",
            "secrets and authModes belong together",
            "say how KEDA authenticates, and with what",
        )
    given = [one.parameter for one in scaling.secrets]
    missing = [one for one in NEEDED_SECRETS.get(scaling.auth_modes or "", ()) if one not in given]
    if missing and given:
        yield error(
            "scaling-authentication-incomplete",
            "secrets",
            f"authModes {scaling.auth_modes} needs {' and '.join(missing)}, and "
            f"{', '.join(given)} is given: KEDA would refuse every query",
            f"add {' and '.join(missing)}, or write the authModes that fits",
            found=given,
            missing=missing,
        )
    if scaling.fallback is None and scaling.min == 0:
        yield info(
            "scaling-fallback",
            "fallback",
            "while the signal cannot be read one replica runs, so that a broken query does not "
            "end the service",
        )
    if scaling.fallback is not None and scaling.fallback.replicas > scaling.max:
        yield error(
            "scaling-fallback-over-max",
            "fallback.replicas",
            f"{scaling.fallback.replicas} are more than max {scaling.max}",
            f"at most {scaling.max}",
            found=scaling.fallback.replicas,
            limit=scaling.max,
        )
