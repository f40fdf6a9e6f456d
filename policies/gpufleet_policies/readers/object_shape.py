"""Objects that an API server refuses for their shape, as configurations that `check` validates."""

import json
from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.contract.schemas import (
    SchemaProblem,
    SchemaProblemKind,
    has_schema,
    newer_fields,
    schema_problems,
)
from gpufleet.documents.paths import at_steps
from gpufleet.documents.shapes import as_list, is_mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside, known_texts
from gpufleet_policies.readers.nvidia_configs import without_unknown
from gpufleet_policies.readers.placeholders import stands_for_another
from gpufleet_policies.readers.reading import holds_unknown
from gpufleet_policies.wrappers.judged import NotJudged

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
        text=json.dumps(document, default=str),
        complete=False,
    )


def _will_be_replaced(problem: SchemaProblem, document: Any) -> bool:
    if problem.kind in (SchemaProblemKind.REQUIRED, SchemaProblemKind.UNKNOWN):
        return False
    here = at_steps(document, problem.steps)
    if problem.kind is SchemaProblemKind.CONDITION:  # an expression reads fields below its place
        return _has_placeholder(here)
    return stands_for_another(here)


def _has_placeholder(value: Any) -> bool:
    below = list(value.values()) if is_mapping(value) else as_list(value)
    if below is not None:
        return any(map(_has_placeholder, below))
    return stands_for_another(value)
