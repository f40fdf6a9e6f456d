"""The documents of a kind inside what a person hands over: bare, in a ConfigMap, or among the
Kubernetes objects of one text, as people apply them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import child
from gpufleet.documents.reading import read_go, read_go_stream
from gpufleet.documents.shapes import as_mapping
from gpufleet.findings import Finding, error
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.objects import Object, objects
from gpufleet_policies.configurations.recognition import OBJECTS, kind_of_text

CONFIG_MAPS = ("mig-parted", "device-plugin", "rdma-shared-config", "sriov-config")
"""Kinds whose document lies in a ConfigMap."""
_KEYS = {"mig-parted": ("config.yaml",)}
"""Keys of a ConfigMap that hold the document of a kind, by convention of its reader."""
TOGETHER = ("gpu-operator-values", "network-operator-values")
"""Kinds whose objects are validated against each other, as a List."""
_WITH_OBJECTS = ("dra-config", *TOGETHER)
"""Kinds that are about objects, among others too. Those of Karpenter and of autoscalers are read so
anyway."""

RULES = rule_table(*written_rules(Path(__file__).with_name("manifest_rules.jsonl")))
"""Errors of a text before its documents are validated."""


def manifest_objects(kind: str, text: str | bytes) -> tuple[Object, ...] | None:
    """Every object of a text that holds several: documents of a stream, items of a List. None where
    the text is one document, or any of its documents is not a Kubernetes object, or documents of
    the kind do not come among others. Raises UnreadableDocumentError."""
    if kind not in (*CONFIG_MAPS, *_WITH_OBJECTS):
        return None
    first = read_go(text)
    if not first.more_documents and not _is_list(first.data):
        return None
    try:
        documents = read_go_stream(text)
    except UnreadableDocumentError:
        return None  # only the first document counts where it is read alone
    if not all(_is_object(one.data) or _is_list(one.data) for one in documents):
        return None
    found = tuple(objects(first))
    return found if all(_is_object(item) for _, item in found) else None


def wanted_objects(
    kind: str, found: Sequence[Object], select: str | None
) -> tuple[Object, ...] | Finding:
    """The objects of a kind, or the reason why there is none. Of several ConfigMaps those that
    look like its document; `select` narrows them further."""
    own = {name for (_, name), of in OBJECTS.items() if of == kind}
    if kind in CONFIG_MAPS:
        maps = [(path, item) for path, item in found if item.get("kind") == "ConfigMap"]
        marked = [one for one in maps if _documents(kind, one[1])]
        chosen = marked or (maps if len(maps) == 1 else [])
        named = [one for one in chosen if select is None or _offers(kind, one[1], select)]
        chosen = named or chosen[:1]
    else:
        chosen = [(path, item) for path, item in found if str(item.get("kind")) in own]
    if chosen and kind == "gpu-operator-values":  # a ClusterPolicy names ConfigMaps
        chosen += [(path, item) for path, item in found if item.get("kind") == "ConfigMap"]
    if chosen:
        return tuple(chosen)
    wanted = "ConfigMap with its document" if kind in CONFIG_MAPS else ", ".join(sorted(own))
    kinds = ", ".join(sorted({str(item.get("kind")) for _, item in found}))
    return error(
        "manifest-nothing-to-judge",
        "",
        f"none of the {len(found)} objects is of {kind} ({wanted}): they are {kinds}",
        "give the file that holds it, or another --as",
        rules=("manifest",),
    )


def _is_object(data: Any) -> bool:
    document = as_mapping(data)
    return (
        document is not None
        and isinstance(document.get("apiVersion"), str)
        and isinstance(document.get("kind"), str)
        and as_mapping(document.get("metadata")) is not None
    )


def _is_list(data: Any) -> bool:
    document = as_mapping(data)
    if document is None or not isinstance(document.get("items"), list):
        return False
    return str(document.get("kind", "")).endswith("List")


def _documents(kind: str, config_map: Mapping[str, Any]) -> dict[str, str]:
    """Key -> text of the values that are documents of the kind."""
    entries = as_mapping(config_map.get("data")) or {}
    return {k: v for k, v in entries.items() if isinstance(v, str) and kind_of_text(v) == kind}


def _offers(kind: str, config_map: Mapping[str, Any], select: str) -> bool:
    documents = _documents(kind, config_map)
    if kind == "device-plugin":
        return select in documents
    read = (as_mapping(read_go(text).data) or {} for text in documents.values())
    return any(select in (as_mapping(one.get("mig-configs")) or {}) for one in read)


def unwrapped(
    kind: str, read: GoDocument, select: str | None
) -> tuple[list[tuple[str, GoDocument]], tuple[Finding, ...]]:
    """(key path, document) of what is to be validated: one, or each key of a ConfigMap that has
    several. In a ConfigMap of the device plugin `select` names the key, as the node label does. The
    path of a single document is empty. Raises UnreadableDocumentError."""
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
    return tuple(entries) if kind == "device-plugin" else tuple(_documents(kind, {"data": entries}))


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
