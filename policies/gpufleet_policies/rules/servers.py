"""Model servers that never serve: ports, probes, and kinds that end."""

import re
from collections.abc import Iterator

from gpufleet.cluster import Container, WorkloadFacts
from gpufleet.cluster.monitoring import DeclaredService
from gpufleet.findings import Finding, finding
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.model_memory import gib, model_weights
from gpufleet_policies.rules.waiting import fetches
from gpufleet_policies.rules.written import written_rule

_SOON_SECONDS = 120
"""Below it a server of a model of billions of parameters is hardly ever loaded: assumption."""

_FETCHED_BYTES = 125_000_000
"""Download rate: 1 Gbit/s. Assumption."""

_STARTED_SECONDS = 60
"""Minimum time from the last byte of the weights to the first answer. Assumption."""

_WITHOUT_WEIGHTS = re.compile(
    r"(^|/)(vllm/vllm-openai|huggingface/text-generation-inference|lmsysorg/sglang)(:|@|$)"
)
"""Images of the makers of servers, which hold no model."""

_TRITON_PATH = "/v2/health"
_TRITON_METRICS, _TRITON_GRPC = "8002", "8001"
"""Default ports of Triton (triton-inference-server/server, quickstart)."""


def _is_triton(container: Container) -> bool:
    return any(word.rsplit("/", 1)[-1] == "tritonserver" for word in container.words.found or ())


def _is_vllm(container: Container) -> bool:
    said = (container.name, container.image.found or "", *(container.words.found or ()))
    return any("vllm" in word for word in said)


@once
def _namespaces_with_vllm(context: RuleContext) -> frozenset[str]:
    """Namespaces with a Service of that name."""
    services = (one.locator for one in context.declared(DeclaredService))
    return frozenset(one.namespace for one in services if one.name == "vllm")


@written_rule("vllm-port-of-service")
def port_of_service(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """A Service of that name in the namespace, and service links that are on, their default. Not
    where the container sets VLLM_PORT itself."""
    if workload.locator.namespace not in _namespaces_with_vllm(context):
        return
    if not workload.template_checked_on_creation:
        return
    for group in workload.running_groups():
        if not group.service_links:
            continue
        for container in group.containers:
            if container.init or not _is_vllm(container) or "VLLM_PORT" in container.variables:
                continue
            yield finding(
                where=f"container {container.name} ({group.place}.enableServiceLinks)",
                found="runs vLLM next to the Service vllm: Kubernetes sets VLLM_PORT to "
                "tcp://ADDRESS:PORT",
            )


@written_rule("gpu-server-in-job")
def in_job(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """One container with GPUs that starts a server alone, and no deadline of Job or pod."""
    if workload.locator.kind != "Job" or workload.api_group != "batch" or workload.is_idle_now:
        return
    if not workload.deadline_seconds.is_absent:
        return
    for group, container in workload.gpu_containers:
        if container.init or not container.launch.serves or not group.deadline_seconds.is_absent:
            continue
        if sum(not one.init for one in group.containers) > 1 or fetches(container) is not None:
            continue
        yield finding(
            where=container.where,
            found="starts a model server in a Job without a deadline",
            money=held(context, workload, group),
        )


@written_rule("gpu-liveness-before-load")
def before_load(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Less than two minutes of delay and failures together, half of the wait of a readiness probe
    of the same path, or less than the download of weights that no volume keeps; and no startup
    probe. Triton loads models of any size: two minutes count where one is named."""
    for group, container in workload.gpu_containers:
        seconds = container.killed_after_seconds
        if container.init or seconds is None or group not in workload.running_groups():
            continue
        same = len(container.probed) == 2 and len(set(container.probed)) == 1
        planned = (container.ready_within_seconds or 0) if same else 0
        soon = (
            container.launch.serves
            and seconds < _SOON_SECONDS
            and not (
                _is_triton(container) and model_weights(workload.intent, context.catalogue) is None
            )
        )
        late = planned >= 2 * seconds
        fetched = None if soon or late else _fetched(context, workload, container, seconds)
        if not (soon or late or fetched):
            continue
        yield finding(
            where=f"container {container.name} ({container.place}.livenessProbe)",
            found=f"is stopped {seconds} s after its start if it does not answer",
            limit="to load a model takes minutes: the pod restarts again and again with its GPU"
            if soon
            else fetched
            or f"its readiness probe gives it {planned} s: a start that takes as long never ends",
            evidence={"seconds": seconds},
        )


def _fetched(
    context: RuleContext, workload: WorkloadFacts, container: Container, seconds: int
) -> str | None:
    """Reason why the weights are late; None where they may be in time, or are in a folder."""
    words = [word.rpartition("=")[2] for word in container.words.found or ()]
    if (
        container.keeps_files
        or not container.launch.serves
        or "HF_HUB_OFFLINE" in container.variables
    ):
        return None
    if any(word.startswith(("/", ".")) for word in words):
        return None
    if not _WITHOUT_WEIGHTS.search(container.image.found or ""):
        return None
    weights = model_weights(workload.intent, context.catalogue)
    if weights is None:
        return None
    needed = weights.bytes // _FETCHED_BYTES + _STARTED_SECONDS
    if seconds >= needed:
        return None
    return (
        f"no volume keeps the {gib(weights.bytes)} of weights, so that each start downloads them:  "
        f"{needed} s at 1 Gbit/s"
    )


@written_rule("triton-probe-of-other-port")
def other_port(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """tritonserver without options for ports, and a command line that is known."""
    for _, container in workload.gpu_containers:
        words = container.words.found or ()
        if not _is_triton(container):
            continue
        if any("$" in word or "-port" in word for word in words):
            continue
        ports = {
            container.ports.get(port, port)
            for path, port in container.probed
            if path.startswith(_TRITON_PATH)
        }
        for number in sorted(ports & {_TRITON_METRICS, _TRITON_GRPC}):
            other = "metrics" if number == _TRITON_METRICS else "gRPC"
            yield finding(
                where=container.where,
                found=f"probes {_TRITON_PATH} on port {number}",
                limit=f"Triton serves {other} there and its health on 8000: the probe always fails",
                evidence={"port": number},
            )
