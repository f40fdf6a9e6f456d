"""GPUs that a pod uses without its scheduler, its device plugin or both knowing of it."""

import re
from collections.abc import Iterator

from gpufleet.cluster import Container, PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.waiting import fetches, waits_for_ever
from gpufleet_policies.rules.written import written_rule

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

_ACCELERATORS = (
    *("amd.com/", "aws.amazon.com/neuron", "google.com/tpu", "habana.ai/", "huawei.com/"),
    *("gpu.intel.com/", "intel.com/", "xilinx.com/", "hami", "nvidia.com/"),
)
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
