"""The file of workloads that `gpufleet plan` reads: models, jobs, notebooks, with targets; and a
workload with its options, and its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import Field, StringConstraints

from gpufleet.documents.plain_data import camel
from gpufleet.findings import Finding, findings_in
from gpufleet.messages import shown_value
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import Provisioner
from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.need import (
    Allowed,
    Assurance,
    Isolation,
    Pods,
    ServingTarget,
    Usd,
    WorkloadNeed,
)
from gpufleet_planner.planning.option import Option
from gpufleet_planner.sizing.request import RequestModel, SizeRequest, read_model

_finding = findings_in(__file__)

Name = Annotated[
    str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=52)
]
"""Lower case, starts with a letter, at most 52 characters: pods append to it."""
Image = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9._:/@]*$", min_length=1, max_length=300)
]
Zones = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=63)], ...], Field(max_length=20)
]
NOTEBOOK = "notebook"
OWN = "onPrem"
"""Purchase option of own machines."""
INVALID = "plan-file-invalid"
_DECIDED = ("mig", "mps", "timeSlicing", "board", "network")
"""Fields of a size request that choose the hardware: the plan decides them."""


class WorkloadEntry(RequestModel):
    """Keys of every workload."""

    name: Name
    gpus: Annotated[tuple[str, ...], Field(max_length=40)] = ()
    """GPUs to choose among. Default: all."""
    zones: Zones = ()
    """Zones with capacity for it, best first. Default: those of the whole plan."""
    team: Name | None = None
    image: Image | None = None
    """Container image; only manifests need it."""


class ModelWorkload(Allowed, SizeRequest, WorkloadEntry):
    """A model that is served, or a job that trains one. `gpu` restricts the choice to that GPU."""

    target: ServingTarget = ServingTarget()


class Notebooks(WorkloadEntry):
    """Users of notebooks: their number, and the GPU memory of each."""

    workload: Literal["notebook"]
    interruptible: bool = False
    """Whether it survives that its machine is taken back. Default false: no spot."""
    count: Pods = 1
    memory_gib: Annotated[float, Field(gt=0, le=512)]
    """GPU memory each notebook uses at its peak."""
    isolation: Isolation = Isolation.NONE
    """Default none: time-slicing allowed, as long as the sum of the peaks fits."""
    culled_after_hours: Annotated[float, Field(gt=0, le=168)] | None = None
    """Hours after which the notebook server ends an unused notebook. Default: never, which the
    policies refuse in shared fleets."""


class OwnHardware(RequestModel):
    """Machines on premises."""

    gpu: str
    gpus_per_node: Annotated[int, Field(ge=1, le=16)]
    nodes: Annotated[int, Field(ge=1, le=10_000)]
    usd_per_gpu_hour: Usd | None = None
    """Write-off, power and rack. Default: not priced, GPU-hours are compared."""
    network_gbps: Annotated[float, Field(gt=0, le=100_000)] | None = None
    rdma: bool = False
    vsphere: dict[str, Any] | None = None
    """Shape of the virtual machines on vSphere, as a pool of the FleetSpec writes it."""
    openshift: dict[str, Any] | None = None
    """The same on OpenShift."""

    def shape(self, platform: Platform) -> dict[str, Any] | None:
        """The shape of the machines on a platform: the field of its name. None where none is
        stated."""
        return getattr(self, platform.section, None)


class PlanBudget(RequestModel):
    """Maximum cost of the planned fleet."""

    usd_per_hour: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)]


class PlanHead(RequestModel):
    """Everything of the file but the entries of `workloads`."""

    workloads: Any = None
    """Each entry is read on its own."""
    catalogue: str | None = None
    """Edition, quoted. Default: the newest."""
    platform: Platform
    environment: str = "dev"
    cluster: dict[str, Any]
    provisioner: Provisioner | None = None
    """Default: karpenter on EKS, managed elsewhere."""
    budget: PlanBudget | None = None
    """Most the fleet may cost per hour. Default: what the plan costs, rounded up."""
    gpus: Annotated[tuple[str, ...], Field(max_length=40)] = ()
    """GPUs the whole plan may use. Default: all the platform sells."""
    zones: Zones = ()
    """Zones with capacity, best first: pools name them, and the pool of a job over several machines
    the first one. Default: all that the cluster has."""
    fractional: bool = False
    """Whether machines with a part of a GPU (g6f, small g4) may be used. Default false: they need
    NVIDIA's GRID driver, which the usual node images lack."""
    arm: bool = False
    """Whether machines with Arm processors (g5g, GB200) may be used. Default false: images built
    for x86 do not start there. GPUs that `gpus` names are allowed wherever they are sold."""
    confidence: Assurance = Assurance.EXPECTED
    """With which speed targets are kept: the computed one, or the lowest that published load tests
    leave. Default expected; the price of the other is shown with the plan."""
    hardware: Annotated[tuple[OwnHardware, ...], Field(max_length=100)] = ()
    """Own machines; needed on platforms that sell none."""
    spec: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further fields of the FleetSpec, taken over as they are: `monitoring`, `tags`, ..."""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A file that could be read, with the workloads that could."""

    head: PlanHead
    workloads: tuple[tuple[str, ModelWorkload | Notebooks], ...]
    """Path in the file, and the entry."""


_Part = TypeVar("_Part", bound=RequestModel)


