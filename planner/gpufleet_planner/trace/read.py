"""Reads a trace: from a YAML or JSON file of nodes and tasks, or from two tables as Alibaba
publishes them.

Columns and units of the tables are those of alibaba/clusterdata, cluster-trace-gpu-v2023 (README.md
at 0c9677bb): `sn,cpu_milli,memory_mib,gpu,model` and `name,cpu_milli,memory_mib,num_gpu,gpu_milli,
gpu_spec,creation_time,deletion_time`. Other columns are ignored.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from io import StringIO
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from gpufleet.catalogue import Catalogue, UnknownKeyError
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.documents.quantities import quantity
from gpufleet.findings import Finding, findings_in
from gpufleet_planner.packing.request import read_cpu, read_memory, read_part
from gpufleet_planner.sizing.request import RequestModel, read_model
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

_finding = findings_in(__file__)
_MIB = 1 << 20
_SHOWN = 20
"""Findings of one table; the rest is counted."""
Read = tuple[Trace | None, tuple[Finding, ...]]


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
_Gpus = Annotated[int, Field(ge=0, le=MOST_GPUS)]
_Milli = Annotated[int, Field(ge=0, le=10**8)]
_Mebibytes = Annotated[int, Field(ge=0, le=10**9)]
_NOTHING = ("", "nan", "none")


class NodeEntry(RequestModel):
    """Equal nodes."""

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
    """Equal tasks."""

    name: Name
    """Numbered from 0 where count is above 1."""
    count: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 1
    gpus: Annotated[int, Field(ge=0, le=MOST_GPUS)] | None = None
    """GPUs of one node; 1 by default where part or models are written, else 0."""
    part: PartOfGpu = Fraction(1)
    """Part of each GPU: 0.25, 1/4, 25% or 250m; in thousandths, rounded up."""
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
    document: dict[str, Any], time_slices: int | None, catalogue: Catalogue
) -> Read:
    """The trace of a file. None exactly when there are findings. `time_slices`: as of tables."""
    findings: list[Finding] = []
    request = read_model(TasksFile, document, "", "pack-request-invalid", findings)
    if request is None:
        return None, tuple(findings)
    for what, entries, limit in (
        ("nodes", request.nodes, MOST_NODES),
        ("tasks", request.tasks, MOST_TASKS),
    ):
        count = sum(entry.count for entry in entries)
        if count > limit:
            findings.append(
                _finding("pack-trace-too-long/file", what, what=what, found=count, limit=limit)
            )
    if findings:
        return None, tuple(findings)
    nodes: list[TraceNode] = []
    for index, entry in enumerate(request.nodes):
        nodes += _nodes(entry, f"nodes[{index}]", catalogue, findings)
    tasks = [task for entry in request.tasks for task in _tasks(entry, time_slices)]
    models = {node.model for node in nodes} - {""}
    for index, entry in enumerate(request.tasks):
        for model in (one for one in entry.models if one not in models):
            near = nearest_names(model, sorted(models)) or sorted(models)
            fix = f"write {' or '.join(near)}"
            findings.append(_finding("pack-name-unknown", f"tasks[{index}].", fix=fix, value=model))
    findings += list(_repeated("nodes", nodes))[:_SHOWN] + list(_repeated("tasks", tasks))[:_SHOWN]
    return _trace(nodes, tasks, findings)


def _trace(nodes: list[TraceNode], tasks: list[TraceTask], findings: list[Finding]) -> Read:
    findings = findings or list(too_varied(tasks, len(nodes)))
    if findings:
        return None, tuple(findings)
    return Trace(tuple(nodes), tuple(sorted(tasks, key=lambda task: task.created))), ()


def _repeated(section: str, rows: Iterable[TraceNode | TraceTask]) -> Iterator[Finding]:
    seen: set[str] = set()
    twice: set[str] = set()
    for row in rows:
        if row.name in seen and row.name not in twice:
            twice.add(row.name)
            yield _finding("pack-name-repeated", section, name=row.name)
        seen.add(row.name)


def _nodes(
    entry: NodeEntry, path: str, catalogue: Catalogue, findings: list[Finding]
) -> list[TraceNode]:
    model, gpus, cpu, memory = entry.gpu or "", entry.gpus or 1, entry.cpu, entry.memory
    if entry.instance_type is not None:
        try:
            machine = catalogue.instance(entry.instance_type)
        except UnknownKeyError as problem:
            near = f"write {' or '.join(problem.nearest)}" if problem.nearest else None
            findings.append(
                _finding("pack-instancetype-unknown", path, fix=near, problem=str(problem))
            )
            return []
        model, gpus = machine.accelerator.gpu, machine.accelerator.count or 0
        cpu = cpu or (machine.vcpu or 0) * 1000
        memory = memory or machine.memory_bytes
    if not gpus or not cpu or memory is None:
        findings.append(_finding("pack-gpus-unknown", path, machine=entry.instance_type))
        return []
    names = _numbered(entry.name, entry.count)
    return [TraceNode(n, cpu, memory // _MIB, gpus if model else 0, model) for n in names]


def _tasks(entry: TaskEntry, time_slices: int | None) -> list[TraceTask]:
    gpus = entry.gpus
    if gpus is None:
        gpus = 1 if entry.part != 1 or entry.models else 0
    milli = -(-entry.part.numerator * WHOLE_GPU // entry.part.denominator)
    memory = -(-(entry.memory or 0) // _MIB)
    shape = _shape(entry.cpu or 0, memory, gpus, milli, entry.models, time_slices)
    names = _numbered(entry.name, entry.count)
    return [TraceTask(name, shape, entry.arrives, entry.leaves) for name in names]


def _shape(
    cpu: int, memory: int, gpus: int, milli: int, models: Iterable[str], time_slices: int | None
) -> TaskShape:
    if not gpus:
        return TaskShape(cpu, memory, 0, 0, frozenset())
    if gpus == 1 and time_slices is not None:
        fits = milli * time_slices <= WHOLE_GPU
        milli = WHOLE_GPU // time_slices if fits else WHOLE_GPU
    return TaskShape(cpu, memory, gpus, milli, frozenset(models))


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}-{number}" for number in range(count)]


# -- tables --------------------------------------------------------------------------------------


class _Line(BaseModel):
    """One line of a table; unknown columns are ignored."""

    COLUMNS: ClassVar[tuple[str, ...]]
    """Required columns."""


class _NodeLine(_Line):
    COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")

    sn: Name
    cpu_milli: _Milli
    memory_mib: _Mebibytes
    gpu: _Gpus = 0
    model: str = ""

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.gpu and not self.model:
            raise ValueError(f"{self.gpu} GPUs of no model: write the model")
        return self


class _TaskLine(_Line):
    COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")

    name: Name
    cpu_milli: _Milli = 0
    memory_mib: _Mebibytes = 0
    num_gpu: _Gpus = 0
    gpu_milli: Annotated[int, Field(ge=0, le=WHOLE_GPU)] = WHOLE_GPU
    gpu_spec: str = ""
    creation_time: Seconds = 0
    deletion_time: Seconds | None = None

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.num_gpu and not self.gpu_milli:
            raise ValueError(f"0 of each of {self.num_gpu} GPUs: write 1 to 1000, or num_gpu 0")
        if self.deletion_time is not None and self.deletion_time < self.creation_time:
            raise ValueError(f"deletion_time {self.deletion_time} is before creation_time")
        return self


_AnyLine = TypeVar("_AnyLine", bound=_Line)


def read_trace(nodes: str, tasks: str, time_slices: int | None = None) -> Read:
    """The trace of two tables. None exactly when there are findings.

    Tasks arrive by `creation_time`, then in the order of the table; without that column in the
    order of the table. A part of a GPU is assigned as requested, in thousandths; with
    `time_slices` as one of that number of equal shares that the device plugin advertises, or all of
    the GPU where it is larger: a request of more shares gets no more than one
    (NVIDIA/k8s-device-plugin, README, "Shared access to GPUs").
    """
    wrong: list[Finding] = []
    found = [
        TraceNode(row.sn, row.cpu_milli, row.memory_mib, row.gpu, row.model if row.gpu else "")
        for row in _lines(_NodeLine, "nodes", nodes, MOST_NODES, wrong)
    ]
    arrivals: list[TraceTask] = []
    for row in _lines(_TaskLine, "tasks", tasks, MOST_TASKS, wrong):
        models = [part for part in row.gpu_spec.split("|") if part]
        shape = _shape(
            row.cpu_milli, row.memory_mib, row.num_gpu, row.gpu_milli, models, time_slices
        )
        arrivals.append(TraceTask(row.name, shape, row.creation_time, row.deletion_time))
    wrong += [*_repeated("nodes", found), *_repeated("tasks", arrivals)]
    more = len(wrong) - _SHOWN
    if more > 0:
        wrong[_SHOWN:] = [_finding("pack-trace-value/more", wrong[_SHOWN].path, count=more)]
    return _trace(found, arrivals, wrong)


def _lines(
    kind: type[_AnyLine], name: str, text: str, most: int, findings: list[Finding]
) -> Iterator[_AnyLine]:
    """The sound lines of a table; what is wrong with the others is added to the findings."""

    # What a quotation mark opens must close: else it swallows the lines that follow.
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    number = -1
    try:
        reader.fieldnames = given = [(column or "").strip() for column in reader.fieldnames or ()]
        missing = [column for column in kind.COLUMNS if column not in given]
        if missing:
            has, needs = given or "nothing", kind.COLUMNS
            findings.append(
                _finding("pack-trace-columns", name, given=has, missing=missing, columns=needs)
            )
            return
        for number, values in enumerate(reader):
            if number == most:
                return findings.append(_finding("pack-trace-too-long", name, limit=most))
            path = f"{name}[{number}]"
            if None in values or None in values.values():
                findings.append(_finding("pack-trace-value", path))
                continue
            there = {c: v for c, v in values.items() if v.strip().lower() not in _NOTHING}
            line = read_model(kind, there, path, "pack-trace-value", findings)
            if line is not None:
                yield line
    except csv.Error as problem:
        row = _finding("pack-trace-columns/csv", name, line=reader.line_num, problem=str(problem))
        return findings.append(row)
    if number < 0:
        findings.append(_finding("pack-trace-empty", name))
    return None
