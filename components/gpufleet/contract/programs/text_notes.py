"""Findings about the text itself: keys written twice, documents no one reads."""

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import SHARED, warn

TEXT_RULES = (
    warn(
        f"{SHARED}-key-repeated",
        ("yaml",),
        "A key is written twice: the last one counts, the others are dropped.",
        "go.yaml.in/yaml/v2 decode.go; of JSON Go encoding/json",
    ),
    warn(
        f"{SHARED}-second-document",
        ("yaml",),
        "The text holds a second document, which is not read.",
        "sigs.k8s.io/yaml yaml.go",
    ),
)
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
