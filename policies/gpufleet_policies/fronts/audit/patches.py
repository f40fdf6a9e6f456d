"""Changes that fix findings: one patch for each object."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.findings import Finding
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.resolve.json_patch import Operation

ENDS_RUNS = frozenset({"activeDeadlineSeconds", "expireAfter", "terminationGracePeriod"})
"""Fields that end a running workload. Only the owner of a run knows their value, so no patch of an
audit writes them."""


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """The patch of one object, as far as no user decision is needed."""

    file: str
    line: int
    """First line of the object."""
    object: str
    rules: tuple[str, ...]
    operations: tuple[Operation, ...]

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "file": self.file,
            "line": self.line,
            "object": self.object,
            "rules": list(self.rules),
            "patch": [dict(operation) for operation in self.operations],
        }


def object_patches(
    result: Audit, chosen: Callable[[Finding], bool] = lambda _: True
) -> list[ObjectPatch]:
    """The patch of each object that has one, of the chosen findings, in the order of the inputs."""
    found: dict[tuple[str, int, str], list[Finding]] = {}
    for one in filter(chosen, result.findings):
        if offered(one):
            locator = one.locator
            found.setdefault((one.file, locator.line, str(locator)), []).append(one)
    return [
        ObjectPatch(
            file, line, name, tuple(dict.fromkeys(f.code for f in findings)), _operations(findings)
        )
        for (file, line, name), findings in found.items()
    ]


def offered(one: Finding) -> tuple[Operation, ...]:
    """The operations that an audit offers for a finding: none where one of them ends runs."""
    operations = one.remediation
    return () if any(_ends_runs(operation) for operation in operations) else operations


def _ends_runs(operation: Operation) -> bool:
    value = operation.get("value")
    written = {str(operation["path"]).rpartition("/")[2]}
    if isinstance(value, Mapping):
        written.update(str(key) for key in cast("Mapping[Any, Any]", value))
    return operation["op"] != "remove" and not ENDS_RUNS.isdisjoint(written)


def _operations(findings: Iterable[Finding]) -> tuple[Operation, ...]:
    """Each operation once; the last of two that write the same place."""
    written: dict[str, Operation] = {}
    others: list[Operation] = []
    for one in findings:
        for operation in offered(one):
            if operation["op"] == "add" and not str(operation["path"]).endswith("/-"):
                written[str(operation["path"])] = operation
            elif operation not in others:
                others.append(operation)
    # Removals from the end, so that indices before them stay right.
    removals = [o for o in others if o["op"] == "remove"]
    rest = [o for o in others if o["op"] != "remove"]
    removals.sort(key=lambda o: _order(str(o["path"])), reverse=True)
    return (*rest, *written.values(), *removals)


def _order(path: str) -> list[tuple[int, str]]:
    return [(int(step), "") if step.isdecimal() else (-1, step) for step in path.split("/")[1:]]
