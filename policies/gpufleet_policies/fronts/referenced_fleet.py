"""The pools of workloads whose GpuFleet is in another program.

Three ways, the first one found counts: `fleet` of the settings as plain data (a FleetSpec, or the
output of `gpufleet compile --format json`), `fleet` as a path to such a file or to a stack file
with `gpufleet:fleet`, and `gpufleet:fleet` in the configuration of the current stack.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gpufleet.cluster import FleetFacts, UncompiledFleet
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Severity
from gpufleet_policies.readers.fleet import fleet_from_declaration

CONFIG_KEY = "gpufleet:fleet"


class UnreadableFleetError(ValueError):
    """The fleet that the settings name cannot be read; the text gives the reason."""


def referenced_fleet(setting: Any, folder: Path) -> FleetFacts | None:
    """The fleet that a project refers to; None: no reference, or it is that of the current stack,
    whose program reports why it does not compile.

    `setting` is the value of `fleet`; a relative path starts from `folder`, the pack's. Raises
    UnreadableFleetError when a named file is missing or not a document, or the named fleet does not
    compile.
    """
    if isinstance(setting, Mapping):
        declared = cast("Mapping[str, Any]", setting)
        return _compiled(declared, "policy settings")
    if isinstance(setting, str):
        return _compiled(_read(folder / setting), setting)
    configured = stack_configuration().get(CONFIG_KEY)
    if configured is None:
        return None
    try:
        document: Any = json.loads(configured)
    except ValueError:
        return None  # the program that reads it reports its error
    if not isinstance(document, dict):
        return None
    found = fleet_from_declaration(mapping(document), CONFIG_KEY)
    return None if isinstance(found, UncompiledFleet) else found


def _compiled(declared: Mapping[str, Any], origin: str) -> FleetFacts | None:
    found = fleet_from_declaration(declared, origin)
    if isinstance(found, UncompiledFleet):
        problems = "; ".join(str(one) for one in found.findings if one.severity is Severity.ERROR)
        raise UnreadableFleetError(f"fleet of {origin} does not compile: {problems}")
    return found


def stack_configuration() -> Mapping[str, str]:
    """Configuration of the current stack, as the engine passes it to analyzers."""
    try:
        found: Any = json.loads(os.environ.get("PULUMI_CONFIG") or "{}")
    except ValueError:
        return {}
    return mapping(found)


def _read(path: Path) -> Mapping[str, Any]:
    from gpufleet.spec.document import UnreadableDocumentError, fleet_part, read_document

    try:
        document = read_document(path.read_bytes())
    except OSError as problem:
        raise UnreadableFleetError(f"fleet {path}: {problem.strerror}") from None
    except UnreadableDocumentError as problem:
        raise UnreadableFleetError(f"fleet {path}: {problem}") from None
    return document if isinstance(document.get("fleet"), dict) else fleet_part(document)
