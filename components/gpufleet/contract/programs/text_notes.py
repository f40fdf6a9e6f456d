"""Findings about the text itself: repeated keys, documents that are not read."""

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import SHARED


def note_text(read: GoDocument, report: CheckReport, prefix: str = SHARED) -> None:
    """Add `<prefix>-key-repeated` and `<prefix>-second-document` if they apply."""
    for path in read.repeated:
        report.say("key-repeated", path, code=f"{prefix}-key-repeated")
    if read.more_documents:
        report.say("second-document", "", code=f"{prefix}-second-document")
