"""Changes that fix findings: one patch for each object, and new objects to create."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.findings import Finding
from gpufleet.findings.creation import Creation
from gpufleet_policies.fronts.audit.created import manifest
from gpufleet_policies.fronts.audit.run import Audit

Operation = Mapping[str, Any]
ENDS_RUNS = frozenset({"activeDeadlineSeconds", "expireAfter", "terminationGracePeriod"})
"""Fields that end what runs. What they should be is known to the owner of a run alone, so no patch
of an audit writes them."""


class PatchConflictError(ValueError):
    """An operation does not fit the document."""


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """What fixes one object, as far as no person is needed."""

    file: str
    line: int
    """First line of the object."""
    object: str
    rules: tuple[str, ...]
    operations: tuple[Operation, ...]
    creates: tuple[Creation, ...] = ()
    """Objects to create in addition."""

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "file": self.file,
            "line": self.line,
            "object": self.object,
            "rules": list(self.rules),
            "patch": [dict(operation) for operation in self.operations],
            "create": [manifest(creation) for creation in self.creates],
        }


def object_patches(
    result: Audit, chosen: Callable[[Finding], bool] = lambda _: True
) -> list[ObjectPatch]:
    """The patch of each object that has one, of the chosen findings, in the order of the inputs."""
    found: dict[tuple[str, int, str], list[Finding]] = {}
    for one in filter(chosen, result.findings):
        if offered(one) or one.creates:
            locator = one.locator
            found.setdefault((one.file, locator.line, str(locator)), []).append(one)
    return [
        ObjectPatch(
            file,
            line,
            name,
            _rules(findings),
            _operations(findings),
            tuple(creation for one in findings for creation in one.creates),
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


def _rules(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.code for one in findings))


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


def patched(document: Any, operations: Iterable[Operation]) -> Any:
    """A copy of plain data with `add`, `replace` and `remove` of RFC 6902 carried out.

    Raises PatchConflictError when a place is missing or not known.
    """
    result = copy.deepcopy(document)
    for operation in operations:
        _apply(result, operation)
    return result


def _apply(document: Any, operation: Operation) -> None:
    path = str(operation["path"])
    steps = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    if not steps:
        raise PatchConflictError("the whole object cannot be replaced")
    here = document
    for step in steps[:-1]:
        here = _inside(here, step, path)
    name, last = operation["op"], steps[-1]
    if isinstance(here, dict):
        entries = cast("dict[Any, Any]", here)
        if name != "add" and last not in entries:
            raise PatchConflictError(f"{path} is not there")
        if name == "remove":
            del entries[last]
        else:
            entries[last] = copy.deepcopy(operation["value"])
    elif isinstance(here, list):
        items = cast("list[Any]", here)
        if name == "add" and last == "-":
            items.append(copy.deepcopy(operation["value"]))
            return
        index = _index(items, last, path)
        if name == "remove":
            del items[index]
        elif name == "add":
            items.insert(index, copy.deepcopy(operation["value"]))
        else:
            items[index] = copy.deepcopy(operation["value"])
    else:
        raise PatchConflictError(f"{path} is inside of no mapping or list")


def _inside(here: Any, step: str, path: str) -> Any:
    if isinstance(here, dict) and step in here:
        value = cast("dict[Any, Any]", here)[step]
        if value is not UNKNOWN:
            return value
    if isinstance(here, list):
        items = cast("list[Any]", here)
        return items[_index(items, step, path)]
    raise PatchConflictError(f"{path}: there is no {step!r}")


def _index(here: list[Any], step: str, path: str) -> int:
    if not step.isdecimal() or int(step) >= len(here):
        raise PatchConflictError(f"{path}: there is no item {step}")
    return int(step)