def read_plan_file(data: Mapping[str, Any]) -> tuple[PlanFile | None, tuple[Finding, ...]]:
    """Plain data of a file -> plan file, with every structural problem at once."""
    findings: list[Finding] = []
    rows = data.get("workloads")
    head = read_model(PlanHead, data, "", INVALID, findings)
    if not isinstance(rows, list) or not rows:
        findings.append(_finding("plan-file-invalid/no-workloads"))
        return None, tuple(findings)
    found: list[tuple[str, ModelWorkload | Notebooks]] = []
    names: dict[str, str] = {}
    for index, row in enumerate(cast("list[object]", rows)):
        path = f"workloads[{index}]"
        if not isinstance(row, dict):
            findings.append(_finding("plan-file-invalid/entry", path))
            continue
        entry = cast("dict[str, Any]", row)
        kind = Notebooks if entry.get("workload") == NOTEBOOK else ModelWorkload
        read = read_model(kind, entry, path, INVALID, findings)
        if read is None:
            continue
        if read.name in names:
            findings.append(
                _finding("workload-name-twice", path, other=names[read.name], name=read.name)
            )
        names.setdefault(read.name, path)
        if isinstance(read, ModelWorkload):
            findings += _decided(read, path)
        found.append((path, read))
    wrong = () if head is None else tuple(_taken_over(head))
    if head is None or wrong:
        return None, (*findings, *wrong)
    findings += _hardware(head)
    return PlanFile(head, tuple(found)), tuple(findings)


_OF_THE_FILE = ("catalogue", "platform", "environment", "cluster", "provisioner", "budget")
"""Keys of the FleetSpec that the file itself has: the plan rests on them."""
_SECTIONS = ("addons", "queues", "monitoring")
"""Keys of `spec` that the plan adds something to."""


def _taken_over(head: PlanHead) -> Iterator[Finding]:
    """Parts of `spec` that the plan changes."""
    for key, value in head.spec.items():
        path, shown = f"spec.{key}", _named(value)
        if key == "pools":
            yield _finding("plan-file-invalid/pools", path)
        elif key in _OF_THE_FILE:
            yield _finding("plan-file-invalid/head", path, value=shown, key=key)
        elif key in _SECTIONS and not isinstance(value, dict | None):
            yield _finding("plan-file-invalid/section", path, key=key, shown=shown)
        elif key == "catalogueOverlay" and not isinstance(value, str | None):
            yield _finding("plan-file-invalid/overlay", path, key=key, shown=shown)


def _named(value: object) -> str:
    """A value in a message; of a mapping only the keys, as its values may be credentials."""
    if isinstance(value, Mapping) and value:
        keys = cast("Mapping[object, object]", value)
        return shown_value(", ".join(map(str, keys))).strip("'")
    return shown_value(cast("object", value))


def _hardware(head: PlanHead) -> list[Finding]:
    """Errors: own machines on a platform whose pools have none; none on a platform without a cloud;
    virtual machines without a shape, which only the user knows."""
    facts = PLATFORMS[head.platform].facts
    useless = bool(head.hardware) and OWN not in facts.capacity
    found = [_finding("hardware-not-on-platform", title=facts.title)] if useless else []
    if facts.clouds:
        return found
    if not head.hardware:
        found.append(_finding("hardware-missing", platform=head.platform))
    return found + [
        _finding(
            "hardware-shape-missing",
            f"hardware[{index}].{head.platform}",
            title=facts.title,
            gpu=row.gpu,
            platform=head.platform,
        )
        for index, row in enumerate(head.hardware)
        if row.shape(head.platform) is None
    ]


def _decided(entry: ModelWorkload, path: str) -> list[Finding]:
    written = set(map(camel, entry.model_fields_set))
    found = [
        _finding("plan-decides", f"{path}.{name}", name=name, workload=entry.name)
        for name in _DECIDED
        if name in written
    ]
    if entry.load_test is not None:
        found.append(_finding("plan-file-invalid/load-test", path))
    return found


@dataclass(frozen=True, slots=True)
class ChosenWorkload:
    """One workload with the options it has."""

    path: str
    entry: ModelWorkload | Notebooks
    need: WorkloadNeed | None
    """None for notebooks."""
    choice: ServingChoice

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.entry.name

    @property
    def namespace(self) -> str:
        """Namespace of its pods: that of its team."""
        return self.entry.team or "default"

    @property
    def ends(self) -> bool:
        """A job: it runs for a time, so the cheapest run counts, not the cheapest hour."""
        return self.need is not None and self.need.trains

    @property
    def intent(self) -> str:
        """The pool's intent: it sets disruption, spot and packing defaults."""
        if self.need is None:
            return "interactive"
        if not self.need.trains:
            return "inference"
        return "batch" if self.entry.interruptible else "training"


@dataclass(frozen=True, slots=True)
class PlacedWorkload(ChosenWorkload):
    """One workload and where it runs."""

    option: Option
    pools: tuple[str, ...]
    """One, or for slices the pools whose nodes offer them."""

    @property
    def pod_gpus(self) -> int:
        """GPUs of one pod: a whole copy, at most the GPUs of a machine."""
        return min(self.option.reached.gpus_each, self.option.machine.gpus)

    @property
    def runner_up(self) -> Option | None:
        """The cheapest option on another GPU or share."""
        mine = (self.option.machine.gpu.key, self.option.share.resource_key)
        return next(
            (o for o in self.choice.options if (o.machine.gpu.key, o.share.resource_key) != mine),
            None,
        )
