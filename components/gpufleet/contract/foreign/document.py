"""The document inside what a person hands over: bare, or wrapped in a ConfigMap."""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.foreign.go_json import as_mapping
from gpufleet.contract.foreign.validation import CheckRule, Verdict, rule_table
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.reading import read_go
from gpufleet.findings import Finding, error

_KEYS = {"mig-parted": ("config.yaml",)}
"""Keys of a ConfigMap that hold the document of a kind, by convention of its reader."""


RULES = rule_table(
    CheckRule(
        "document-unreadable",
        ("yaml",),
        Verdict.REJECT,
        "The text is no UTF-8, no YAML, too large (1 MiB), too deep (40) or grown by aliases: "
        "no one can read it. The command exits 2.",
        "docs/check.md",
    ),
    CheckRule(
        "configmap-value-invalid",
        ("ConfigMap",),
        Verdict.REJECT,
        "The value of the ConfigMap's key is no text.",
        "Kubernetes core/v1",
    ),
    CheckRule(
        "configmap-key-absent",
        ("ConfigMap",),
        Verdict.REJECT,
        "The ConfigMap lacks the key its reader wants, or has several and none is selected.",
        "docs/check.md",
    ),
)
"""What can be wrong before any kind is validated."""


def read_document(
    kind: str, text: str | bytes, select: str | None
) -> tuple[GoDocument | None, tuple[Finding, ...]]:
    """The document to validate; None, with the finding, where a ConfigMap does not hold it.

    In a ConfigMap of the device plugin `select` names the key, as the node label does.
    Raises UnreadableDocumentError.
    """
    return unwrapped(kind, read_go(text), select)


def unwrapped(
    kind: str, read: GoDocument, select: str | None
) -> tuple[GoDocument | None, tuple[Finding, ...]]:
    """The same for what was read already. Raises UnreadableDocumentError."""
    document = as_mapping(read.data)
    if document is None or document.get("kind") != "ConfigMap" or "apiVersion" not in document:
        return read, ()
    entries = as_mapping(document.get("data")) or {}
    key = _key(kind, entries, select)
    if key is None:
        return None, (_absent(kind, entries, select),)
    value = entries[key]
    if not isinstance(value, str):
        path = child("data", key)
        return None, (
            error(
                "configmap-value-invalid",
                path,
                "a value of a ConfigMap is text, and this is none",
                f"write `{key}: |` and indent the document below it",
            ),
        )
    return read_go(value), ()


def _key(kind: str, entries: Mapping[str, Any], select: str | None) -> str | None:
    if kind == "device-plugin" and select is not None:
        return select if select in entries else None
    for name in _KEYS.get(kind, ()):
        if name in entries:
            return name
    return next(iter(entries)) if len(entries) == 1 else None


def _absent(kind: str, entries: Mapping[str, Any], select: str | None) -> Finding:
    keys = ", ".join(entries) or "none"
    if kind == "device-plugin" and select is not None:
        near = nearest_names(select, entries, limit=1)
        return error(
            "device-plugin-key-absent",
            child("data", select),
            f"the ConfigMap has no key {select!r}, it has {keys}: the config-manager sidecar fails "
            "on nodes labelled so",
            f"write `{near[0]}`" if near else f"one of {keys}",
            value=select,
            rules=("OUR-8", "5.3"),
        )
    wanted = " or ".join(_KEYS.get(kind, ("one key",)))
    return error(
        "configmap-key-absent",
        "data",
        f"the ConfigMap has the keys {keys}, and it is not clear which to validate",
        f"keep {wanted}" if kind != "device-plugin" else f"--select one of {keys}",
    )
