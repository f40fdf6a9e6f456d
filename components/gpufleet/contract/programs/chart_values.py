"""Values of a chart: a mapping, read in the way Helm reads it."""

from typing import Any

from gpufleet.contract.programs.go_json import kind_of
from gpufleet.contract.programs.text_notes import note_text
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument
from gpufleet.documents.shapes import as_mapping


def validate_values(read: GoDocument, prefix: str, report: CheckReport) -> dict[str, Any] | None:
    """The values; None, with `<prefix>-no-mapping`, if they are not a mapping."""
    note_text(read, report)
    values = {} if read.data is None else as_mapping(read.data)
    if values is None:
        code = f"{prefix}-no-mapping"
        report.say("values-no-mapping", "", code=code, kind=kind_of(read.data))
    return values
