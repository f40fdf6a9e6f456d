"""Which kind of configuration a document is, from its group and kind or from its keys.

`gpufleet check` without `--as`, `gpufleet audit` and the policy pack recognise by these functions
alone. Values of charts are recognised by `contract.charts`.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_list, as_mapping

with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    OBJECTS: Mapping[tuple[str, str], str] = {
        (row["group"], row["kind"]): row["configuration"] for row in csv.DictReader(_file)
    }
"""Group and kind of an object, in any version -> kind of configuration."""

_PLUGIN_KEYS = frozenset({"version", "flags", "resources", "sharing", "health", "imex"})
_WORDS = re.compile(r"mig-configs|sharing|migStrategy|configList|resourceList")
"""A word of each kind that comes as text; nothing else is parsed to see what it is."""


def kind_of(document: Mapping[str, Any]) -> str | None:
    """The kind of a parsed document; None for objects and documents that no kind is about.

    A ConfigMap is of the kind of its first value that is of one.
    """
    version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return kind_of_keys(document)
    group = version.partition("/")[0] if "/" in version else ""
    if (group, kind) != ("", "ConfigMap"):
        return OBJECTS.get((group, kind))
    texts = (as_mapping(document.get("data")) or {}).values()
    kinds = (kind_of_text(text) for text in texts if isinstance(text, str))
    return next((found for found in kinds if found is not None), None)


def kind_of_keys(document: Mapping[str, Any]) -> str | None:
    """The kind of a document that is not a Kubernetes object, by its keys."""
    if as_mapping(document.get("mig-configs")) is not None:
        return "mig-parted"
    if as_list(document.get("configList")) is not None:
        return "rdma-shared-config"
    if as_list(document.get("resourceList")) is not None:
        return "sriov-config"
    if _is_plugin_config(document):
        return "device-plugin"
    if "driver" in (as_mapping(document.get("opaque")) or {}):
        return "dra-config"
    return None


def _is_plugin_config(document: Mapping[str, Any]) -> bool:
    """`flags` and `resources` are words of many programs: every other key must be the plugin's."""
    sharing = as_mapping(document.get("sharing"))
    if sharing is not None and ("version" in document or {"timeSlicing", "mps"} & set(sharing)):
        return True
    flags = as_mapping(document.get("flags"))
    return flags is not None and "migStrategy" in flags and set(document) <= _PLUGIN_KEYS


def kind_of_text(text: str) -> str | None:
    """The kind of a document as text; of one that cannot be read, by its words."""
    if _WORDS.search(text) is None:
        return None
    try:
        document = as_mapping(read_go(text).data)
    except UnreadableDocumentError:
        return "mig-parted" if re.search(r"^[\"']?mig-configs", text, re.MULTILINE) else None
    return None if document is None else kind_of_keys(document)
