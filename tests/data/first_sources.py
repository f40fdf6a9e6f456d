"""The first source of every row of the catalogue, and how a reader finds that document.

python -m tests.data.first_sources            one line for each source: kind, rows, location
python -m tests.data.first_sources --rows     one line for each row
"""

import re
import sys
from collections import Counter

from gpufleet.catalogue import load
from gpufleet.catalogue.source import SourceEntry
from tests.data.test_tables import sources_of

KINDS = {
    "repository": re.compile(r"^github\.com/[\w.-]+/[\w.-]+ @ \S"),
    "issue": re.compile(r"^github\.com/[\w.-]+/[\w.-]+ (@ )?(issue|pull( request)?s?) \d"),
    "repository, by release": re.compile(r"^github\.com/[\w.-]+/[\w.-]+, \S+/"),
    "package": re.compile(r"^pypi\.org/project/[\w.-]+/\d|^Go modules? \S+/\S+( @ v\d\S*)?, "),
    "paper": re.compile(r"^arXiv:\d{4}\.\d{5}"),
    "page": re.compile(r"^(?!github\.com)([a-z0-9-]+\.)+[a-z]{2,}/\S+"),
    "text to search for": re.compile(r"search for .*`[^`]{8,}`"),
    "this project": re.compile(r"^the sandbox of this repository$"),
}
"""Kind -> the form of a location of that kind: what a reader needs to open the document."""

NOT_FOUND = frozenset({"datasheet"})
"""Recalled figures: no row rests on them first."""


def kind_of(source: SourceEntry) -> str | None:
    """How a reader finds the document; None: not by its location."""
    matching = (kind for kind, form in KINDS.items() if form.search(source.location))
    return next(matching, None)


def main(rows: bool) -> None:
    catalogue = load()
    first = [(name, source.key) for name, source in sources_of(catalogue)]
    if rows:
        for name, key in first:
            source = catalogue.sources[key]
            print(f"{name} | {kind_of(source)} | {source.location}")
        return
    for key, count in Counter(key for _, key in first).most_common():
        source = catalogue.sources[key]
        print(f"{kind_of(source)} | {count} rows | {key} | {source.location}")


if __name__ == "__main__":
    main("--rows" in sys.argv)
