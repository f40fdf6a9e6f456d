"""Rules about values and configurations of programs: rows of the files in this folder. Findings
about the text itself: repeated keys, documents that are not read."""

from functools import cache
from pathlib import Path

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import SHARED, written_rules
from gpufleet.rules.rule import Rule


@cache
def rules_in(*names: str) -> tuple[Rule, ...]:
    """The rules of `<name>_rules.jsonl`, for each of the names in order."""
    files = (Path(__file__).with_name(f"{name}_rules.jsonl") for name in names)
    return tuple(rule for file in files for rule in written_rules(file))


def note_text(read: GoDocument, report: CheckReport, prefix: str = SHARED) -> None:
    """Add `<prefix>-key-repeated` and `<prefix>-second-document` if they apply."""
    for path in read.repeated:
        report.say("key-repeated", path, code=f"{prefix}-key-repeated")
    if read.more_documents:
        report.say("second-document", "", code=f"{prefix}-second-document")
