"""Exceptions: findings that are accepted for a reason until a date."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fnmatch import fnmatchcase
from typing import Any

from gpufleet.cluster import FleetFacts
from gpufleet.cluster.intent import PREFIX
from gpufleet.findings.waiver import Waiver, WaiverKind
from gpufleet.secret_text import masked

_WRITTEN = re.compile(r"^(?P<reason>.*?)\s*;\s*until\s*=\s*(?P<until>\S+)\s*$", re.DOTALL)
_IGNORE = f"{PREFIX}ignore-"


@dataclass(frozen=True, slots=True)
class Exemption:
    """One exception as written, and why it does not count, when it does not."""

    rule: str
    place: str
    """Annotation or setting that holds it."""
    problem: str | None
    """None: it counts."""
    waiver: Waiver | None = None
    """Set where it counts."""


@dataclass(frozen=True, slots=True)
class SettledException:
    """An exception of the policy settings."""

    rule: str
    object: str
    """Pattern over the object as messages name it: `Deployment ml/*`, `GpuFleet *`."""
    reason: str
    until: date


def exemptions(
    subject: Any,
    settled: tuple[SettledException, ...],
    today: date,
    known_rules: Mapping[str, object],
    longest_days: int,
) -> dict[str, Exemption]:
    """Rule id -> its exemption for this object. The settings' own win over annotations."""
    found: dict[str, Exemption] = {}
    for rule, place, text in _written(subject):
        found[rule] = exemption(
            rule, place, text, today, known_rules, WaiverKind.ANNOTATION, longest_days
        )
    for exception in settled:
        if fnmatchcase(str(subject.locator), exception.object):
            place = f"exceptions of the policy settings for {exception.object}"
            problem = _wrong_day(exception.until, today, longest_days)
            waiver = Waiver(WaiverKind.SETTINGS, place, exception.reason, exception.until)
            found[exception.rule] = Exemption(exception.rule, place, problem, waiver)
    return found


def _written(subject: Any) -> Iterator[tuple[str, str, str]]:
    if isinstance(subject, FleetFacts):
        for rule, text in subject.exceptions.items():
            yield rule, f"policyExceptions[{rule}]", text
        return
    annotations: Mapping[str, str] = getattr(subject, "annotations", {})
    for key, text in annotations.items():
        if key.startswith(_IGNORE):
            yield key.removeprefix(_IGNORE), key, text


def exemption(
    rule: str,
    place: str,
    text: str,
    today: date,
    known_rules: Mapping[str, object],
    kind: WaiverKind,
    longest_days: int,
) -> Exemption:
    """An exception as it is written: `<reason>; until=YYYY-MM-DD`."""
    reason, until, problem = _parts(text)
    if rule not in known_rules:
        problem = f"there is no rule {rule!r}"
    elif until is not None:
        problem = problem or _wrong_day(until, today, longest_days)
    if problem is not None:
        return Exemption(rule, place, problem)
    return Exemption(rule, place, None, Waiver(kind, place, masked(reason), until))


def _wrong_day(until: date, today: date, longest_days: int) -> str | None:
    """Why a last day does not count; None: it does."""
    if until < today:
        return f"its date {until} is past (today is {today})"
    if (until - today).days > longest_days:
        last = today + timedelta(days=longest_days)
        return f"its date {until} is more than {longest_days} days away: {last} is the last one"
    return None


def _parts(text: str) -> tuple[str, date | None, str | None]:
    """Reason, last day, and what is wrong."""
    written = _WRITTEN.match(text)
    if written is None:
        return "", None, 'it must read "<reason>; until=YYYY-MM-DD"'
    reason = written["reason"].strip()
    if not reason:
        return "", None, "it gives no reason"
    try:
        return reason, date.fromisoformat(written["until"]), None
    except ValueError:
        return reason, None, f"{written['until']!r} is not a date; write until=YYYY-MM-DD"
