"""Container: what one container of a pod template asks for and runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gpufleet.cluster.fact import NOTHING, Fact, absent, known, unknown

GPU = "nvidia.com/gpu"
"""Extended resource of whole GPUs, or of shares where the pool does not rename them."""

SHARED_SUFFIX = ".shared"
"""What the device plugin appends to a shared resource's name."""

MIG_PREFIX = "nvidia.com/mig-"
"""Prefix of the extended resources of MIG slices under the strategy `mixed`."""


def is_gpu_resource(name: str) -> bool:
    """Whether an extended resource represents a GPU, a slice or a turn on one."""
    return name == GPU or name.startswith(("nvidia.com/gpu.", MIG_PREFIX))


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity of a resource."""

    text: str
    """As it was written."""
    number: Decimal
    """In the base unit: cores, bytes, devices."""

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number, as devices must be."""
        return self.number == self.number.to_integral_value()


@dataclass(frozen=True, slots=True)
class Launch:
    """How many processes a container starts on its GPUs, from its command line and variables."""

    tensor: Fact[int] = NOTHING
    """GPUs one copy of the model is spread over (tensor parallelism)."""
    pipeline: Fact[int] = NOTHING
    """Stages of the model, each on its own GPUs (pipeline parallelism)."""
    data: Fact[int] = NOTHING
    """Copies of the model inside one pod (data parallelism)."""
    processes: Fact[int] = NOTHING
    """Worker processes of one pod, one GPU each: torchrun, accelerate, deepspeed."""
    nodes: Fact[int] = NOTHING
    """Pods that torchrun waits for (`--nnodes`); absent: no torchrun, or a pod for itself."""
    meeting: Fact[str] = NOTHING
    """Where the pods of a torchrun meet; absent: it says no address."""
    memory_share: Fact[Decimal] = NOTHING
    """Part of a GPU's memory the engine takes for itself, whatever the model needs."""
    spreads: bool = False
    """Whether its processes may lie in several pods."""
    trains: bool = False
    """Whether it starts a training program."""
    serves: bool = False
    """Whether it starts a model server."""
    one_by_default: bool = False
    """Whether it is vLLM, whose whole command line is known and says no parallel size: one GPU."""

    @property
    def gpus(self) -> Fact[int]:
        """GPUs its processes open: of one pod, or of the whole group where it spreads.

        Absent where nothing says how many; unknown as soon as one factor is.
        """
        if not self.processes.is_absent:
            return self.processes
        if self.tensor.is_absent:
            return self.tensor
        product = 1
        for factor in (self.tensor, self.pipeline, self.data):
            if factor.is_unknown:
                return factor
            product *= factor.found or 1
        return known(product, self.tensor.provenance, self.tensor.place)


NO_LAUNCH = Launch()
_HIDDEN: Fact[Any] = unknown("command")
HIDDEN = Launch(*[_HIDDEN] * 7, spreads=True)
"""The launch of a command line that cannot be read."""


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod template."""

    name: str
    place: str
    """Field path: `spec.template.spec.containers[0]`."""
    init: bool
    """Runs before the others."""
    restartable: bool
    """An init container that keeps running with the other containers."""
    image: Fact[str]
    command: Fact[tuple[str, ...]]
    """Absent: the image's own."""
    arguments: Fact[tuple[str, ...]]
    requests: Mapping[str, Fact[Amount]]
    limits: Mapping[str, Fact[Amount]]
    resources_known: bool = True
    """False: which resources are named is not known, so a missing name proves nothing."""
    claims: tuple[str, ...] = ()
    """Entries of the pod's `resourceClaims` it uses."""
    claims_known: bool = True
    launch: Launch = NO_LAUNCH
    """Read only where it asks for GPUs."""
    shares_memory: bool = False
    """Whether a volume of its own is mounted at `/dev/shm`."""
    keeps_files: bool = True
    """Whether something may be left of what it fetched when it restarts: a volume besides that."""
    probes: frozenset[str] = frozenset()
    """Of `liveness`, `readiness`, `startup`: those it has, or may have."""
    listens: bool = False
    """Whether it names ports it serves on."""
    killed_after_seconds: int | None = None
    """When the liveness probe ends a container that has not answered yet; None: a startup probe
    holds it back, or there is none."""
    ready_within_seconds: int | None = None
    """How long its readiness probe is written to fail, where it says how often."""
    probed: tuple[tuple[str, str], ...] = ()
    """HTTP path of each probe, and the number or name of its port."""
    ports: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of its ports -> their numbers."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Some of its variables, such as NVIDIA_VISIBLE_DEVICES -> their values, where known."""
    interactive: bool = False
    """Whether it keeps its input open, so that a shell without a script waits."""
    claimed: bool = False
    """Whether its GPUs are those of a claim, counted as if it named them."""
    plain_secrets: tuple[tuple[str, str], ...] = ()
    """Field path and kind of each credential that is written out. Read only where it asks for
    GPUs."""
    resources_place: str = ""
    """Field path of its `resources`; empty where its kind writes them in a form of its own."""
    gpu_resources: tuple[str, ...] = field(init=False)
    """GPU-like resources in limits or requests, each once; those of which none is asked for are
    left out."""

    def __post_init__(self) -> None:
        if not self.limits and not self.requests:
            object.__setattr__(self, "gpu_resources", ())
            return
        named = dict.fromkeys((*self.limits, *self.requests))
        found = tuple(name for name in named if is_gpu_resource(name) and self._may_hold(name))
        object.__setattr__(self, "gpu_resources", found)

    @property
    def where(self) -> str:
        """It in words, with its field path."""
        return f"container {self.name} ({self.place})"

    def _may_hold(self, resource: str) -> bool:
        """Whether more than none is asked for: charts write `nvidia.com/gpu: 0` for no GPU."""
        written = (m[resource] for m in (self.limits, self.requests) if resource in m)
        return any(not amount.is_known or amount.value.number > 0 for amount in written)

    def gpus(self, resource: str) -> Fact[Amount]:
        """How many of a resource: the limit counts, and where there is none the request."""
        if resource in self.limits:
            return self.limits[resource]
        return self.requests.get(resource, absent(f"{self.place}.resources.limits"))

    def source(self, resource: str) -> str:
        """What its devices are called in messages: the resource, or that they are of a claim."""
        return "GPU of a claim" if self.claimed else resource

    def asked(self, resource: str) -> Fact[Amount]:
        """What the scheduler reserves of CPU or memory: the request, else the limit."""
        if resource in self.requests:
            return self.requests[resource]
        return self.limits.get(resource, NOTHING)

    @property
    def words(self) -> Fact[tuple[str, ...]]:
        """Command and arguments together; absent when the image's own entry point runs."""
        if self.command.is_unknown or self.arguments.is_unknown:
            return self.command if self.command.is_unknown else self.arguments
        if self.command.is_absent and self.arguments.is_absent:
            return self.command
        return known((self.command.found or ()) + (self.arguments.found or ()), place=self.place)
