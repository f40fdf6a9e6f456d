"""Waivers in comments: `# gpufleet:ignore RULE reason=... until=YYYY-MM-DD`.

A comment after a field, or on the line before it, is about the field, everything in it, and the
item and the object that it is in. `gpufleet:ignore-file` is about the file.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

MARK = b"gpufleet:ignore"
_COMMENT = re.compile(
    r"(?:^|(?<=\s))#\s*gpufleet:ignore(?P<file>-file)?(?:\s+(?P<rules>[^\s=]+))?(?P<rest>.*)$"
)
_UNTIL = re.compile(r"[;,\s]*\buntil\s*=\s*[\"']?(?P<day>[^\s\"';,]+)[\"']?")
_REASON = re.compile(r"^\s*reason\s*[=:]\s*")
_DIVIDER = re.compile(r"---(\s|$)")
_yaml: Any = yaml  # PyYAML's type stubs lack most of the names used here
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class WaiverComment:
    """One comment, as it is written."""

    line: int
    """Counted from 1."""
    rules: tuple[str, ...]
    text: str
    """`<reason>; until=<day>`, as annotations have it."""
    first: int
    """First line it is about."""
    last: int
    around: frozenset[int] = frozenset()
    """First lines of the items, fields and the object that it is inside of: a finding about one of
    them can be waived inside of it."""

    def is_about(self, line: int) -> bool:
        """Whether it can waive a finding of this line."""
        return self.first <= line <= self.last or line in self.around

    @property
    def place(self) -> str:
        """Its name in messages."""
        return f"comment in line {self.line}"


def waiver_comments(text: str) -> list[WaiverComment]:
    """The comments of a YAML text, in order; what is inside of a value is not a comment."""
    lines = text.splitlines()
    values = list(_values(text))
    starts = [start for start, _ in values]
    shape = _shape(lines)
    found: list[WaiverComment] = []
    for number, line in enumerate(lines):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        place = (number, comment.start())
        before = bisect_right(starts, place)
        if before and place < values[before - 1][1]:
            continue
        rules = tuple(rule for rule in (comment["rules"] or "").split(",") if rule)
        around: frozenset[int] = frozenset()
        if comment["file"]:
            first, last = 0, len(lines)
        else:
            first, last = shape.scope(number, is_alone=not line[: comment.start()].strip())
            around = frozenset(one + 1 for one in shape.around(first))
        written = _written(comment["rest"])
        found.append(WaiverComment(number + 1, rules, written, first + 1, last + 1, around))
    return found


def _values(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Start and end of values. None for a text that is not valid YAML, such as a template."""
    try:
        for token in _yaml.scan(text, Loader=_LOADER):
            if isinstance(token, yaml.ScalarToken):
                start: Any = token.start_mark
                end: Any = token.end_mark
                yield (start.line, start.column), (end.line, end.column)
    except yaml.YAMLError:
        return


def _written(rest: str) -> str:
    """Reason and day as annotations have them."""
    until = _UNTIL.search(rest)
    reason = _UNTIL.sub("", rest, count=1)
    reason = _REASON.sub("", reason).strip().strip("\"'").strip()
    return reason if until is None else f"{reason}; until={until['day']}"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Values that begin and end in each line of a text, counted from 0."""

    next: list[int | None]
    """Line -> itself or the next one with content."""
    parent: dict[int, int | None]
    """Line with content -> the innermost one before it that it is in."""
    end: dict[int, int]
    """Line with content -> the last one of the field or item that it begins."""
    document: list[int]
    """Line -> number of its document."""
    first: dict[int, int]
    """Document -> its first line with content."""
    last: dict[int, int]
    """Document -> its last line."""

    def scope(self, number: int, *, is_alone: bool) -> tuple[int, int]:
        """First and last line that a comment is about."""
        after = self.next[number + 1] if is_alone and number + 1 < len(self.next) else None
        target = number if after is None else after
        document = self.document[target]
        if is_alone and self.first.get(document, target) == target:
            return target, self.last[document]
        return target, self.end.get(target, target)

    def around(self, target: int) -> Iterator[int]:
        """Lines that begin something with this line in it, and the first of its document."""
        document = self.document[target]
        first = self.first.get(document, target)
        if first < target:
            yield first
        inside: int | None = self.next[target]
        while inside is not None and self.document[inside] == document:
            if inside < target:
                yield inside
            inside = self.parent[inside]


def _shape(lines: Sequence[str]) -> _Shape:
    """Found in one pass over the lines."""
    parent: dict[int, int | None] = {}
    end: dict[int, int] = {}
    document: list[int] = []
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    open_lines: list[tuple[int, int, bool]] = []
    current = 0
    for number, line in enumerate(lines):
        if _DIVIDER.match(line):
            current += 1
            open_lines = []
        document.append(current)
        last[current] = number
        if not _is_content(line):
            continue
        first.setdefault(current, number)
        column, is_item = _column(line), line.lstrip().startswith("- ")
        while open_lines:
            _, above, is_key = open_lines[-1]
            if column > above or (is_key and is_item and column == above):
                break
            open_lines.pop()
        parent[number] = open_lines[-1][0] if open_lines else None
        end[number] = number
        open_lines.append((number, column, line.split(" #")[0].rstrip().endswith(":")))
    for number in sorted(parent, reverse=True):
        above = parent[number]
        if above is not None:
            end[above] = max(end[above], end[number])
    following: list[int | None] = [None] * len(lines)
    after: int | None = None
    for number in range(len(lines) - 1, -1, -1):
        after = number if number in parent else after
        following[number] = after
    return _Shape(following, parent, end, document, first, last)


def _is_content(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#") and not _DIVIDER.match(line)


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
