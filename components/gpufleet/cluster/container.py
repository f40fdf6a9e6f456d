"""Container: the requests and the command of one container of a pod template."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gpufleet.cluster.fact import NOTHING, Fact, absent, known, unknown

GPU = "nvidia.com/gpu"
"""Extended resource of whole GPUs, and of shares if the pool does not rename them."""

SHARED_SUFFIX = ".shared"
"""Suffix that the device plugin appends to the name of a shared resource."""

MIG_PREFIX = "nvidia.com/mig-"
"""Prefix of the extended resources of MIG slices under the strategy `mixed`."""


def is_gpu_resource(name: str) -> bool:
    """Whether an extended resource is a GPU, a MIG slice or a share of one."""
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
    """Number of processes that a container starts on its GPUs, from command line and variables."""

    tensor: Fact[int] = NOTHING
    """GPUs for one copy of the model (tensor parallelism)."""
    pipeline: Fact[int] = NOTHING
    """Stages of the model, each on its own GPUs (pipeline parallelism)."""
    data: Fact[int] = NOTHING
    """Copies of the model inside one pod (data parallelism)."""
    processes: Fact[int] = NOTHING
    """Worker processes of one pod, one GPU each: torchrun, accelerate, deepspeed."""
    nodes: Fact[int] = NOTHING
    """Pods that torchrun waits for (`--nnodes`); absent: no torchrun, or only its own pod."""
    meeting: Fact[str] = NOTHING
    """Rendezvous address of torchrun; absent: none is given."""
    memory_share: Fact[Decimal] = NOTHING
    """Share of a GPU's memory that the engine reserves, independent of the model."""
    spreads: bool = False
    """Whether its processes may run in several pods."""
    trains: bool = False
    """Whether it starts a training program."""
    serves: bool = False
    """Whether it starts a model server."""
    one_by_default: bool = False
    """Whether it is vLLM with a fully known command line and no parallel size: one GPU."""

    @property
    def gpus(self) -> Fact[int]:
        """GPUs that its processes open: of one pod, or of the whole group if it spreads over pods.

        Absent if no number is given; unknown if a factor is unknown.
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
    """Whether it is an init container, which runs before the others."""
    restartable: bool
    """An init container that keeps running with the other containers."""
    image: Fact[str]
    command: Fact[tuple[str, ...]]
    """Absent: the entry point of the image."""
    arguments: Fact[tuple[str, ...]]
    requests: Mapping[str, Fact[Amount]]
    limits: Mapping[str, Fact[Amount]]
    resources_known: bool = True
    """False: the names of its resources are not all known, so a missing name proves nothing."""
    claims: tuple[str, ...] = ()
    """Entries of the pod's `resourceClaims` that it uses."""
    claims_known: bool = True
    launch: Launch = NO_LAUNCH
    """Read only if it requests GPUs."""
    shares_memory: bool = False
    """Whether a separate volume is mounted at `/dev/shm`."""
    keeps_files: bool = True
    """Whether downloaded files may survive a restart: it has a volume other than `/dev/shm`."""
    download_room: int | str | None = None
    """Bytes, or a claim, for weights that it downloads from Hugging Face; None: no known limit."""
    anonymous: bool = False
    """Whether it certainly has no access token of Hugging Face, and no files from elsewhere."""
    probes: frozenset[str] = frozenset()
    """The probes that it has, or may have: `liveness`, `readiness`, `startup`."""
    listens: bool = False
    """Whether it declares ports."""
    killed_after_seconds: int | None = None
    """Time until the liveness probe ends a container that does not answer; None: a startup probe
    delays it, or it has no liveness probe."""
    ready_within_seconds: int | None = None
    """Time for which its readiness probe may fail, if the number of failures is given."""
    probed: tuple[tuple[str, str], ...] = ()
    """HTTP path of each probe, and the number or name of its port."""
    ports: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of its ports, of one without a name its number -> their numbers."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables with known values that rules read, such as NVIDIA_VISIBLE_DEVICES."""
    interactive: bool = False
    """Whether it keeps standard input open, so that a shell without a script waits."""
    claimed: bool = False
    """Whether its GPUs come from a claim; they are counted like requested resources."""
    plain_secrets: tuple[tuple[str, str], ...] = ()
    """Field path and kind of each credential in plain text. Read only if it requests GPUs."""
    resources_place: str = ""
    """Field path of its `resources`; empty if its kind has another form for them."""
    gpu_resources: tuple[str, ...] = field(init=False)
    """GPU resources in limits or requests, each once; resources with the quantity 0 are left
    out."""

    def __post_init__(self) -> None:
        if not self.limits and not self.requests:
            object.__setattr__(self, "gpu_resources", ())
            return
        named = dict.fromkeys((*self.limits, *self.requests))
        found = tuple(name for name in named if is_gpu_resource(name) and self._may_hold(name))
        object.__setattr__(self, "gpu_resources", found)

    @property
    def where(self) -> str:
        """Its name with its field path, for messages."""
        return f"container {self.name} ({self.place})"

    def _may_hold(self, resource: str) -> bool:
        """Whether it may request more than zero: charts write `nvidia.com/gpu: 0` for no GPU."""
        written = (m[resource] for m in (self.limits, self.requests) if resource in m)
        return any(not amount.is_known or amount.value.number > 0 for amount in written)

    def gpus(self, resource: str) -> Fact[Amount]:
        """Quantity of a resource: the limit, else the request."""
        if resource in self.limits:
            return self.limits[resource]
        return self.requests.get(resource, absent(f"{self.place}.resources.limits"))

    def source(self, resource: str) -> str:
        """Name of its devices in messages: the resource, or the claim."""
        return "GPU of a claim" if self.claimed else resource

    def asked(self, resource: str) -> Fact[Amount]:
        """CPU or memory that the scheduler reserves: the request, else the limit."""
        if resource in self.requests:
            return self.requests[resource]
        return self.limits.get(resource, NOTHING)

    @property
    def words(self) -> Fact[tuple[str, ...]]:
        """Command and arguments together; absent when the entry point of the image runs."""
        if self.command.is_unknown or self.arguments.is_unknown:
            return self.command if self.command.is_unknown else self.arguments
        if self.command.is_absent and self.arguments.is_absent:
            return self.command
        return known((self.command.found or ()) + (self.arguments.found or ()), place=self.place)
