"""Differences in the inputs of the resources that create nodes, and the engine's operations."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.change.plan import FieldDifference, ResourceChange, ResourceOperation
from gpufleet.fleet.input_differences import InputDifference, plain
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.platform_rules import PlatformRules, platform_rules
from gpufleet.spec.base import Ownership

Resources = Mapping[str, Mapping[str, Any]]


def input_differences(old: Fleet, new: Fleet, name: str) -> list[FieldDifference]:
    """Every different input of a pool's resources, with its class."""
    return [one for _, found in _by_resource(old, new, name) for one in found]


def resource_changes(old: Fleet, new: Fleet, name: str) -> tuple[ResourceChange, ...]:
    """The engine's operation on each different resource of a pool."""
    return tuple(
        ResourceChange(resource, _operation(resource, found, old, new, name))
        for resource, found in _by_resource(old, new, name)
        if found
    )


def resources_of(fleet: Fleet, name: str) -> Resources:
    """Resources that the fleet registers for a pool of that name; none if it has no such pool, or
    if its nodes already exist."""
    pool = next((one for one in fleet.pools if one.name == name), None)
    if pool is None or pool.ownership is Ownership.EXISTING:
        return {}
    return platform_rules(pool.platform).registered(fleet, pool)


def _by_resource(old: Fleet, new: Fleet, name: str) -> Iterator[tuple[str, list[FieldDifference]]]:
    before, after = resources_of(old, name), resources_of(new, name)
    rules = platform_rules((new if after else old).platform)
    for resource in dict.fromkeys((*before, *after)):
        one, two = before.get(resource), after.get(resource)
        found = (
            [_whole(rules, resource, before, after)]
            if one is None or two is None
            else list(rules.input_differences(_kind(resource), one, two))
        )
        yield resource, [_shown(resource, difference) for difference in found]


def _whole(
    rules: PlatformRules, resource: str, before: Resources, after: Resources
) -> InputDifference:
    """An added or removed resource. If no machine of a pool stays, its nodes are replaced."""
    one, two = before.get(resource), after.get(resource)
    kind = _kind(resource)
    leaf_class = rules.input_class(kind, "", one, two)
    stay = any(_kind(other) == kind for other in before.keys() & after.keys())
    others = any(_kind(other) == kind for other in after) and two is None
    if kind in rules.node_kinds and others and not stay:
        leaf_class = LeafClass.REPLACEMENT
    return InputDifference("", one, two, leaf_class)


def _operation(
    resource: str, found: list[FieldDifference], old: Fleet, new: Fleet, name: str
) -> ResourceOperation:
    if resource not in resources_of(old, name):
        return ResourceOperation.CREATE
    if resource not in resources_of(new, name):
        return ResourceOperation.DELETE
    replaced = any(one.leaf_class is LeafClass.REPLACEMENT for one in found)
    return ResourceOperation.REPLACE if replaced else ResourceOperation.UPDATE


def _shown(resource: str, one: InputDifference) -> FieldDifference:
    field = f"{resource}.{one.path}" if one.path else resource
    return FieldDifference(field, _text(one.old), _text(one.new), one.leaf_class, one.refusal)


def _text(value: object) -> str:
    if value is None:
        return "none"
    return "declared" if isinstance(value, Mapping) else str(value)


def _kind(resource: str) -> str:
    return plain(resource).partition("/")[0]
