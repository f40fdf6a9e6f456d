"""Waivers in comments: `# gpufleet:ignore RULE reason=... until=YYYY-MM-DD`.

A comment after a field, or on the line before it, is about the field, everything in it, and the
item and the object that it is in. `gpufleet:ignore-file` is about the file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import yaml

MARK = b"gpufleet:ignore"
_COMMENT = re.compile(
    r"(?:^|(?<=\s))#\s*gpufleet:ignore(?P<file>-file)?(?:\s+(?P<rules>[^\s=]+))?(?P<rest>.*)$"
)
_UNTIL = re.compile(r"[;,\s]*\buntil\s*=\s*[\"']?(?P<day>[^\s\"';,]+)[\"']?")
_REASON = re.compile(r"^\s*reason\s*[=:]\s*")
_DIVIDER = re.compile(r"---(\s|$)")
_yaml: Any = yaml  # PyYAML's type stubs leave most of what is used here unknown
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
        """How messages name it."""
        return f"comment in line {self.line}"


def waiver_comments(text: str) -> list[WaiverComment]:
    """The comments of a YAML text, in order; what is inside of a value is not a comment."""
    lines = text.splitlines()
    values = list(_values(text))
    found: list[WaiverComment] = []
    for number, line in enumerate(lines):
        comment = _COMMENT.search(line)
        if comment is None or any(
            start <= (number, comment.start()) < end for start, end in values
        ):
            continue
        rules = tuple(rule for rule in (comment["rules"] or "").split(",") if rule)
        around: frozenset[int] = frozenset()
        if comment["file"]:
            first, last = 0, len(lines)
        else:
            first, last = _scope(lines, number, is_alone=not line[: comment.start()].strip())
            around = frozenset(_around(lines, first))
        written = _written(comment["rest"])
        found.append(WaiverComment(number + 1, rules, written, first + 1, last + 1, around))
    return found


def _values(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where values start and end. None of a text that is not valid YAML, such as a template."""
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


def _scope(lines: Sequence[str], number: int, *, is_alone: bool) -> tuple[int, int]:
    """First and last line that a comment is about, counted from 0."""
    target = number
    if is_alone:
        target = next((i for i in range(number + 1, len(lines)) if _is_content(lines[i])), number)
        if _begins_object(lines, target):
            rest = takewhile(lambda line: not _DIVIDER.match(line), lines[target:])
            return target, target + sum(1 for _ in rest) - 1
    return target, _end(lines, target)


def _is_content(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#") and not _DIVIDER.match(line)


def _begins_object(lines: Sequence[str], target: int) -> bool:
    """Whether no content of the same document is before a line."""
    before = takewhile(lambda line: not _DIVIDER.match(line), reversed(lines[:target]))
    return not any(_is_content(line) for line in before)


def _around(lines: Sequence[str], target: int) -> Iterator[int]:
    """Lines, from 1, that begin something with this line in it."""
    for number in range(target - 1, -1, -1):
        if _DIVIDER.match(lines[number]):
            return
        if _is_content(lines[number]) and (
            _end(lines, number) >= target or _begins_object(lines, number)
        ):
            yield number + 1


def _end(lines: Sequence[str], target: int) -> int:
    """The last line of the field or item that a line begins."""
    column = _column(lines[target])
    is_key = lines[target].split(" #")[0].rstrip().endswith(":")
    last = target
    for number in range(target + 1, len(lines)):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        deeper = _column(line) > column
        item = is_key and _column(line) == column and line.lstrip().startswith("- ")
        if _DIVIDER.match(line) or not (deeper or item):
            break
        last = number
    return last


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
