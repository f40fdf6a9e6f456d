"""The document inside what a person hands over: bare, or wrapped in a ConfigMap."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import child
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_mapping
from gpufleet.findings import Finding, error
from gpufleet.rules.rows import rule_table, written_rules

_KEYS = {"mig-parted": ("config.yaml",)}
"""Keys of a ConfigMap that hold the document of a kind, by convention of its reader."""
_MARKS = {
    "mig-parted": ("mig-configs",),
    "device-plugin": ("sharing", "flags", "resources", "imex", "version"),
    "rdma-shared-config": ("configList",),
    "sriov-config": ("resourceList",),
}
"""Keys by which the document of a kind is distinguished from others."""
CONFIG_MAPS = tuple(_MARKS)
"""Kinds whose document lies in a ConfigMap."""


RULES = rule_table(
    *written_rules(Path(__file__).with_name("document_rules.jsonl")),
)
"""Errors of a document before its kind is validated."""


def read_documents(
    kind: str, text: str | bytes, select: str | None
) -> tuple[list[tuple[str, GoDocument]], tuple[Finding, ...]]:
    """(key path, document) of what is to be validated: one, or each key of a ConfigMap that has
    several. In a ConfigMap of the device plugin `select` names the key, as the node label does.
    Raises UnreadableDocumentError.
    """
    return unwrapped(kind, read_go(text), select)


def unwrapped(
    kind: str, read: GoDocument, select: str | None
) -> tuple[list[tuple[str, GoDocument]], tuple[Finding, ...]]:
    """The same for what was read already. The path of a single document is empty.
    Raises UnreadableDocumentError."""
    document = as_mapping(read.data)
    if kind == "kubernetes-object":  # a ConfigMap is one itself
        return [("", read)], ()
    if document is None or document.get("kind") != "ConfigMap" or "apiVersion" not in document:
        return [("", read)], ()
    entries = as_mapping(document.get("data")) or {}
    keys = _keys(kind, entries, select)
    if not keys:
        return [], (_absent(kind, entries, select),)
    found: list[tuple[str, GoDocument]] = []
    problems: list[Finding] = []
    for key in keys:
        path, value = child("data", key), entries[key]
        if isinstance(value, str):
            found.append((path if len(keys) > 1 else "", read_go(value)))
        else:
            problems.append(
                error(
                    "configmap-value-invalid",
                    path,
                    "a value of a ConfigMap must be text, and this is not",
                    f"write `{key}: |` and indent the document below it",
                )
            )
    return found, tuple(problems)


def _keys(kind: str, entries: Mapping[str, Any], select: str | None) -> tuple[str, ...]:
    """Keys whose documents are validated: the selected one, the reader's default, or all possible
    ones."""
    if kind == "device-plugin" and select is not None:
        return (select,) if select in entries else ()
    named = tuple(name for name in _KEYS.get(kind, ()) if name in entries)
    if named or len(entries) < 2:
        return named or tuple(entries)
    # Every key of a device plugin's ConfigMap can be the value of a node label.
    return tuple(k for k, v in entries.items() if kind == "device-plugin" or is_document(kind, v))


def is_document(kind: str, value: Any) -> bool:
    """Whether the text of a ConfigMap's key looks like a document of the kind."""
    return document_of(kind, value) is not None


def document_of(kind: str, value: Any) -> dict[str, Any] | None:
    """The document in the value of a ConfigMap's key, where it looks like one of the kind."""
    if not isinstance(value, str):
        return None
    try:
        document = as_mapping(read_go(value).data)
    except UnreadableDocumentError:
        return None
    # A document of mig-parted has a version too.
    if document is None or (kind == "device-plugin" and "mig-configs" in document):
        return None
    return document if any(mark in document for mark in _MARKS[kind]) else None


def _absent(kind: str, entries: Mapping[str, Any], select: str | None) -> Finding:
    keys = ", ".join(entries) or "none"
    if kind == "device-plugin" and select is not None:
        return error(
            "device-plugin-key-absent",
            child("data", select),
            f"the ConfigMap has no key {select!r}, it has {keys}: the config-manager sidecar fails "
            "on nodes labelled so",
            nearest_fix(select, entries, f"one of {keys}"),
            value=select,
            rules=("OUR-8", "5.3"),
        )
    wanted = " or ".join(_KEYS.get(kind, ("one key",)))
    return error(
        "configmap-key-absent",
        "data",
        f"the ConfigMap has the keys {keys}, and no key holds a document of this kind",
        f"write {wanted} with the document",
    )
