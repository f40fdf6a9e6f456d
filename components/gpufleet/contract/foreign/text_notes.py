"""Findings about the text itself: keys written twice, documents nobody reads."""

from gpufleet.contract.foreign.go_yaml import Read
from gpufleet.contract.foreign.judgement import Report


def note_text(read: Read, prefix: str, report: Report) -> None:
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
