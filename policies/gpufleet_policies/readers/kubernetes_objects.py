"""One Kubernetes object as facts, whatever its kind."""

from collections.abc import Iterator
from typing import Any

from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.configurations.recognition import OBJECTS
from gpufleet_policies.readers import autoscaler, claims, nodes
from gpufleet_policies.readers.blocks import inside, own_texts
from gpufleet_policies.readers.kubernetes_kinds import READERS
from gpufleet_policies.readers.members import APP_WRAPPER, QUEUE, has_members, members_of
from gpufleet_policies.readers.nvidia_objects import config_object
from gpufleet_policies.readers.object_shape import refused_shape
from gpufleet_policies.readers.other_kinds import cannot_concern_gpus, is_validated_by_definition
from gpufleet_policies.readers.placeholders import is_filled_in
from gpufleet_policies.readers.pod_templates import KINDS
from gpufleet_policies.readers.raw_objects import KINDS as RAW_KINDS
from gpufleet_policies.readers.reading import at, place_of
from gpufleet_policies.readers.workload import workload_from
from gpufleet_policies.wrappers.judged import NotJudged


def is_validated_kind(group: str, kind: str) -> bool:
    """Whether objects of a kind give any facts."""
    found = (group, kind)
    return (
        found in KINDS
        or found in READERS
        or found in OBJECTS
        or found in autoscaler.KINDS
        or found in claims.KINDS
        or found in RAW_KINDS
    )


def group_of(api_version: Any) -> str:
    """API group of an `apiVersion`; empty for core."""
    written = api_version if isinstance(api_version, str) else ""
    return written.partition("/")[0] if "/" in written else ""


def is_left_to_its_owner(document: dict[str, Any]) -> bool:
    """Whether an object of a cluster needs no separate verdict.

    Its owner is checked instead where a rule reads the owner's kind, and ended pods hold nothing.
    """
    if at(document, "status.phase") in ("Succeeded", "Failed") and document.get("kind") == "Pod":
        return True
    for owner in items(at(document, "metadata.ownerReferences")):
        kind = at(owner, "kind")
        if at(owner, "controller") is True and isinstance(kind, str):
            found = (group_of(at(owner, "apiVersion")), kind)
            return found in KINDS or found == APP_WRAPPER
    return False


def object_locator(
    document: dict[str, Any], name: str = "", urn: str = "", path: str = "", line: int = 0
) -> Locator:
    """Name of an object: its own, else `name`; generated names keep their prefix."""
    written = at(document, "metadata.name")
    if not isinstance(written, str):
        written = name or f"{at(document, 'metadata.generateName') or '(unnamed)'}"
    namespace = at(document, "metadata.namespace")
    kind = document.get("kind")
    return Locator(
        kind if isinstance(kind, str) else "?",
        written,
        namespace if isinstance(namespace, str) else "",
        urn,
        path,
        line,
    )


_PODS = ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
"""Path of the pod spec in a Pod, a controller and a CronJob."""


def _kinds_of_others(document: dict[str, Any], kind: str) -> Iterator[str]:
    """Kinds of configuration that an object is validated with. Karpenter has only the machines of
    its pools for pods that select one. Kueue's queue must cover what is requested. A ClusterPolicy
    names a ConfigMap of counters."""
    if kind == "ConfigMap":
        if any(str(key).endswith(".csv") for key in mapping(document.get("data"))):
            yield "gpu-operator-values"
        return
    pods = [mapping(inside(document, place)) for place in _PODS]
    if any("nodeSelector" in pod and _asks(pod) for pod in pods):
        yield "karpenter"
    if QUEUE in mapping(inside(document, "metadata.labels")):
        yield "kueue"


def _asks(pod: dict[str, Any]) -> bool:
    """Whether pods request GPUs."""
    limits = [mapping(inside(c, "resources.limits")) for c in items(pod.get("containers"))]
    return any("nvidia.com/gpu" in one for one in limits)


def facts_of_object(
    document: dict[str, Any],
    path: str = "",
    *,
    line: int = 0,
    name: str = "",
    urn: str = "",
) -> Iterator[Any]:
    """Every fact of one object; none for kinds that no rule reads."""
    if has_members(document):
        for _, member in members_of(document):
            if is_mapping(member) and "kind" in member and "apiVersion" in member:
                yield from facts_of_object(member, path, line=line, urn=urn)
        return
    group = group_of(document.get("apiVersion"))
    locator = object_locator(document, name, urn, path, line)
    if locator.kind == "Pod":
        yield from nodes.pod(document, locator)
    if is_left_to_its_owner(document):
        return
    for found in (
        workload_from(document, locator, group),
        autoscaler.autoscaler_from(document, locator, group),
        claims.claim_from(document, locator, group),
    ):
        if found is not None:
            yield found
    reader = READERS.get((group, locator.kind))
    if reader is not None:
        yield from reader(document, locator)
    if raw := RAW_KINDS.get((group, locator.kind)):
        yield raw(locator=locator, document=document, annotations=own_texts(document))
    own = OBJECTS.get((group, locator.kind))
    by_definition = is_validated_by_definition(document, group, locator.kind)
    if own is None:
        shape = tuple(refused_shape(document, locator, fitting=by_definition))
        yield from shape
        if by_definition and not shape:
            reason = "values are missing or filled in by a tool"
            yield NotJudged(locator=locator, what="variable", reason=reason)
    for kind in _kinds_of_others(document, locator.kind) if own is None else (own,):
        yield config_object(document, locator, kind)
    if own is not None and (place := place_of(document, is_filled_in)) is not None:
        reason = "a tool fills in values, which are not known"
        yield NotJudged(locator=locator, what="variable", reason=reason, place=place)
    if (
        own is None
        and not is_validated_kind(group, locator.kind)
        and not by_definition
        and not cannot_concern_gpus(group, locator.kind)
    ):
        name = f"{group}/{locator.kind}" if group else locator.kind
        yield NotJudged(locator=locator, what="kind", reason=f"no rule reads objects of {name}")
