"""Nodes and tasks of a YAML or JSON file: the same trace as two tables give."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from gpufleet.catalogue import Catalogue, UnknownKeyError
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.documents.quantities import quantity
from gpufleet.findings import Finding, error
from gpufleet_planner.packing.amount import read_cpu, read_memory, read_part
from gpufleet_planner.sizing.request import RequestModel, read_model
from gpufleet_planner.trace.handed_out import GpuSharing
from gpufleet_planner.trace.trace import (
    MOST_GPUS,
    MOST_NODES,
    MOST_TASKS,
    WHOLE_GPU,
    TaskShape,
    Trace,
    TraceNode,
    TraceTask,
    too_varied,
)

_MIB = 1 << 20


def _read_part(value: object) -> Fraction:
    """A part of a GPU, in thousandths too: `250m`. Raises ValueError."""
    text = str(value).strip()
    milli = quantity(text) if text.endswith("m") else None
    return read_part(value if milli is None else milli)


Cpu = Annotated[int, BeforeValidator(read_cpu)]
Memory = Annotated[int, BeforeValidator(read_memory)]
PartOfGpu = Annotated[Fraction, BeforeValidator(_read_part)]
Name = Annotated[str, Field(min_length=1, max_length=253)]
Seconds = Annotated[int, Field(ge=0, le=10**12)]


class NodeEntry(RequestModel):
    """Nodes that are all alike."""

    name: Name
    """Numbered from 0 where count is above 1: `a-0`, `a-1`."""
    count: Annotated[int, Field(ge=1, le=MOST_NODES)] = 1
    instance_type: str | None = None
    """Machine type of the catalogue: brings GPU, GPUs, CPUs and memory."""
    gpu: Name | None = None
    """GPU model, as tasks name it; default: the node has no GPU."""
    gpus: Annotated[int, Field(ge=1, le=MOST_GPUS)] | None = None
    """1 by default, where there is a model."""
    cpu: Cpu | None = None
    memory: Memory | None = None
    """Host memory."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.instance_type is None and (self.cpu is None or self.memory is None):
            raise ValueError("write instanceType, or cpu and memory")
        if self.instance_type is not None and (self.gpu is not None or self.gpus is not None):
            raise ValueError("gpu and gpus follow from instanceType: leave them out")
        if self.gpus is not None and self.gpu is None and self.instance_type is None:
            raise ValueError("gpus need gpu, their model")
        return self


