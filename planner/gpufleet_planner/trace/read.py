"""Reads the two tables of a trace, as Alibaba publishes them: nodes and tasks.

Columns and units are those of alibaba/clusterdata, cluster-trace-gpu-v2023 (README.md at 0c9677bb):
`sn,cpu_milli,memory_mib,gpu,model` and `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,
creation_time,deletion_time`. Other columns are ignored.
"""

import csv
from collections.abc import Iterator, Mapping
from io import StringIO

from gpufleet.findings import Finding, error
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

_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_TASK_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_SHOWN = 20
"""Findings of one table; the rest is counted."""


def read_trace(
    nodes: str, tasks: str, sharing: GpuSharing
) -> tuple[Trace | None, tuple[Finding, ...]]:
    """The trace of two tables. None exactly when there are findings.

    Tasks arrive by `creation_time`, then in the order of the table; without that column in the
    order of the table. A part of a GPU counts as what `sharing` hands out for it.
    """
    node_table = _Table("nodes", nodes, _NODE_COLUMNS, MOST_NODES)
    task_table = _Table("tasks", tasks, _TASK_COLUMNS, MOST_TASKS)
    found = [node for row in node_table if (node := _node(row)) is not None]
    arrivals = [task for row in task_table if (task := _task(row, sharing)) is not None]
    node_table.unique([node.name for node in found])
    task_table.unique([task.name for task in arrivals])
    findings = (*node_table.findings, *task_table.findings)
    findings = findings or too_varied(arrivals, len(found))
    if findings:
        return None, findings
    arrivals.sort(key=lambda task: task.created)
    return Trace(tuple(found), tuple(arrivals)), ()


class _Row:
    """One line of a table: values by column, and the place of each."""

    def __init__(self, table: "_Table", number: int, values: Mapping[str | None, object]) -> None:
        self._table, self._number = table, number
        self._values = values
        self.sound = True

    def text(self, column: str) -> str:
        """The value; empty where it is `nan` or the column is missing."""
        value = self._values.get(column)
        text = value.strip() if isinstance(value, str) else ""
        return "" if text.lower() in ("nan", "none") else text

    def number(self, column: str, default: int | None, most: int) -> int:
        """The value as a whole number of 0 to `most`. `default` None: it must be there."""
        text = self.text(column)
        if not text and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= most or value != int(value):
            self.wrong(column, f"{text!r} is not a whole number of 0 to {most}", "write one")
            return 0
        return int(value)

    def wrong(self, column: str, message: str, fix: str) -> None:
        """Report a value."""
        self.sound = False
        path = f"{self._table.name}[{self._number}]" + (f".{column}" if column else "")
        self._table.report("pack-trace-value", path, message, fix)


class _Table:
    """One CSV file and what is wrong with it."""

    def __init__(self, name: str, text: str, columns: tuple[str, ...], most: int) -> None:
        self.name = name
        # What a quotation mark opens must close: else it swallows the lines that follow.
        self._reader = csv.DictReader(StringIO(text, newline=""), strict=True)
        self._most = most
        self._found: list[Finding] = []
        self._more = 0
        given: list[str] = []
        try:
            given = [(column or "").strip() for column in self._reader.fieldnames or ()]
        except csv.Error as problem:
            self._unreadable(problem)
        self._reader.fieldnames = given
        self._missing = [column for column in columns if column not in given]
        if self._missing:
            self.report(
                "pack-trace-columns",
                name,
                f"the first line lacks the column{'s' * (len(self._missing) > 1)} "
                f"{', '.join(self._missing)}; it has {', '.join(given) or 'nothing'}",
                f"write a CSV table with the columns {', '.join(columns)}",
            )

    def __iter__(self) -> Iterator[_Row]:
        if self._missing:
            return
        number = -1
        for number, values in enumerate(self._rows()):
            if number == self._most:
                self.report(
                    "pack-trace-too-long",
                    self.name,
                    f"more than {self._most} lines",
                    "take a part of the trace",
                )
                return
            row = _Row(self, number, values)
            if None in values or None in values.values():
                row.wrong("", "the line has more or fewer values than the first", "complete it")
            else:
                yield row
        if number < 0 and not self._found:
            self.report(
                "pack-trace-empty", self.name, "there is no line after the first", "add one"
            )

    def _rows(self) -> Iterator[Mapping[str | None, object]]:
        try:
            yield from self._reader
        except csv.Error as problem:
            self._unreadable(problem)

    def _unreadable(self, problem: csv.Error) -> None:
        line = self._reader.line_num
        self.report(
            "pack-trace-columns",
            self.name,
            f"line {line} is not valid CSV: {problem}",
            "write a CSV table",
        )

    def report(self, code: str, path: str, message: str, fix: str) -> None:
        """Add a finding, or count it where there are many."""
        if len(self._found) < _SHOWN:
            self._found.append(error(code, path, message, fix))
        else:
            self._more += 1

    def unique(self, names: list[str]) -> None:
        """Report names that are there twice."""
        seen: set[str] = set()
        for name in names:
            if name in seen:
                self.report(
                    "pack-name-repeated", self.name, f"{name!r} is there twice", "rename one"
                )
            seen.add(name)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong."""
        if not self._more:
            return tuple(self._found)
        rest = error(
            "pack-trace-value", self.name, f"{self._more} more values are wrong in this way"
        )
        return (*self._found, rest)


def _node(row: _Row) -> TraceNode | None:
    name, model = row.text("sn"), row.text("model")
    gpus = row.number("gpu", 0, MOST_GPUS)
    cpu, memory = row.number("cpu_milli", None, 10**8), row.number("memory_mib", None, 10**9)
    if not name:
        row.wrong("sn", "a node needs a name", "write one")
    if gpus and not model:
        row.wrong("model", f"{gpus} GPUs of no model", "write the model")
    return TraceNode(name, cpu, memory, gpus, model if gpus else "") if row.sound else None


def _task(row: _Row, sharing: GpuSharing) -> TraceTask | None:
    name = row.text("name")
    gpus = row.number("num_gpu", 0, MOST_GPUS)
    milli = row.number("gpu_milli", WHOLE_GPU if gpus else 0, WHOLE_GPU)
    cpu, memory = row.number("cpu_milli", 0, 10**8), row.number("memory_mib", 0, 10**9)
    created = row.number("creation_time", 0, 10**12)
    deleted = row.number("deletion_time", -1, 10**12) if row.text("deletion_time") else None
    if not name:
        row.wrong("name", "a task needs a name", "write one")
    if gpus and not milli and row.sound:
        row.wrong("gpu_milli", f"0 of each of {gpus} GPUs", "write 1 to 1000, or num_gpu 0")
    if deleted is not None and deleted < created:
        row.wrong("deletion_time", f"{deleted} is before creation_time {created}", "swap them")
    if not row.sound:
        return None
    models = frozenset(part for part in row.text("gpu_spec").split("|") if part)
    part = sharing.handed_out(milli) if gpus == 1 else milli
    shape = TaskShape(cpu, memory, gpus, part if gpus else 0, models if gpus else frozenset())
    return TraceTask(name, shape, created, deleted)
