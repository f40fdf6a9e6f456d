"""GPUs in the wrong pods: control processes, programs that use none, devices past the scheduler."""

import re
from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import Container, PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money
from gpufleet.findings.remediation import remove
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.rules.gpu_requests import FRACTIONS, written_amounts
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.placement import GPU_LABELS, POOL_LABEL, candidates
from gpufleet_policies.rules.waiting import fetches, waits_for_ever
from gpufleet_policies.rules.written import written_rule

_HELPERS = names("sidecar")
"""Names of sidecar containers, which never compute on a GPU."""

_GPU_NODE_LABELS = (*GPU_LABELS, *names("label of a GPU besides its name"))
"""Labels that only GPU nodes carry."""


@written_rule("gpu-on-control-process")
def on_control(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Mandatory only for a Ray head with num-gpus 0. A single head with GPUs is allowed."""
    holders = [g for g in workload.pod_groups if g.gpu_resources]
    for group in holders:
        if workload.ray is not None and group.name == "head":
            yield from _head(context, workload, group, others=len(holders) > 1)
        elif group.name == "Launcher" and len(holders) > 1:
            yield on_control.say(group=group, money=held(context, workload, group))
        yield from _alongside(context, workload, group)


def _head(
    context: RuleContext, workload: WorkloadFacts, group: PodGroup, *, others: bool
) -> Iterator[Finding]:
    ray = workload.ray
    assert ray is not None
    declared = ray.head_gpu_count
    if declared.is_known and declared.value.strip("\"'") in ("0", "0.0"):
        yield on_control.say(
            case="ray-counts-none",
            group=group,
            declared=declared,
            money=held(context, workload, group),
            remediation=tuple(
                remove(*place)
                for one in group.containers
                for place in written_amounts(one, one.gpu_resources)
            ),
        )
    elif (
        others
        and not declared.is_unknown
        and any(
            (one.minimum.found or 0) < (one.maximum.found or 0)
            for one in workload.scaling
            if one.minimum.is_known
        )
    ):
        # In a cluster of fixed size the head is one node of several, as vLLM over Ray needs it.
        yield on_control.say(case="head", group=group)


def _alongside(context: RuleContext, workload: WorkloadFacts, group: PodGroup) -> Iterator[Finding]:
    """Sidecars, and init containers that make the pod hold more GPUs than it computes on."""
    holders = [c for c in group.containers if GPU in c.gpu_resources]
    main = [c for c in holders if not c.init]
    counts = {id(c): a.value.number for c in holders if (a := c.gpus(GPU)).is_known}
    if not main or len(counts) < len(holders):
        return
    computing = [c for c in main if not _is_helper(c)]
    together = sum(counts[id(c)] for c in computing)
    total = group.pod_gpus(GPU)
    for container in holders:
        extra = counts[id(container)]
        if container.init and not container.restartable:
            extra -= together
        elif not container.restartable and (not _is_helper(container) or not computing):
            continue
        if extra <= 0 or not total.is_known or total.value < 1:
            continue
        what = "a sidecar" if not container.init or container.restartable else "an init container"
        yield on_control.say(
            container.where,
            case="sidecar",
            what=what,
            requested=counts[id(container)],
            container=container,
            gpus=int(counts[id(container)]),
            money=held(context, workload, group, Fraction(extra) / total.value),
        )


def _is_helper(container: Container) -> bool:
    image = (container.image.found or "").rsplit("/", 1)[-1].partition(":")[0]
    return any(name in _HELPERS or name.endswith("-exporter") for name in (container.name, image))


@written_rule("non-gpu-pod-on-gpu-pool")
def on_gpu_pool(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Refuses pods that labels pin to GPU nodes, warns about a toleration of everything.

    Excluded: DaemonSets, operators' namespaces, claims, and runtimes that assign GPUs otherwise.
    """
    if workload.node_agent or workload.uses_gpus or workload.uses_claims or workload.is_idle_now:
        return
    if workload.may_say(*FRACTIONS):
        return
    for group in workload.running_groups():
        listed = group.containers_known and all(c.resources_known for c in group.containers)
        if not listed or not group.pods.is_known or not group.runtime_class.is_absent:
            continue
        if _has_devices(group):
            continue
        pin = next((key for key in group.node_labels if _is_pin(context, group, key)), None)
        if pin is not None and group.promised_gpus:
            yield on_gpu_pool.say(group.place, pin=pin)
            continue
        if pin is not None:
            yield on_gpu_pool.say(
                group.place,
                case="label",
                pin=pin,
                alternative=on_gpu_pool.instead(label=pin),
                money=_node(context, group),
                remediation=(remove(group.place, "nodeSelector", pin),)
                if pin in group.selector
                else (),
            )
            continue
        own = group.tolerations.found or ()
        everything = any(one.tolerates_everything for one in own)
        served = workload.locator.kind in ("Deployment", "StatefulSet")
        if everything or (served and any(one.key == GPU for one in own)):
            yield on_gpu_pool.say(
                case="taint",
                group=group,
                taints="every taint" if everything else GPU,
                tolerates="everything" if everything else GPU,
                alternative="name the taints it must tolerate"
                if everything
                else f"remove the toleration, or write `limits: {{{GPU}: 1}}`",
            )


def _node(context: RuleContext, group: PodGroup) -> Money | None:
    """One node of the cheapest pool it is sent to."""
    if context.fleet is None:
        return None
    pools = [pool for pool in candidates(context, group) if pool.hourly_micro_usd.is_known]
    if not pools:
        return None
    pool = min(pools, key=lambda p: (p.hourly_micro_usd.value, p.name))
    price = Fraction(pool.hourly_micro_usd.value)
    gpus = pool.gpus_per_node * pool.gpu_fraction
    return Money(AmountKind.STANDING, price, Fraction(gpus), f"one node of pool {pool.name}")


def _has_devices(group: PodGroup) -> bool:
    """Whether it requests any device at all: other accelerators have nodes with GPUs as well."""
    plain = ("cpu", "memory", "ephemeral-storage")
    return any(
        name not in plain and not name.startswith("hugepages-")
        for container in group.containers
        for name in (*container.limits, *container.requests)
    )


def _is_pin(context: RuleContext, group: PodGroup, label: str) -> bool:
    values = group.node_labels[label]
    if label in _GPU_NODE_LABELS:
        return "false" not in values
    if label != POOL_LABEL or context.fleet is None:
        return False
    return any(pool.name in values for pool in context.fleet.pools)


_NO_DEVICES = frozenset({"", "none", "void"})
"""Values of NVIDIA_VISIBLE_DEVICES that choose no GPU (NVIDIA Container Toolkit)."""

_CDI = "cdi.k8s.io/"
"""Prefix of annotations by which a container runtime adds devices."""

_NEEDS_GPU = re.compile(
    r"^nvcr\.io/nim/(?!.*(?:-cpu|nemo-retriever))|(?:^|/)(?:vllm-openai|text-generation-inference)"
    r"(?:[:@](?!.*(?:cpu|rocm|intel|gaudi|neuron|tpu|xpu))|$)"
)
"""Images of servers with a CUDA build alone (their documentation; builds for other devices have
the device in their tag)."""

_COMPLETE = frozenset({"LeaderWorkerSet", "JobSet", "Rollout"})
"""Kinds of others whose controllers add no resources to the containers."""

_SERVER = re.compile(r"\b(?:vllm\.entrypoints\.|vllm serve\b|sglang\.launch_server\b)")
_CLIENT = re.compile(r"\bvllm bench serve\b|\bbenchmark_serving\b")  # only sends requests
_RUNTIMES = frozenset({"nvidia", "nvidia-cdi", "nvidia-legacy"})
"""Runtime classes that put GPUs into a container (NVIDIA GPU Operator, k3s)."""

_ACCELERATORS = names("beginning of a resource of accelerators")
"""Beginnings of resources of accelerators and of parts of them."""


@written_rule("gpu-devices-overridden")
def overridden(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """NVIDIA_VISIBLE_DEVICES in a container with GPUs: by runtime and device list strategy it adds
    to the assigned GPUs, replaces them or is replaced. CUDA_VISIBLE_DEVICES only numbers them."""
    for _, container in workload.gpu_containers:
        value = container.variables.get("NVIDIA_VISIBLE_DEVICES")
        if value is None or container.claimed or workload.node_agent:
            continue
        if value.strip().lower() in _NO_DEVICES:
            continue
        yield overridden.say(container=container, value=value)


@written_rule("gpu-program-without-gpu")
def without_gpu(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Images with a CUDA build alone, CUDA_VISIBLE_DEVICES with a number, and a value of
    NVIDIA_VISIBLE_DEVICES that chooses GPUs (NVIDIA/k8s-device-plugin#61). Excluded: containers
    that request another accelerator, and containers that another object completes."""
    complete = workload.template_checked_on_creation or workload.locator.kind in _COMPLETE
    if not complete or workload.node_agent:
        return
    for group in workload.running_groups():
        if not group.containers_known or group.claims or _asks_for_any(group):
            continue
        for container in group.containers:
            sends = _CLIENT.search(" ".join(container.words.found or ()))
            other = container.init or sends or container.command.is_unknown
            why = None if other or fetches(container) else _why(group, container)
            if why is None:
                continue
            yield without_gpu.say(
                container=container,
                why=why,
                alternative="use an image with a CPU build, such as vllm/vllm-openai-cpu"
                if "cpu" in " ".join(container.words.found or ()).split()
                else f"write `limits: {{{GPU}: 1}}`",
            )


def _asks_for_any(group: PodGroup) -> bool:
    return any(
        not c.resources_known
        or any(name.startswith(_ACCELERATORS) for name in {**c.limits, **c.requests})
        for c in group.containers
    )


def _why(group: PodGroup, container: Container) -> str | None:
    chosen = container.variables.get("CUDA_VISIBLE_DEVICES", "")
    if re.fullmatch(r"\d+(?:,\d+)*", chosen):
        return f"uses GPU {chosen} of its node (CUDA_VISIBLE_DEVICES)"
    taken = container.variables.get("NVIDIA_VISIBLE_DEVICES", "")
    if taken.strip().lower() not in _NO_DEVICES:
        return f"takes GPUs of its node by NVIDIA_VISIBLE_DEVICES={taken}"
    image = container.image.found or ""
    if not _NEEDS_GPU.search(image):
        served = _SERVER.search(" ".join(container.words.found or ()))
        if served is None or group.runtime_class.found not in _RUNTIMES:
            return None
        return f"runs {served[0].strip('.')} with the runtime class {group.runtime_class.found}"
    if any(key.startswith(_CDI) for key in group.annotations):
        return f"runs {image}, gets devices by a CDI annotation"
    return f"runs {image}"


_NO_GPU_USE = re.compile("|".join(names("image that uses no GPU")))
"""Images of programs that cannot use a GPU, and of builds without code for one."""


_HIDES_ALL = frozenset({"", "-1"})
"""Values of CUDA_VISIBLE_DEVICES that leave no GPU (CUDA Programming Guide, 5.2.1.1)."""


@written_rule("gpu-for-other-program")
def other_program(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """By the image's name: curl, nginx, databases; by the command: downloads alone; by a variable
    that hides all GPUs. Idle commands have a separate finding."""
    for group, container in workload.gpu_containers:
        image = container.image.found or ""
        if container.init or container.claimed:
            continue
        what = fetches(container) or (image if _NO_GPU_USE.search(image) else None)
        hidden = container.variables.get("CUDA_VISIBLE_DEVICES")
        if hidden is not None and hidden.strip() in _HIDES_ALL:
            what = f"its program with CUDA_VISIBLE_DEVICES={hidden}, which hides every GPU"
        if what is None:
            continue
        if waits_for_ever(container, context.thresholds.idle_sleep_seconds) is not None:
            continue
        if group not in workload.running_groups():
            continue
        yield other_program.say(
            container.where,
            container=container,
            what=what,
            image=image,
            money=held(context, workload, group),
        )
