"""A trace: the nodes of a cluster, and tasks that arrive one by one; and its two tables, as Alibaba
publishes them.

Compute is in milli-GPUs (1,000 is a whole GPU) and milli-CPUs, host memory in MiB. Columns and
units of the tables are those of alibaba/clusterdata, cluster-trace-gpu-v2023 (README.md at
0c9677bb): `sn,cpu_milli,memory_mib,gpu,model` and `name,cpu_milli,memory_mib,num_gpu,gpu_milli,
gpu_spec,creation_time,deletion_time`. Other columns are ignored.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Annotated, ClassVar, Self, TypeVar

from pydantic import BaseModel, Field, model_validator

from gpufleet.findings import Finding, findings_in
from gpufleet_planner.sizing.request import read_model

_finding = findings_in(__file__)
_SHOWN = 20
"""Findings of one table; the rest is counted."""
WHOLE_GPU = 1000
"""Milli-GPUs of one GPU."""
MOST_NODES = 20_000
MOST_TASKS = 200_000
MOST_SCORES = 50_000_000
"""Different requests times nodes: 16 bytes each."""
MOST_GPUS = 64


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One node, empty."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str
    """GPU model; empty where the node has none."""


@dataclass(frozen=True, slots=True)
class TaskShape:
    """Requested resources of a task. Tasks of one shape are equal."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    milli: int
    """Request of each of its GPUs; 0 exactly where it requests no GPU."""
    models: frozenset[str]
    """GPU models it may use; empty: any."""

    @property
    def gpu_milli(self) -> int:
        """Milli-GPUs in all."""
        return self.gpus * self.milli

    def fits(self, node: TraceNode) -> bool:
        """Whether the empty node has room."""
        return (
            self.cpu_milli <= node.cpu_milli
            and self.memory_mib <= node.memory_mib
            and self.gpus <= node.gpus
            and self.allows(node.model)
        )

    def allows(self, model: str) -> bool:
        """Whether the task may use GPUs of this model."""
        return not self.gpus or not self.models or model in self.models


@dataclass(frozen=True, slots=True)
class TraceTask:
    """One task."""

    name: str
    shape: TaskShape
    created: int
    """Seconds."""
    deleted: int | None
    """Seconds; None: it stays."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Nodes, and tasks in the order of their arrival."""

    nodes: tuple[TraceNode, ...]
    tasks: tuple[TraceTask, ...]


Read = tuple[Trace | None, tuple[Finding, ...]]
Name = Annotated[str, Field(min_length=1, max_length=253)]
Seconds = Annotated[int, Field(ge=0, le=10**12)]
_Gpus = Annotated[int, Field(ge=0, le=MOST_GPUS)]
_Milli = Annotated[int, Field(ge=0, le=10**8)]
_Mebibytes = Annotated[int, Field(ge=0, le=10**9)]
_NOTHING = ("", "nan", "none")


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
        gpus, milli = row.num_gpu, row.gpu_milli if row.num_gpu else 0
        if gpus == 1 and time_slices is not None:
            milli = WHOLE_GPU // time_slices if milli * time_slices <= WHOLE_GPU else WHOLE_GPU
        models = frozenset(part for part in row.gpu_spec.split("|") if part and gpus)
        shape = TaskShape(row.cpu_milli, row.memory_mib, gpus, milli, models)
        arrivals.append(TraceTask(row.name, shape, row.creation_time, row.deletion_time))
    wrong += [*_repeated("nodes", found), *_repeated("tasks", arrivals)]
    more = len(wrong) - _SHOWN
    if more > 0:
        wrong[_SHOWN:] = [_finding("pack-trace-value/more", wrong[_SHOWN].path, count=more)]
    shapes, nodes_read, limit = len({task.shape for task in arrivals}), len(found), MOST_SCORES
    if not wrong and (pairs := shapes * nodes_read) > limit:
        wrong = [
            _finding(
                "pack-trace-too-varied", shapes=shapes, nodes=nodes_read, found=pairs, limit=limit
            )
        ]
    if wrong:
        return None, tuple(wrong)
    return Trace(tuple(found), tuple(sorted(arrivals, key=lambda task: task.created))), ()


def _repeated(section: str, rows: Iterable[TraceNode | TraceTask]) -> Iterator[Finding]:
    for name, count in Counter(row.name for row in rows).items():
        if count > 1:
            yield _finding("pack-name-repeated", section, name=name)


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
