"""FleetSpec: the only input model. `read` takes text, `parse` takes plain data."""

from gpufleet.spec.document import UnreadableDocumentError, fleet_part, read_document
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.parse import Parsed, parse

__all__ = [
    "FleetSpec",
    "Parsed",
    "UnreadableDocumentError",
    "fleet_part",
    "parse",
    "read_document",
]