class TaskEntry(RequestModel):
    """Tasks that are all alike."""

    name: Name
    """Numbered from 0 where count is above 1."""
    count: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 1
    gpus: Annotated[int, Field(ge=0, le=MOST_GPUS)] | None = None
    """GPUs of one node; 1 by default where part or models are written, else 0."""
    part: PartOfGpu = Fraction(1)
    """Of each GPU: 0.25, 1/4, 25% or 250m; in thousandths, rounded up."""
    models: tuple[Name, ...] = ()
    """GPU models that it may use; default: any."""
    cpu: Cpu | None = None
    memory: Memory | None = None
    """Host memory."""
    arrives: Seconds = 0
    """Seconds; tasks of one time come in the order of the file."""
    leaves: Seconds | None = None
    """Seconds; default: it stays."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.gpus == 0 and (self.part != 1 or self.models):
            raise ValueError("part and models are of GPUs, and gpus is 0")
        if self.leaves is not None and self.leaves < self.arrives:
            raise ValueError(f"leaves {self.leaves} is before arrives {self.arrives}")
        return self


class TasksFile(RequestModel):
    """Nodes, and tasks in the order of their arrival."""

    nodes: Annotated[tuple[NodeEntry, ...], Field(min_length=1)]
    tasks: Annotated[tuple[TaskEntry, ...], Field(min_length=1)]


def is_tasks_file(document: Mapping[str, object]) -> bool:
    """Whether a file has tasks for given nodes, and not shares for machines that may be bought."""
    return "tasks" in document and "shares" not in document


def read_tasks_file(
    document: dict[str, Any], sharing: GpuSharing, catalogue: Catalogue
) -> tuple[Trace | None, tuple[Finding, ...]]:
    """The trace of a file. None exactly when there are findings."""
    findings: list[Finding] = []
    request = read_model(TasksFile, document, "", "pack-request-invalid", findings)
    if request is None:
        return None, tuple(findings)
    counts = (
        ("nodes", sum(entry.count for entry in request.nodes), MOST_NODES),
        ("tasks", sum(entry.count for entry in request.tasks), MOST_TASKS),
    )
    findings = [_too_many(what, count, most) for what, count, most in counts if count > most]
    if findings:
        return None, tuple(findings)
    nodes: list[TraceNode] = []
    for index, entry in enumerate(request.nodes):
        nodes += _nodes(entry, index, catalogue, findings)
    tasks = [task for entry in request.tasks for task in _tasks(entry, sharing)]
    models = {node.model for node in nodes}
    for index, entry in enumerate(request.tasks):
        unknown = [model for model in entry.models if model not in models]
        findings += [_unknown_model(f"tasks[{index}].models", one, models) for one in unknown]
    findings += _repeated("nodes", [node.name for node in nodes])
    findings += _repeated("tasks", [task.name for task in tasks])
    findings += too_varied(tasks, len(nodes))
    if findings:
        return None, tuple(findings)
    return Trace(tuple(nodes), tuple(sorted(tasks, key=lambda task: task.created))), ()


def _too_many(what: str, found: int, limit: int) -> Finding:
    text = f"{found} {what} in all; at most {limit} are placed"
    return error("pack-trace-too-long", what, text, "split the cluster", found=found, limit=limit)


def _nodes(
    entry: NodeEntry, index: int, catalogue: Catalogue, findings: list[Finding]
) -> list[TraceNode]:
    model, gpus, cpu, memory = entry.gpu or "", entry.gpus or 1, entry.cpu, entry.memory
    if entry.instance_type is not None:
        path = f"nodes[{index}].instanceType"
        try:
            machine = catalogue.instance(entry.instance_type)
        except UnknownKeyError as problem:
            near = f"write {' or '.join(problem.nearest)}" if problem.nearest else None
            findings.append(error("pack-instancetype-unknown", path, str(problem), near))
            return []
        model, count = machine.accelerator.gpu, machine.accelerator.count
        cpu = cpu or (machine.vcpu or 0) * 1000
        memory = memory or machine.memory_bytes
        if count is None or not cpu or memory is None:
            findings.append(
                error(
                    "pack-gpus-unknown",
                    path,
                    f"GPUs, CPUs or memory of {machine.name} were not sourced",
                    "write gpu, gpus, cpu and memory instead of instanceType",
                )
            )
            return []
        gpus = count
    assert cpu is not None
    assert memory is not None
    names = _numbered(entry.name, entry.count)
    return [TraceNode(n, cpu, memory // _MIB, gpus if model else 0, model) for n in names]


def _tasks(entry: TaskEntry, sharing: GpuSharing) -> list[TraceTask]:
    gpus = entry.gpus
    if gpus is None:
        gpus = 1 if entry.part != 1 or entry.models else 0
    milli = -(-entry.part.numerator * WHOLE_GPU // entry.part.denominator)
    part = sharing.handed_out(milli) if gpus == 1 else milli
    shape = TaskShape(
        entry.cpu or 0,
        -(-(entry.memory or 0) // _MIB),
        gpus,
        part if gpus else 0,
        frozenset(entry.models if gpus else ()),
    )
    names = _numbered(entry.name, entry.count)
    return [TraceTask(name, shape, entry.arrives, entry.leaves) for name in names]


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}-{number}" for number in range(count)]


def _repeated(section: str, names: list[str]) -> list[Finding]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name in names:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return [
        error("pack-name-repeated", section, f"{name!r} is there twice", "rename one")
        for name in list(twice)[:20]
    ]


def _unknown_model(path: str, model: str, known: set[str]) -> Finding:
    names = sorted(name for name in known if name)
    near = nearest_names(model, names) or tuple(names)
    text = f"no node has a GPU {model!r}"
    return error("pack-name-unknown", path, text, f"write {' or '.join(near)}", value=model)
