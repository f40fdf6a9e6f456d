"""Patches applied to YAML text: only the lines of a change are edited, comments stay.

Every rewritten text is read again and compared with the patched data; a text with other data is
not written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from gpufleet.documents.document import Document
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.writing import inline_yaml
from gpufleet_policies.fronts.audit.patches import ObjectPatch
from gpufleet_policies.fronts.audit.placed import pointer_steps
from gpufleet_policies.readers.document_text import read_documents
from gpufleet_policies.resolve.json_patch import Operation, PatchConflictError, patched


@dataclass(slots=True)
class Rewritten:
    """One file after its patches."""

    text: str
    done: list[ObjectPatch] = field(default_factory=list[ObjectPatch])
    left: list[tuple[ObjectPatch, str]] = field(default_factory=list[tuple[ObjectPatch, str]])
    """Patches that were not carried out, and why."""


def rewritten(text: str, patches: Iterable[ObjectPatch]) -> Rewritten:
    """A file's text with its patches carried out one after the other, last object first."""
    result = Rewritten(text)
    for patch in sorted(patches, key=lambda one: one.line, reverse=True):
        try:
            result.text = _with(result.text, patch)
            result.done.append(patch)
        except (PatchConflictError, UnreadableDocumentError) as problem:
            result.left.append((patch, str(problem)))
    return result


def _with(text: str, patch: ObjectPatch) -> str:
    for operation in patch.operations:
        documents = read_documents(text)
        index = next((i for i, d in enumerate(documents) if d.line == patch.line), None)
        if index is None:
            raise PatchConflictError("the object is part of a list; change it by hand")
        document = documents[index]
        wanted = patched(document.data, [operation])
        if wanted == document.data:
            continue
        changed = _edited(text, document, operation)
        read = [found.data for found in read_documents(changed)]
        if read != [d.data if i != index else wanted for i, d in enumerate(documents)]:
            raise PatchConflictError("its text cannot be changed line by line")
        text = changed
    return text


def _edited(text: str, document: Document, operation: Operation) -> str:
    if document.is_template:
        raise PatchConflictError("it is a template")
    steps = pointer_steps(str(operation["path"]))
    parent = _node(document.node, steps[:-1])
    last = steps[-1]
    if operation["op"] == "remove":
        return _without(text, parent, last)
    if last == "-":
        return _with_item(text, parent, operation["value"])
    entry = _entry(parent, last)
    if entry is not None:
        return _with_value(text, entry, operation["value"])
    if isinstance(parent, yaml.MappingNode) and operation["op"] == "add":
        return _with_key(text, parent, str(last), operation["value"])
    raise PatchConflictError("the file has no place for it")


def _node(node: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        entry = _entry(node, step)
        if entry is None:
            raise PatchConflictError(f"there is no {step!r} in the text")
        node = entry[1]
    return node


def _entry(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Key node and value node; the item twice in a list."""
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in node.value if pair[0].value == str(step)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def _with_value(text: str, entry: tuple[Any, Any], value: Any) -> str:
    node = entry[1]
    if not isinstance(node, yaml.ScalarNode) or isinstance(value, dict | list):
        raise PatchConflictError("only single values are changed in place")
    if node.style in ("|", ">"):
        raise PatchConflictError("a text of several lines is not changed in place")
    written = inline_yaml(value)
    if node.style == "'" and isinstance(value, str) and value.isascii() and value.isalnum():
        written = f"'{value}'"
    return text[: node.start_mark.index] + written + text[node.end_mark.index :]


def _with_key(text: str, parent: Any, key: str, value: Any) -> str:
    if parent.flow_style:
        end = parent.end_mark.index - 1
        comma = ", " if parent.value else ""
        return f"{text[:end].rstrip()}{comma}{inline_yaml(key)}: {inline_yaml(value)}{text[end:]}"
    if not parent.value:
        raise PatchConflictError("an empty mapping has no line to edit")
    entry = f"{inline_yaml(key)}: {inline_yaml(value)}"
    column = parent.value[0][0].start_mark.column
    return _after(text, parent.value[-1][1], f"{' ' * column}{entry}")


def _with_item(text: str, parent: Any, value: Any) -> str:
    if not isinstance(parent, yaml.SequenceNode) or not parent.value:
        raise PatchConflictError("there is no list to add to")
    if parent.flow_style:
        end = parent.end_mark.index - 1
        return f"{text[:end].rstrip()}, {inline_yaml(value)}{text[end:]}"
    column = parent.start_mark.column
    return _after(text, parent.value[-1], f"{' ' * column}- {inline_yaml(value)}")


def _without(text: str, parent: Any, last: str | int) -> str:
    entry = _entry(parent, last)
    if entry is None or parent.flow_style or len(parent.value) < 2:
        raise PatchConflictError("it cannot be removed line by line")
    lines = text.splitlines(keepends=True)
    first: int = entry[0].start_mark.line
    end = _last_line(entry[1])
    column: int = entry[0].start_mark.column
    before = lines[first][:column]
    if isinstance(parent, yaml.SequenceNode):
        before = before.rstrip().removesuffix("-")
    if before.strip():
        raise PatchConflictError("its line has other values too")
    return "".join(lines[:first] + lines[end + 1 :])


def _after(text: str, node: Any, line: str) -> str:
    """A text with a line put after everything a node takes."""
    lines, ending = text.splitlines(keepends=True), _line_ending(text)
    at = _last_line(node) + 1
    if at <= len(lines) and not lines[at - 1].endswith("\n"):
        lines[at - 1] += ending
    return "".join([*lines[:at], line + ending, *lines[at:]])


def _line_ending(text: str) -> str:
    """Line ending of the first line of a text."""
    first, ends, _ = text.partition("\n")
    return "\r\n" if ends and first.endswith("\r") else "\n"


def _last_line(node: Any) -> int:
    """The last line of a node's own text: block collections end where the next thing begins."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        mark = node.end_mark
        ends_before = mark.column == 0 and mark.line > node.start_mark.line
        return mark.line - 1 if ends_before else mark.line
    last = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)
