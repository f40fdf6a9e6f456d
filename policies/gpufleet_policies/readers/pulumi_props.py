"""Pulumi resources as facts: typed cloud resources, Kubernetes objects, charts, GpuFleet."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpufleet.cluster import Locator
from gpufleet.cluster.pool import NodePool
from gpufleet.documents.shapes import is_mapping
from gpufleet_policies.readers.kubernetes_objects import (
    facts_of_object,
    group_of,
    is_validated_kind,
)
from gpufleet_policies.readers.plain import plain
from gpufleet_policies.readers.pulumi_types import KINDS, READERS
from gpufleet_policies.readers.releases import opened
from gpufleet_policies.wrappers.judged import NotJudged, UnopenedRelease

FLEET_TYPE = "gpufleet:index:GpuFleet"
"""Type token of the component whose properties hold the compiled fleet."""


def group_and_kind(resource_type: str) -> tuple[str, str] | None:
    """API group and kind of a `kubernetes:<group>/<version>:<Kind>` type token.

    None for everything else, the SDK's `...Patch` resources among them: those hold a part of an
    object, and what is missing there proves nothing.
    """
    package, _, rest = resource_type.partition(":")
    group_version, _, kind = rest.partition(":")
    if package != "kubernetes" or not kind:
        return None
    group = group_version.partition("/")[0]
    return ("" if group == "core" else group, kind)


def is_validated(resource_type: str) -> bool:
    """Whether any rule reads resources of this type."""
    if resource_type in READERS:
        return True
    found = group_and_kind(resource_type)
    return found is not None and is_validated_kind(*found)


def facts_from_pulumi(
    resource_type: str,
    properties: Any,
    name: str,
    urn: str,
) -> tuple[Any, ...]:
    """The facts of one resource; empty when it is of no interest. Without what is not validated,
    for which an engine has no list.

    `properties` is what the SDK hands to a policy, or what a preview or state holds; `name` is what
    the program calls the resource.
    """
    if not is_validated(resource_type):
        return ()
    document = plain(properties)
    if not is_mapping(document):
        return ()
    facts = facts_of_properties(resource_type, dict(document), name, urn)
    found = (one for fact in facts for one in _opened(fact))
    return tuple(one for one in found if type(one) is not NotJudged)


def facts_of_properties(
    resource_type: str,
    document: dict[str, Any],
    name: str,
    urn: str,
    path: str = "",
) -> tuple[Any, ...]:
    """The facts of one resource whose properties are plain already."""
    reader = READERS.get(resource_type)
    if reader is not None:
        locator = Locator(KINDS[resource_type], name, urn=urn, file=path, annotated=False)
        found = tuple(reader(document, locator))
    else:
        kind = group_and_kind(resource_type)
        if kind is None:
            return ()
        written = document.get("apiVersion")
        known_object = {key: value for key, value in document.items() if value is not None}
        known_object["kind"] = kind[1]
        if not isinstance(written, str) or group_of(written) != kind[0]:
            known_object["apiVersion"] = resource_type.split(":")[1].removeprefix("core/")
        facts = facts_of_object(known_object, path, name=name, urn=urn)
        found = tuple(one for fact in facts for one in _opened(fact))
    if _INSIDE_FLEET not in urn:
        return found
    return tuple(replace(f, in_fleet=True) if isinstance(f, NodePool) else f for f in found)


def _opened(fact: Any) -> Iterator[Any]:
    """A release without the objects it refers to, which are separate resources."""
    if type(fact) is UnopenedRelease:
        yield from opened(fact.release, fact.locator, fact.annotations)
    else:
        yield fact


_INSIDE_FLEET = f"{FLEET_TYPE}$"
"""Type in the URNs of all resources below GpuFleet."""
