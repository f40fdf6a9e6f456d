"""The public file or report that shows that a rule is needed.

Faults of vendors' formats follow the vendor's code, which their source names, and have none here.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """A public report of the fault that a rule finds."""

    source: str
    """`owner/name path` of a file, or `owner/name#number` of a report."""
    commit: str = ""
    """Commit of the file, where it is known."""
    shows: str = ""
    """Subject of the report."""
    false_errors: int = 0
    """Errors on other people's files that were not true and are not repaired yet: above 0, the
    rule is advice. A repair sets it to 0 and adds the case to the tests."""
    between: str = ""
    """For a relation: the objects that it compares."""

    @property
    def link(self) -> str:
        """Address of the report: for a file without a known commit, its repository."""
        report, _, number = self.source.partition("#")
        if number:
            return f"https://github.com/{report}/issues/{number}"
        repository, _, path = self.source.partition(" ")
        place = f"/blob/{self.commit}/{path}" if self.commit else ""
        return f"https://github.com/{repository}{place}"


@cache
def rule_evidence() -> Mapping[str, RuleEvidence]:
    """Rule id -> its evidence; rules without any are left out."""
    with FILE.open(newline="", encoding="utf-8") as file:
        return {
            row["rule"]: RuleEvidence(
                *(row["evidence"], row["commit"], row["shows"]),
                *(int(row["false_errors"]), row["between"]),
            )
            for row in csv.DictReader(file)
            if row["evidence"]
        }


def is_over_budget(rule: str) -> bool:
    """Whether a listed rule had a false error that is not repaired: then it is advice."""
    found = rule_evidence().get(rule)
    return found is not None and found.false_errors > 0
