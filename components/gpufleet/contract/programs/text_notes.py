"""Findings about the text itself: keys written twice, documents no one reads."""

from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import SHARED

TEXT_RULES = rules_in("text_notes")
"""The two rules about the text of a document, of every kind whose reader takes what they find."""


def note_text(read: GoDocument, report: CheckReport, prefix: str = SHARED) -> None:
    """Add `<prefix>-key-repeated` and `<prefix>-second-document` where they apply."""
    for path in read.repeated:
        report.add(
            f"{prefix}-key-repeated",
            path,
            "the key is written twice; the last one counts, what stood there before is dropped",
            "keep one of them",
        )
    if read.more_documents:
        report.add(
            f"{prefix}-second-document",
            "",
            "a second document follows, which is not read",
            "put it into a file of its own",
        )
