"""The plan against the engine: what `pulumi preview --json` replaces or deletes, and the plan does
not foresee, and the reverse."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from gpufleet.change.live_node import objects
from gpufleet.change.plan import ChangePlan, ResourceOperation
from gpufleet.documents.paths import mapping_at
from gpufleet.findings import Finding, findings_in, ordered
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.platform_rules import platform_rules

_finding = findings_in(__file__)

_REPLACED = frozenset(
    {"replace", "create-replacement", "delete-replaced", "import-replacement", "discard-replaced"}
)
_OPERATIONS = {
    "delete": ResourceOperation.DELETE,
    "create": ResourceOperation.CREATE,
    "import": ResourceOperation.CREATE,
    "update": ResourceOperation.UPDATE,
}
_HARD = frozenset({ResourceOperation.REPLACE, ResourceOperation.DELETE})
_COMPONENT = "gpufleet:index:"
_NO_RESOURCES = (_COMPONENT, "pulumi:providers:", "pulumi:pulumi:")


_WORDS = {
    "make": ResourceOperation.CREATE,
    "change": ResourceOperation.UPDATE,
    "replace": ResourceOperation.REPLACE,
    "remove": ResourceOperation.DELETE,
}
"""What a group of machines says of one of them."""


@dataclass(frozen=True, slots=True)
class PreviewedResource:
    """What the engine would do to one resource."""

    urn: str
    type: str
    name: str
    parent: str
    """Name of its component; empty without one."""
    operation: ResourceOperation


def read_preview(document: Mapping[str, Any]) -> tuple[PreviewedResource, ...]:
    """Every resource that a preview creates, updates, replaces or deletes, components left out.

    Raises ValueError for anything but what `pulumi preview --json` prints.
    """
    steps = document.get("steps")
    if not isinstance(steps, list) or not isinstance(document.get("changeSummary"), Mapping):
        raise ValueError("a preview is wanted, as `pulumi preview --json` prints it")  # noqa: TRY004
    if any(one.get("severity") == "error" for one in objects(document.get("diagnostics"))):
        # The text of a diagnostic is not repeated: it is another program's, and may hold anything.
        raise ValueError("the preview ended in an error, so its steps are not all there")
    found: dict[str, PreviewedResource] = {}
    for step in cast("list[Any]", steps):
        given = cast("dict[str, Any]", step) if isinstance(step, Mapping) else {}
        one = _resource(given)
        if one is not None and (one.urn not in found or one.operation is ResourceOperation.REPLACE):
            found[one.urn] = one
            found.update({machine.urn: machine for machine in _machines(given, one)})
    return tuple(found.values())


def _resource(step: Mapping[str, Any]) -> PreviewedResource | None:
    operation, urn = str(step.get("op")), str(step.get("urn"))
    kind = ResourceOperation.REPLACE if operation in _REPLACED else _OPERATIONS.get(operation)
    parts = urn.split("::")
    if kind is None or len(parts) < 4:
        return None
    token = parts[2].rpartition("$")[2]
    if token.startswith(_NO_RESOURCES):
        return None
    states = [mapping_at(step, key) for key in ("newState", "oldState")]
    parents = [str(one.get("parent", "")) for one in states]
    parent = next((one for one in parents if _COMPONENT in one), "")
    return PreviewedResource(urn, token, parts[3], parent.rpartition("::")[2], kind)


def _machines(step: Mapping[str, Any], group: PreviewedResource) -> Iterator[PreviewedResource]:
    """The machines of a resource that makes several, by what its `plan` says of each."""
    inputs = mapping_at(mapping_at(step, "newState"), "inputs")
    plan, nodes = mapping_at(inputs, "plan"), mapping_at(inputs, "nodes")
    for key in nodes:
        word = str(plan.get(str(mapping_at(nodes, key).get("name")), "")).partition(":")[0]
        operation = _WORDS.get(word)
        if operation is not None:
            yield replace(
                group, urn=f"{group.urn}/{key}", name=f"{group.parent}-{key}", operation=operation
            )


def validate_preview(
    plan: ChangePlan, old: Fleet, new: Fleet, previewed: Sequence[PreviewedResource]
) -> tuple[Finding, ...]:
    """Replacements and deletions of which only one of plan and engine knows."""
    names = sorted({p.name for fleet in (old, new) for p in fleet.pools}, key=len, reverse=True)
    of_pools: dict[str, dict[str, PreviewedResource]] = {name: {} for name in names}
    others: list[PreviewedResource] = []
    for one in previewed:
        pool = _pool_of(one, names)
        if pool is None:
            others.append(one)
        else:
            of_pools[pool][one.name.removeprefix(f"{one.parent}-")] = one
    findings = [
        finding
        for name in reversed(names)
        for finding in _of_pool(plan, name, (old, new), of_pools[name])
    ]
    return ordered([*findings, *_others(others)])


def _pool_of(one: PreviewedResource, names: Iterable[str]) -> str | None:
    parent = one.parent
    return next((name for name in names if parent == name or parent.endswith(f"-{name}")), None)


def _of_pool(
    plan: ChangePlan, name: str, fleets: tuple[Fleet, Fleet], found: Mapping[str, PreviewedResource]
) -> Iterator[Finding]:
    change = plan.pool(name)
    rules = platform_rules(fleets[1].platform)
    planned = {rules.engine_name(one.resource): one for one in change.engine}
    for suffix, one in found.items():
        own = planned.get(suffix)
        if one.operation in _HARD and (own is None or own.operation not in _HARD):
            said = "leaves it" if own is None else f"{own.operation.value}s it"
            yield _finding(
                "preview-unforeseen",
                change.path,
                operation=one.operation.value,
                resource=one.name,
                type=one.type,
                name=name,
                said=said,
                urn=one.urn,
            )
    for suffix, own in planned.items():
        one = found.get(suffix)
        if own.operation in _HARD and (one is None or one.operation not in _HARD):
            does = "leaves it" if one is None else f"{one.operation.value}s it"
            yield _finding(
                "preview-lacks",
                change.path,
                operation=own.operation.value,
                resource=own.resource,
                name=name,
                does=does,
            )


def _others(found: Sequence[PreviewedResource]) -> Iterator[Finding]:
    for one in found:
        if one.operation in _HARD:
            yield _finding(
                "preview-replaces-other",
                operation=one.operation.value,
                resource=one.name,
                type=one.type,
                urn=one.urn,
            )
