"""Pulumi resources as facts: Kubernetes objects that make pods, and GpuFleet."""

from collections.abc import Callable, Mapping
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet_policies.adapters.fleet import fleet_from
from gpufleet_policies.adapters.plain import plain
from gpufleet_policies.adapters.pod_templates import KINDS
from gpufleet_policies.adapters.reading import at
from gpufleet_policies.adapters.workload import workload_from
from gpufleet_policies.facts import FleetFacts, Locator, Workload

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


def is_judged(resource_type: str) -> bool:
    """Whether any rule could have something to say about resources of this type."""
    return resource_type == FLEET_TYPE or group_and_kind(resource_type) in KINDS


def from_pulumi_props(
    resource_type: str,
    properties: Any,
    name: str,
    urn: str,
    catalogue: Callable[[], Catalogue],
) -> FleetFacts | Workload | None:
    """The facts of one resource; None when it is of no interest.

    `properties` is what the SDK hands to a policy, `name` what the program calls the resource.
    """
    if not is_judged(resource_type):
        return None
    document = plain(properties)
    if not isinstance(document, Mapping):
        return None
    if resource_type == FLEET_TYPE:
        return fleet_from(document, Locator("GpuFleet", name, urn=urn))
    found = group_and_kind(resource_type)
    assert found is not None
    group, kind = found
    return workload_from(document, _locator(document, kind, name, urn), group, catalogue)


def _locator(document: Mapping[str, Any], kind: str, name: str, urn: str) -> Locator:
    """Named as in the cluster; a generated name is replaced by the program's."""
    written = at(document, "metadata.name")
    namespace = at(document, "metadata.namespace")
    return Locator(
        kind,
        written if isinstance(written, str) else name,
        namespace if isinstance(namespace, str) else "",
        urn,
    )
