"""Waivers in comments: `# gpufleet:ignore RULE reason=... until=YYYY-MM-DD`.

A comment after a field, or on the line before it, is about the field, everything in it, and the
item and the object that it is in. `gpufleet:ignore-file` is about the file.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import yaml

from gpufleet.cluster import Locator
from gpufleet.findings import Finding
from gpufleet.findings.waiver import WaiverKind
from gpufleet_policies.rules.exceptions import Exemption, exemption
from gpufleet_policies.rules.registry import by_id, listed
from gpufleet_policies.rules.settings import RuleSettings
from gpufleet_policies.rules.validate import invalid_exception

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
    shape = _Lines(
        lines,
        [number for number, line in enumerate(lines) if _is_content(line)],
        [number for number, line in enumerate(lines) if _DIVIDER.match(line)],
    )
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
            is_alone = not line[: comment.start()].strip()
            first, last, inside = shape.scope(number, is_alone=is_alone)
            around = frozenset(one + 1 for one in inside)
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
class _Lines:
    """Lines of a text, counted from 0; those with content, and those that divide documents."""

    text: Sequence[str]
    content: Sequence[int]
    dividers: Sequence[int]

    def scope(self, number: int, *, is_alone: bool) -> tuple[int, int, frozenset[int]]:
        """First and last line that a comment in a line is about, and the lines that begin the
        document and what else the first is in."""
        after = bisect_left(self.content, number + 1)
        is_next = is_alone and after < len(self.content)
        target = self.content[after] if is_next else number
        at = bisect_right(self.dividers, target)
        start = self.dividers[at - 1] if at else 0
        stop = self.dividers[at] if at < len(self.dividers) else len(self.text)
        own = self.content[bisect_left(self.content, start) : bisect_left(self.content, stop)]
        if is_alone and own[:1] in ([], [target]):
            return target, stop - 1, frozenset()
        place, last = bisect_left(own, target), target
        around = {one for one in own[:1] if one < target}
        for one in own[place + 1 :] if own[place : place + 1] == [target] else ():
            if not self._is_inside(one, target):
                break
            last = one
        for one in reversed(own[:place]) if place < len(own) else ():
            if self._is_inside(own[place], one):
                around.add(one)
                place = bisect_left(own, one)
        return target, last, frozenset(around)

    def _is_inside(self, inner: int, outer: int) -> bool:
        """Whether a line is in the field or item that one before it begins."""
        line, above = self.text[inner], self.text[outer]
        deeper = _column(line) - _column(above)
        listed = line.lstrip().startswith("- ") and above.split(" #")[0].rstrip().endswith(":")
        return deeper > 0 or (listed and deeper == 0)


def _is_content(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#") and not _DIVIDER.match(line)


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def with_comments(
    found: Iterable[Finding], comments: Sequence[WaiverComment], today: date, settings: RuleSettings
) -> list[Finding]:
    """The findings of a file; a finding that a comment names has its waiver."""
    by_rule: dict[str, list[WaiverComment]] = {}
    for comment in comments:
        for rule in comment.rules:
            by_rule.setdefault(rule, []).append(comment)
    return [_waived(one, by_rule, today, settings) for one in found]


def wrong_comments(
    file: str, comments: Iterable[WaiverComment], today: date, settings: RuleSettings
) -> Iterator[Finding]:
    """Comments that do not count are themselves reported."""
    for comment in comments:
        locator = Locator("Comment", f"{file}:{comment.line}", file=file, line=comment.line)
        for one in _exemptions(comment, today, settings):
            if one.problem is not None:
                for finding in invalid_exception(locator, one, settings.profile, settings):
                    yield replace(finding, file=file, line=comment.line)


def _waived(
    one: Finding,
    by_rule: Mapping[str, Sequence[WaiverComment]],
    today: date,
    settings: RuleSettings,
) -> Finding:
    if one.waiver is not None or not by_rule:
        return one
    whole = listed(one.code)
    names = dict.fromkeys([one.code] if whole is None else [one.code, whole.id])
    for comment in (comment for name in names for comment in by_rule.get(name, ())):
        if comment.is_about(one.line):
            for written in _exemptions(comment, today, settings):
                if written.waiver is not None and written.rule in names:
                    return replace(one, waiver=written.waiver)
    return one


def _exemptions(comment: WaiverComment, today: date, settings: RuleSettings) -> Iterator[Exemption]:
    if not comment.rules:
        yield Exemption("", comment.place, "it names no rule")
    for rule in comment.rules:
        yield exemption(
            rule,
            comment.place,
            comment.text,
            today,
            by_id(),
            WaiverKind.COMMENT,
            settings.thresholds.longest_waiver_days,
        )
