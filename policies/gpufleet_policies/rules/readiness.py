"""Programs that hold GPUs and lack shared memory or a readiness probe."""

from collections.abc import Iterator

from gpufleet.cluster import Container, WorkloadFacts
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.purpose import is_inference
from gpufleet_policies.rules.written import written_rule

_ROLLED_OUT = frozenset(
    {"Deployment", "StatefulSet", "Rollout", "DeploymentConfig", "LeaderWorkerSet"}
)
"""Kinds that replace pods one by one, and wait for the new ones to be ready."""


@written_rule("gpu-processes-without-shared-memory")
def without_shared_memory(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Parallel sizes or processes above one, and neither a volume at /dev/shm nor hostIPC."""
    for group, container in workload.gpu_containers:
        opened = container.launch.gpus
        if not opened.is_known or opened.value < 2:
            continue
        if container.shares_memory or group.host_ipc or not _is_listed(container):
            continue
        yield without_shared_memory.say(
            container=container, opened=opened, provenance=opened.provenance
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
        if group not in workload.running_groups() or _loads_on_request(container):
            continue
        if ".workerTemplate" in group.place and led:
            continue  # its leader serves
        yield without_readiness.say(container=container, probes=sorted(container.probes))


def _loads_on_request(container: Container) -> bool:
    """Ollama answers immediately, and loads a model when a request names it."""
    said = (container.image.found or "", *(container.words.found or ()))
    return any("ollama" in word for word in said)
