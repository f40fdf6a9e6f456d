"""Resources in the output of `pulumi preview --json`, and differences from a change plan."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from gpufleet.change.live_node import objects
from gpufleet.change.plan import ChangePlan, ResourceOperation
from gpufleet.documents.paths import mapping_at
from gpufleet.fleet.model import Fleet

_REPLACED = frozenset(
    {"replace", "create-replacement", "delete-replaced", "import-replacement", "discard-replaced"}
)
_OPERATIONS = {
    "delete": ResourceOperation.DELETE,
    "create": ResourceOperation.CREATE,
    "import": ResourceOperation.CREATE,
    "update": ResourceOperation.UPDATE,
}
HARD = frozenset({ResourceOperation.REPLACE, ResourceOperation.DELETE})
_COMPONENT = "gpufleet:index:"
_NO_RESOURCES = (_COMPONENT, "pulumi:providers:", "pulumi:pulumi:")


_WORDS = {
    "make": ResourceOperation.CREATE,
    "change": ResourceOperation.UPDATE,
    "replace": ResourceOperation.REPLACE,
    "remove": ResourceOperation.DELETE,
}
"""The entry of one machine in the plan of a group of machines."""


@dataclass(frozen=True, slots=True)
class PreviewedResource:
    """Operation of the engine on one resource."""

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
        raise ValueError("a preview is wanted, as `pulumi preview --json` prints it")
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
    """The machines of a resource that creates several, by the entries of its `plan`."""
    inputs = mapping_at(mapping_at(step, "newState"), "inputs")
    plan, nodes = mapping_at(inputs, "plan"), mapping_at(inputs, "nodes")
    for key in nodes:
        word = str(plan.get(str(mapping_at(nodes, key).get("name")), "")).partition(":")[0]
        operation = _WORDS.get(word)
        if operation is not None:
            yield replace(
                group, urn=f"{group.urn}/{key}", name=f"{group.parent}-{key}", operation=operation
            )


NAMES: Mapping[str, Mapping[str, str]] = {
    "eks": {
        "nodeGroup": "group",
        "launchTemplate": "template",
        "placementGroup": "placement",
        "tag": "tag-{}",
        "nodePool": "pool",
        "nodeClass": "class",
        "nodeOverlay": "overlay",
    },
    "gke": {"nodePool": "{}", "placement": "{}-placement", "computeClass": "class"},
}
"""Platform -> kind of resource of a plan -> what the engine's name of it has behind the component's
name; `{}` is what is apart."""


def _engine_name(platform: str, resource: str) -> str:
    kind, _, apart = resource.partition("/")
    # A pool of GKE that is bought in one way has one node pool.
    return NAMES.get(platform, {}).get(kind, "{}").format(apart or "pool")


def differences(
    plan: ChangePlan, old: Fleet, new: Fleet, previewed: Sequence[PreviewedResource]
) -> list[str]:
    """Replacements and deletions that only the plan, or only the engine, has."""
    names = sorted({p.name for fleet in (old, new) for p in fleet.pools}, key=len, reverse=True)
    of_pools: dict[str, dict[str, PreviewedResource]] = {name: {} for name in names}
    found: list[str] = []
    for one in previewed:
        pool = _pool_of(one, names)
        if pool is not None:
            of_pools[pool][one.name.removeprefix(f"{one.parent}-")] = one
        elif one.operation in HARD:
            found.append(f"{one.urn}: {one.operation.value}, and makes no nodes")
    for name, resources in of_pools.items():
        engine = {
            _engine_name(new.platform.name, one.resource): one.operation
            for one in plan.pool(name).engine
        }
        real = {suffix: one.operation for suffix, one in resources.items()}
        for suffix in {*engine, *real}:
            planned, does = engine.get(suffix), real.get(suffix)
            if (planned in HARD) != (does in HARD):
                found.append(f"{name}-{suffix}: the plan says {planned}, the engine {does}")
    return found


def _pool_of(one: PreviewedResource, names: Iterable[str]) -> str | None:
    parent = one.parent
    return next((name for name in names if parent == name or parent.endswith(f"-{name}")), None)
