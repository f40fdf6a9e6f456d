"""From text to plain data: YAML or JSON, a bare FleetSpec or a Pulumi stack file."""

from typing import Any, cast

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_strict
from gpufleet.documents.strict_rules import kind_in_yaml

__all__ = ["UnreadableDocumentError", "fleet_part", "read_document"]


_FLEET = ": a FleetSpec starts with keys such as `platform:` and `pools:`"


def read_document(text: str | bytes, begins: str = _FLEET) -> dict[str, Any]:
    """Plain data of one YAML or JSON mapping; `begins` ends the error message for other content.

    Raises UnreadableDocumentError for text that is malformed, beyond the limits of
    `gpufleet.documents.limits.CONFIGURATION`, empty, or not a mapping.
    """
    document = read_strict(text, "FleetSpec")
    if document.node is None:
        raise UnreadableDocumentError("the document is empty")
    data: object = document.data
    if not isinstance(data, dict):
        raise UnreadableDocumentError(
            f"the document is {kind_in_yaml(data)}, not a mapping{begins}"
        )
    return cast("dict[str, Any]", data)


def fleet_part(document: dict[str, Any]) -> dict[str, Any]:
    """The FleetSpec in a document: `config.gpufleet:fleet` of a stack file, `spec` of the JSON of
    `gpufleet plan` and `adopt`, else all of it.

    Raises UnreadableDocumentError when a stack file has no such entry, or it is encrypted.
    """
    written: object = document.get("spec")
    if isinstance(written, dict) and "platform" in written:
        return cast("dict[str, Any]", written)
    config: object = document.get("config")
    if not isinstance(config, dict) or "pools" in document:
        return document
    entries = cast("dict[str, Any]", config)
    fleet: object = entries.get("gpufleet:fleet")
    if fleet is None:
        raise UnreadableDocumentError("this stack file has no `config: gpufleet:fleet:` entry")
    if not isinstance(fleet, dict):
        raise UnreadableDocumentError("`config: gpufleet:fleet:` is not a mapping")
    found = cast("dict[str, Any]", fleet)
    if set(found) == {"secure"}:
        raise UnreadableDocumentError(
            "`config: gpufleet:fleet:` is encrypted: a FleetSpec holds no secrets, write it plainly"
        )
    return found
