"""Findings and the comments that waive them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date

from gpufleet.cluster import Locator
from gpufleet.findings import Finding
from gpufleet.findings.waiver import WaiverKind
from gpufleet_policies.fronts.audit.comments import WaiverComment
from gpufleet_policies.rules.exceptions import Exemption, exemption
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.settings import RuleSettings
from gpufleet_policies.rules.validate import invalid_exception


def with_comments(
    found: Iterable[Finding], comments: Sequence[WaiverComment], today: date
) -> list[Finding]:
    """The findings of a file; those that a comment is about have its waiver."""
    by_rule: dict[str, list[WaiverComment]] = {}
    for comment in comments:
        for rule in comment.rules:
            by_rule.setdefault(rule, []).append(comment)
    return [_waived(one, by_rule.get(one.code, ()), today) for one in found]


def wrong_comments(
    file: str, comments: Iterable[WaiverComment], today: date, settings: RuleSettings
) -> Iterator[Finding]:
    """Comments that do not count are themselves reported."""
    for comment in comments:
        locator = Locator("Comment", f"{file}:{comment.line}", file=file, line=comment.line)
        for one in _exemptions(comment, today):
            if one.problem is not None:
                for finding in invalid_exception(locator, one, settings.profile, settings):
                    yield replace(finding, file=file, line=comment.line)


def _waived(one: Finding, comments: Sequence[WaiverComment], today: date) -> Finding:
    if one.waiver is not None:
        return one
    for comment in comments:
        if comment.is_about(one.line):
            for written in _exemptions(comment, today):
                if written.waiver is not None and one.code == written.rule:
                    return replace(one, waiver=written.waiver)
    return one


def _exemptions(comment: WaiverComment, today: date) -> Iterator[Exemption]:
    if not comment.rules:
        yield Exemption("", comment.place, "it names no rule")
    for rule in comment.rules:
        yield exemption(rule, comment.place, comment.text, today, by_id(), WaiverKind.COMMENT)
