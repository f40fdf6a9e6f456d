"""WorkloadFacts: one object that creates pods, with the fields that rules need."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.container import Container
from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.intent import WorkloadIntent
from gpufleet.cluster.pods import PodGroup
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.findings.locator import Locator


@dataclass(frozen=True, slots=True)
class JobFacts:
    """Fields that only objects that run to completion have."""

    retries: Fact[int] = NOTHING
    """`backoffLimit`; absent: the default of its kind."""
    deadline_parent_written: Fact[bool] = NOTHING
    """Whether the parent of the deadline field is written, such as `spec.runPolicy`."""
    time_to_live: Fact[int] = NOTHING
    """Seconds after which a finished object is deleted."""
    time_to_live_place: str = ""
    schedule: Fact[str] = NOTHING
    """Cron expression; absent: runs once."""
    concurrency: Fact[str] = NOTHING
    """`concurrencyPolicy` of a CronJob, its default applied."""


@dataclass(frozen=True, slots=True)
class Ray:
    """Fields that only Ray objects have."""

    head_gpu_count: Fact[str] = NOTHING
    """`num-gpus` of the head's `rayStartParams`: the number that the head reports to Ray."""
    autoscaling: Fact[bool] = NOTHING
    """`enableInTreeAutoscaling`."""
    ends_with_job: Fact[bool] = NOTHING
    """Whether a RayJob's cluster is deleted when its job ends; absent: not a RayJob."""
    downscale_delay_seconds: Fact[int] = NOTHING
    """Time until an idle replica of a RayService with GPUs is removed, the longest of all its
    applications; absent: Ray's own delay."""
    serving_gpus: Fact[int] = NOTHING
    """GPUs that all Serve applications of a RayService can use together, with all replicas."""


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """One object that creates pods."""

    locator: Locator
    api_group: str
    """`apps`, `batch`, `ray.io`; empty for core."""
    pod_groups: tuple[PodGroup, ...]
    runs_to_completion: bool
    """A job: it costs while it runs, not all month."""
    template_checked_on_creation: bool
    """Whether the API server validates the pod template when this object is created."""
    suspended: Fact[bool]
    deadline_seconds: Fact[int]
    """Longest run; only for jobs."""
    intent: WorkloadIntent
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations of the object and of its pod templates with known values."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of the object with known values."""
    labels_written: bool = False
    """Whether the object has labels at all, known or not."""
    hidden_keys: frozenset[str] = frozenset()
    """Labels and annotations whose values are not known."""
    metadata_known: bool = True
    """False: it may have more labels and annotations."""
    scaling: tuple[ScalingFacts, ...] = ()
    """Autoscaling that the object itself declares, for each group."""
    job: JobFacts | None = None
    """None for workloads without an end."""
    ray: Ray | None = None
    """None outside Ray."""
    serves: bool = False
    """Whether the pods of its kind serve requests."""
    trains: bool = False
    """Whether its kind is for training: PyTorchJob, MPIJob, TrainJob."""
    starts_together: bool = False
    """Whether its kind does no work until all its pods run."""
    surge: Fact[int] = NOTHING
    """Pods that a rollout creates beyond the replicas before it ends an old one; absent: no
    rollout, or one that ends an old pod first."""
    node_agent: bool = False
    """Whether it serves the nodes themselves: DaemonSets, namespaces of operators."""
    gpu_containers: tuple[tuple[PodGroup, Container], ...] = field(init=False)
    """Containers that name a GPU resource, with their group."""

    def __post_init__(self) -> None:
        found = tuple((g, c) for g in self.pod_groups for c in g.containers if c.gpu_resources)
        object.__setattr__(self, "gpu_containers", found)

    def may_say(self, *keys: str) -> bool:
        """Whether one of these labels or annotations is set, or may be."""
        if not self.metadata_known:
            return True
        return any(
            key in self.labels or key in self.annotations or key in self.hidden_keys for key in keys
        )

    @property
    def uses_gpus(self) -> bool:
        """Whether any container names a GPU resource."""
        return bool(self.gpu_containers)

    @property
    def starts_training(self) -> bool:
        """Whether one of its commands starts a training program."""
        return any(container.launch.trains for _, container in self.gpu_containers)

    @property
    def uses_claims(self) -> bool:
        """Whether any pod has a claim of dynamic resource allocation."""
        return any(group.claims for group in self.pod_groups)

    @property
    def is_idle_now(self) -> bool:
        """Whether it is suspended or has no pods, so that it holds no GPUs."""
        if self.suspended.is_known and self.suspended.value:
            return True
        return all(group.pods.found == 0 for group in self.pod_groups)

    def running_groups(self) -> Iterator[PodGroup]:
        """Groups that have pods, or may have: none while suspended."""
        if self.suspended.is_known and self.suspended.value:
            return
        for group in self.pod_groups:
            if not group.pods.is_known or group.pods.value != 0:
                yield group
