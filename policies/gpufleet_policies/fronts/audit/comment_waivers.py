"""Findings and the comments that waive them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from gpufleet.cluster import Locator
from gpufleet.findings import Finding
from gpufleet.findings.waiver import WaiverKind
from gpufleet_policies.fronts.audit.comments import WaiverComment
from gpufleet_policies.rules.exceptions import Exemption, exemption
from gpufleet_policies.rules.registry import by_id, listed
from gpufleet_policies.rules.settings import RuleSettings
from gpufleet_policies.rules.validate import invalid_exception


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
