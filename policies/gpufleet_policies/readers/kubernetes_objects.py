"""One Kubernetes object as facts, whatever its kind."""

import csv
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.contract.schemas.newer_fields import newer_fields
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.documents.paths import at_steps
from gpufleet.documents.shapes import is_mapping, items, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.configurations.recognition import OBJECTS
from gpufleet_policies.readers.blocks import inside, own_texts
from gpufleet_policies.readers.cluster_objects import pod
from gpufleet_policies.readers.members import APP_WRAPPER, has_members, members_of
from gpufleet_policies.readers.nvidia_configs import without_unknown
from gpufleet_policies.readers.nvidia_objects import config_object
from gpufleet_policies.readers.pod_templates import KINDS
from gpufleet_policies.readers.raw_objects import KINDS as RAW_KINDS
from gpufleet_policies.readers.raw_objects import RawObject
from gpufleet_policies.readers.reading import (
    at,
    holds_unknown,
    is_filled_in,
    place_of,
    stands_for_another,
)
from gpufleet_policies.readers.releases import releases
from gpufleet_policies.readers.workload import workload_from
from gpufleet_policies.wrappers.judged import NotJudged
from gpufleet_policies.wrappers.registry import OBJECTS as WRAPPERS

with Path(__file__).with_name("kinds.csv").open(newline="", encoding="utf-8") as _file:
    _ROWS = tuple(csv.DictReader(_file))
"""API group and kind, or `*` for all of them, and the function of this folder that reads them."""
_JUDGED_BY = {(row["group"], row["kind"]): row["judged_by"] for row in _ROWS}
"""`nothing`: it makes no pods or nodes and configures nothing that serves GPUs; `definition`: it
configures GPU nodes or operators, and no rule reads it."""


def is_validated_by_definition(document: Mapping[str, Any], group: str, kind: str) -> bool:
    """Whether an object's definition is known, and no rule about its kind would add a finding."""
    by_definition = _JUDGED_BY.get((group, kind)) == "definition"
    return by_definition and has_schema(document.get("apiVersion"), kind)


def cannot_concern_gpus(group: str, kind: str) -> bool:
    """Whether objects of a kind neither make pods or nodes nor configure what serves GPUs."""
    return "nothing" in (_JUDGED_BY.get((group, "*")), _JUDGED_BY.get((group, kind)))


Reader = Callable[[dict[str, Any], Locator], Iterator[Any]]


def reader_named(name: str) -> Reader:
    """`node_pool` of the reader `karpenter`, of `karpenter.node_pool`."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"gpufleet_policies.readers.{module}"), function)


READERS: Mapping[tuple[str, str], Reader] = {
    **{(row["group"], row["kind"]): reader_named(row["reader"]) for row in _ROWS if row["reader"]},
    **dict.fromkeys(WRAPPERS, releases),
}
"""Group and kind -> reader."""


KIND = "kubernetes-object"
_PATCH = "$patch"
"""Key of a strategic merge patch."""


def refused_shape(
    document: dict[str, Any], locator: Locator, *, fitting: bool = False
) -> Iterator[Any]:
    """The object as a configuration, where its schema refuses it, or where the cluster's version
    may not have it; with `fitting`, also where it fits its schema.

    A missing field proves nothing: the object may be a patch, or complete in another file. An
    object with unreadable parts is not validated: its lists may be incomplete. Texts that will be
    replaced are listed as not validated.
    """
    if _PATCH in document or not has_schema(document.get("apiVersion"), document.get("kind")):
        return
    if holds_unknown(document):
        return
    problems = schema_problems(document)
    replaced = [one for one in problems if _will_be_replaced(one, document)]
    if replaced:
        reason = "a tool or a person fills in values, which are not known"
        yield NotJudged(locator=locator, what="variable", reason=reason, place=replaced[0].path)
        document, _ = without_unknown(document, stands_for_another)
    fits = fitting and not problems
    kinds = {one.kind for one in problems if one not in replaced}
    proven = kinds - {SchemaProblemKind.REQUIRED}
    if not fits and not proven and not newer_fields(document):
        return
    yield NvidiaConfig(
        locator=locator,
        annotations=known_texts(inside(document, "metadata.annotations")),
        kind=KIND,
        document=document,
        complete=False,
    )


def _will_be_replaced(problem: SchemaProblem, document: Any) -> bool:
    if problem.kind in (SchemaProblemKind.REQUIRED, SchemaProblemKind.UNKNOWN):
        return False
    here = at_steps(document, problem.steps)
    if problem.kind is SchemaProblemKind.CONDITION:  # an expression reads fields below its place
        return place_of(here, stands_for_another) is not None
    return stands_for_another(here)


def is_validated_kind(group: str, kind: str) -> bool:
    """Whether objects of a kind give any facts."""
    found = (group, kind)
    return found in KINDS or found in READERS or found in OBJECTS or found in RAW_KINDS


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
    written, prefix = (at(document, f"metadata.{key}") for key in ("name", "generateName"))
    if not isinstance(written, str):
        written = name or (prefix if prefix and isinstance(prefix, str) else "(unnamed)")
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


def _kinds_of_others(document: dict[str, Any], kind: str) -> Iterator[str]:
    """Kinds of configuration that an object is validated with: a ClusterPolicy names a ConfigMap of
    counters."""
    if kind == "ConfigMap" and any(
        str(key).endswith(".csv") for key in mapping(document.get("data"))
    ):
        yield "gpu-operator-values"


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
        yield from pod(document, locator)
    if is_left_to_its_owner(document):
        return
    workload = workload_from(document, locator, group)
    if workload is not None:
        yield workload
    reader = READERS.get((group, locator.kind))
    if reader is not None:
        yield from reader(document, locator)
    raw = RAW_KINDS.get((group, locator.kind))
    if raw and (group != "apps" or workload is None or raw is RawObject or workload.uses_gpus):
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
