"""Any parsed document as facts: manifests, Helm values, plans, previews, states, declarations.

The entry point for every file. The content of a file decides its format. The path is used only for
values files whose content does not name the chart.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from gpufleet.cluster import UNKNOWN, Locator, UncompiledFleet
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.configurations.recognition import kind_of
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.fleet import fleet_from_declaration
from gpufleet_policies.readers.helm import of_values
from gpufleet_policies.readers.kubernetes_objects import facts_of_object
from gpufleet_policies.readers.members import has_members
from gpufleet_policies.readers.nvidia_configs import as_text, as_written, of_text
from gpufleet_policies.readers.pulumi_state import (
    facts_of_preview,
    facts_of_state,
    is_preview,
    is_state,
)
from gpufleet_policies.readers.reading import is_filled_in, place_of
from gpufleet_policies.readers.releases import releases
from gpufleet_policies.readers.rendered import is_arguments, pools_of, release_above
from gpufleet_policies.readers.stacks import TYPE, facts_of_resource
from gpufleet_policies.readers.terraform import facts_of_plan, is_plan, planned_resources
from gpufleet_policies.resolve.json_patch import OPERATIONS
from gpufleet_policies.wrappers.charts import chart_of_file, dependencies_of, is_values_file
from gpufleet_policies.wrappers.judged import NotJudged
from gpufleet_policies.wrappers.registry import wrapper_of

CONFIG_KEY = "gpufleet:fleet"
"""Key of a stack file that holds a FleetSpec."""

Facts = tuple[Any, ...]
"""Workload, NodePool, Autoscaler, ...: whatever rules validate."""


def facts_of_document(
    document: Any,
    path: str = "",
    *,
    line: int = 0,
    written: Callable[[], str] = str,
    above: Callable[[], str] = str,
) -> Facts:
    """The facts of one parsed document; empty for a document that no rule reads.

    Args:
        document: One document as plain data (`adapters.plain.plain`), UNKNOWN where a value cannot
            be read.
        path: The file, for locators, and to recognise values files by their name.
        line: First line of the document in the file, 0 if unknown.
        written: Returns its text, with the documents that follow it; empty if unknown.
        above: Returns the comment above it.

    Never raises for wrong types: an unreadable value is unknown or omitted.
    """
    if not is_mapping(document):
        return ()
    return tuple(_facts(dict(document), path, line, written, above))


def _facts(
    document: dict[str, Any],
    path: str,
    line: int,
    written: Callable[[], str],
    above: Callable[[], str],
) -> Iterator[Any]:
    if TYPE in document:
        yield from facts_of_resource(document, path)
        return
    kind = kind_of(document)
    if is_operation(document):
        return  # of a JSON patch, whose object is elsewhere
    if kind == "dra-config" and "metadata" not in document:
        yield from _configuration(kind, document, path, line, written())
    elif "kind" in document and "apiVersion" in document:
        yield from facts_of_object(document, path, line=line)
    elif is_plan(document):
        yield from facts_of_plan(document, path)
    elif is_preview(document):
        yield from facts_of_preview(document, path)
    elif is_state(document):
        yield from facts_of_state(document, path)
    elif is_declaration(document):
        yield _fleet(document, path, line)
    elif kind is not None:
        yield from _configuration(kind, document, path, line, written())
    elif is_arguments(document):
        yield from pools_of(document, path, line)
    elif wrapper_of(document, path) is not None:
        yield from releases(document, Locator("Release", "", "", "", path, line))
    else:
        dependencies = dependencies_of(document)
        chart = None if dependencies else chart_of_file(document, path)
        for place, part in dependencies:
            values = dict(mapping(document[place]))
            if values.pop("enabled", True) is not False:  # the condition that charts have
                where = Locator("Values", part.name, "", "", path, line)
                release = release_above(above(), part.name)
                yield from of_values(part.name, values, where, version=release, place=place)
        kind = document.get("kind")
        if isinstance(kind, str) and is_mapping(document.get("spec")) and _name(document):
            where = Locator(kind, _name(document), "", "", path, line)
            reason = "it has no apiVersion, without which the API server refuses an object"
            yield NotJudged(locator=where, what="document", reason=reason)
        elif chart is not None:
            where = Locator("Values", chart.name, "", "", path, line)
            release = release_above(above(), chart.name)
            text = written()
            yield from of_values(
                chart.name, document, where, version=release, place="", written=text
            )
        elif not dependencies and is_values_file(path):
            where = Locator("Values", PurePath(path).name, "", "", path, line)
            reason = "the chart of these values is not known from their keys, name or folder"
            yield NotJudged(locator=where, what="chart", reason=reason)


def _name(document: Mapping[str, Any]) -> str:
    name = mapping(document.get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def is_known(document: Any) -> bool:
    """Whether a document without facts is of a known kind and has no GPUs: an object of
    Kubernetes, or a plan, preview or state with resources."""
    if not is_mapping(document) or is_operation(document):
        return False
    if "kind" in document and "apiVersion" in document:
        return not has_members(document)
    if TYPE in document:
        return True
    if is_plan(document):
        return any(True for _ in planned_resources(document))
    if is_preview(document):
        return bool(items(document.get("steps")))
    return is_state(document) and bool(items(inside(document, "deployment.resources")))


def is_operation(document: Mapping[str, Any]) -> bool:
    """Whether a document is an operation of RFC 6902."""
    return "path" in document and document.get("op") in OPERATIONS


def is_declaration(document: Mapping[str, Any]) -> bool:
    """Whether a document is a FleetSpec, a stack file with one, or a compiled fleet.

    A FleetSpec with a mistake is one: three of the four keys that each has are enough.
    """
    if is_mapping(inside(document, "config")):
        return CONFIG_KEY in mapping(document["config"])
    if is_list(inside(document, "fleet.pools")):
        return True
    return len(_KEYS.intersection(document)) >= len(_KEYS) - 1


_KEYS = frozenset({"catalogue", "platform", "cluster", "pools"})
"""Keys of every FleetSpec (`gpufleet schema`)."""


def place_of_declaration(document: Any) -> tuple[str, ...]:
    """Path of the FleetSpec in a document: a key of a stack file, or the whole document."""
    config = mapping(mapping(document).get("config"))
    return ("config", CONFIG_KEY) if CONFIG_KEY in config else ()


def _fleet(document: dict[str, Any], path: str, line: int) -> Any:
    """The fleet of a declaration, or the reason why it is not validated."""
    spec = mapping(document.get("config")).get(CONFIG_KEY, document)
    where = Locator("GpuFleet", path or "declaration", "", "", path, line)
    if not is_mapping(spec) or set(spec) == {"secure"}:
        reason = f"`{CONFIG_KEY}` is encrypted or a text: write the FleetSpec plainly, as a mapping"
        return NotJudged(locator=where, what="variable", reason=reason)
    found = fleet_from_declaration(spec, path or "declaration")
    if found is None:
        reason = "it was compiled with an edition of the catalogue that is not installed here"
        return NotJudged(locator=where, what="document", reason=reason)
    locator = replace(found.locator, file=path)
    if not isinstance(found, UncompiledFleet):
        return replace(found, in_program=True, locator=locator)
    open_at = place_of(spec, lambda value: value is UNKNOWN or is_filled_in(value))
    if open_at is not None:
        reason = "a tool fills in values, without which it does not compile"
        return NotJudged(locator=where, what="variable", reason=reason, place=open_at)
    return replace(found, locator=locator)


def _configuration(
    kind: str, document: dict[str, Any], path: str, line: int, written: str
) -> Iterator[Any]:
    """A bare configuration of NVIDIA's, named after its file, as its program reads it."""
    locator = Locator("Config", PurePath(path).name or kind, "", "", path, line)
    plain, complete = as_text(document)
    if not complete:
        reason = f"values of the {kind} configuration are not known yet"
        yield NotJudged(locator=locator, what="template", reason=reason)
        return
    text = as_written(document, written) or plain
    yield from of_text(kind, text, locator, {}, "")
