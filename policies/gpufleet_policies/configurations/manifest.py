"""Manifests: several Kubernetes objects in one text, as people apply them; which of them a kind is
about."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go, read_go_stream
from gpufleet.documents.shapes import as_mapping
from gpufleet.findings import Finding, error
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.document import CONFIG_MAPS, document_of
from gpufleet_policies.configurations.objects import Object, objects

_OBJECTS = {
    "dra-config": ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ComputeDomain"),
    "gpu-operator-values": ("ClusterPolicy", "NVIDIADriver", "GPUCluster"),
    "network-operator-values": (
        "NicClusterPolicy",
        "NicNodePolicy",
        "MacvlanNetwork",
        "HostDeviceNetwork",
        "IPoIBNetwork",
    ),
}
"""Kind -> objects it is about."""
TOGETHER = ("gpu-operator-values", "network-operator-values")
"""Kinds whose objects are validated against each other, as a List."""

RULES = rule_table(
    *written_rules(Path(__file__).with_name("manifest_rules.jsonl")),
)
"""Errors of a text of several objects."""


def manifest_objects(text: str | bytes) -> tuple[Object, ...] | None:
    """Every object of a text that holds several: documents of a stream, items of a List. None where
    the text is one document, or any of its documents is not a Kubernetes object. Raises
    UnreadableDocumentError."""
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
    if kind in CONFIG_MAPS:
        maps = [(path, item) for path, item in found if item.get("kind") == "ConfigMap"]
        marked = [one for one in maps if _documents(kind, one[1])]
        chosen = marked or (maps if len(maps) == 1 else [])
        named = [one for one in chosen if select is None or _offers(kind, one[1], select)]
        chosen = named or chosen[:1]
    else:
        chosen = [(path, item) for path, item in found if str(item.get("kind")) in _OBJECTS[kind]]
    if chosen and kind == "gpu-operator-values":  # a ClusterPolicy names ConfigMaps
        chosen += [(path, item) for path, item in found if item.get("kind") == "ConfigMap"]
    if chosen:
        return tuple(chosen)
    wanted = "ConfigMap with its document" if kind in CONFIG_MAPS else ", ".join(_OBJECTS[kind])
    kinds = ", ".join(sorted({str(item.get("kind")) for _, item in found}))
    return error(
        "manifest-nothing-to-judge",
        "",
        f"none of the {len(found)} objects is of {kind} ({wanted}): they are {kinds}",
        "give the file that holds it, or another --as",
        rules=("manifest",),
    )


def refuse_foreign(kind: str, text: str | bytes) -> None:
    """Raise UnreadableDocumentError where a text is one object of a kind that has none: most
    readers ignore every key of it and accept the rest."""
    if not (kind.endswith("-values") or kind == "device-plugin"):
        return
    document = read_go(text)
    if document.more_documents or not _is_object(document.data):
        return
    found = str(document.data["kind"])
    if found not in (*_OBJECTS.get(kind, ()), "ConfigMap"):
        raise UnreadableDocumentError(f"the text is a {found}, which {kind} does not cover")


def can_be_manifest(kind: str) -> bool:
    """Whether documents of a kind come among other objects. Those of Karpenter and of autoscalers
    are read so anyway."""
    return kind in CONFIG_MAPS or kind in _OBJECTS


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


def _documents(kind: str, config_map: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Key -> document of the values that look like documents of the kind."""
    entries = as_mapping(config_map.get("data")) or {}
    found = {key: document_of(kind, value) for key, value in entries.items()}
    return {key: document for key, document in found.items() if document is not None}


def _offers(kind: str, config_map: Mapping[str, Any], select: str) -> bool:
    documents = _documents(kind, config_map)
    if kind == "device-plugin":
        return select in documents
    return any(
        select in (as_mapping(document.get("mig-configs")) or {}) for document in documents.values()
    )
