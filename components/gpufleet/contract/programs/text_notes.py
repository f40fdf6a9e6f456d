"""Findings about the text itself: keys written twice, documents no one reads."""

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import warn
from gpufleet.rules.rule import Rule


def text_rules(prefix: str, repeated: str = "go.yaml.in/yaml/v2 decode.go") -> tuple[Rule, Rule]:
    """The two rules about the text of one kind of document. `repeated` is the source of what its
    reader makes of a repeated key."""
    return (
        warn(
            f"{prefix}-key-repeated",
            ("yaml",),
            "A key is written twice: the last one counts, the others are dropped.",
            repeated,
        ),
        warn(
            f"{prefix}-second-document",
            ("yaml",),
            "The text holds a second document, which is not read.",
            "sigs.k8s.io/yaml yaml.go",
        ),
    )


def note_text(read: GoDocument, prefix: str, report: CheckReport) -> None:
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
