"""Model servers that never serve: shared memory, ports, probes, and kinds that end."""

import re
from collections.abc import Iterator

from gpufleet.cluster import Container, PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.readers.options import read_options, split_words
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.model_memory import gib, model_weights
from gpufleet_policies.rules.purpose import is_inference
from gpufleet_policies.rules.waiting import fetches
from gpufleet_policies.rules.written import written_rule

_ROLLED_OUT = frozenset(names("kind that is rolled out"))
"""Kinds that replace pods one by one, and wait for the new ones to be ready."""


@written_rule("gpu-processes-without-shared-memory")
def without_shared_memory(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Parallel sizes or processes above one, and neither a volume at /dev/shm nor hostIPC; several
    GPUs of vLLM's image, where its options are not known."""
    for group, container in workload.gpu_containers:
        if container.shares_memory or group.host_ipc or not _is_listed(container):
            continue
        opened, held_gpus = container.launch.gpus, group.pod_gpus(GPU).found or 0
        if opened.is_known and opened.value > 1:
            yield without_shared_memory.say(
                container=container, opened=opened, provenance=opened.provenance
            )
        elif opened.is_unknown and held_gpus > 1 and "vllm-openai" in (container.image.found or ""):
            yield without_shared_memory.say(
                case="options-unknown", container=container, held_gpus=held_gpus
            )


def _is_listed(container: Container) -> bool:
    """Whether its mounts are known by the object; operators add mounts to their own kinds. Those of
    the vLLM stack's chart follow from its values."""
    listed = container.resources_place or container.place.startswith("servingEngineSpec.")
    return bool(listed) and container.place.endswith("]")


@written_rule("gpu-server-without-readiness")
def without_readiness(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Kinds with rollouts that declare the mode inference, or name the port they serve on.

    A readiness or startup probe is enough.
    """
    if workload.locator.kind not in _ROLLED_OUT or not is_inference(workload):
        return
    mode = workload.intent.mode
    if mode.is_known and mode.value != "inference":
        return
    led = any(".leaderTemplate" in group.place for group in workload.pod_groups)
    for group, container in workload.gpu_containers:
        if container.init or container.probes & {"readiness", "startup"}:
            continue
        if not mode.is_known and not container.listens and not container.launch.serves:
            continue  # it may take its work from a queue
        if group not in workload.running_groups() or says(container, "ollama"):
            continue  # Ollama answers immediately, and loads a model when a request names it
        if ".workerTemplate" in group.place and led:
            continue  # its leader serves
        yield without_readiness.say(container=container, probes=sorted(container.probes))


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


def has_more(group: PodGroup) -> bool:
    """Whether labels or annotations of pods let a program add a container, which has ports."""
    said = {**group.labels, **group.annotations}
    return any(
        said.get(key, "false") not in ("false", "disabled")
        for key in names("key that adds a sidecar")
    )


def _is_triton(container: Container) -> bool:
    return any(word.rsplit("/", 1)[-1] == "tritonserver" for word in container.words.found or ())


def says(container: Container, engine: str) -> bool:
    """Whether its name, image or command line names an engine, in small letters."""
    said = (container.name, container.image.found or "", *(container.words.found or ()))
    return any(engine in word for word in said)


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
        yield in_job.say(container.where, money=held(context, workload, group))


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
        any_size = (
            _is_triton(container) and model_weights(workload.intent, context.catalogue) is None
        )
        soon = container.launch.serves and seconds < _SOON_SECONDS and not any_size
        late = planned >= 2 * seconds
        fetched = None if soon or late else _fetched(context, workload, container, seconds)
        if not (soon or late or fetched):
            continue
        yield before_load.say(
            container=container,
            seconds=seconds,
            limit="to load a model takes minutes: the pod restarts again and again with its GPU"
            if soon
            else fetched
            or f"its readiness probe gives it {planned} s: a start that takes as long never ends",
        )


def _fetched(
    context: RuleContext, workload: WorkloadFacts, container: Container, seconds: int
) -> str | None:
    """Reason why the weights are late; None where they may be in time, or are in a folder."""
    words = [word.rpartition("=")[2] for word in container.words.found or ()]
    kept = container.keeps_files or "HF_HUB_OFFLINE" in container.variables
    if kept or not container.launch.serves or any(one.startswith(("/", ".")) for one in words):
        return None
    weights = model_weights(workload.intent, context.catalogue)
    if weights is None or not _WITHOUT_WEIGHTS.search(container.image.found or ""):
        return None
    needed = weights.bytes // _FETCHED_BYTES + _STARTED_SECONDS
    if seconds >= needed:
        return None
    return (
        f"no volume keeps the {gib(weights.bytes)} of weights, so that each start downloads them:  "
        f"{needed} s at 1 Gbit/s"
    )


def _not_served(group: PodGroup, container: Container) -> Iterator[Finding]:
    """A probe on another port than vLLM's (vllm/entrypoints/openai/cli_args.py: 8000)."""
    words = split_words(container, container.variables)
    port = read_options(words).single(("--port",))
    if port is None and "vllm-openai" in (container.image.found or ""):
        port = "8000"
    others = sum(not one.init or one.restartable for one in group.containers) > 1 or has_more(group)
    if port is None or others or any("$" in word or word in ("--uds", "&") for word in words):
        return
    for _, probe in container.probed:
        number = container.ports.get(probe, probe)
        if number.isdecimal() and number != port:
            yield other_port.say(container.where, case="vllm", number=number, port=port)
            return


@written_rule("triton-probe-of-other-port")
def other_port(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """tritonserver without options for ports; vLLM alone in its pod, with its port or 8000. The
    command line is known."""
    for group, container in workload.gpu_containers:
        words = container.words.found or ()
        if says(container, "vllm") and container.launch.serves and not container.init:
            yield from _not_served(group, container)
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
            yield other_port.say(container.where, number=number, other=other)
