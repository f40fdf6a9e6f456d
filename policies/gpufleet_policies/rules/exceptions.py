"""Exceptions: findings that are accepted for a reason until a date."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from gpufleet_policies.facts import FleetFacts
from gpufleet_policies.facts.intent import PREFIX
from gpufleet_policies.rules.former_names import covered, is_known

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
) -> dict[str, Exemption]:
    """Rule id -> its exemption for this object. The settings' own win over annotations.

    An exemption by a former id holds for the rules in its place too, unless they have their own.
    """
    found: dict[str, Exemption] = {}
    for rule, place, text in _written(subject):
        found[rule] = Exemption(rule, place, _problem(rule, text, today, known_rules))
    for exception in settled:
        if fnmatchcase(str(subject.locator), exception.object):
            place = f"exceptions of the policy settings for {exception.object}"
            problem = None
            if exception.until < today:
                problem = f"its date {exception.until} is past (today is {today})"
            found[exception.rule] = Exemption(exception.rule, place, problem)
    for rule, exemption in tuple(found.items()):
        for other in covered().get(rule, ()):
            found.setdefault(other, exemption)
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


def _problem(rule: str, text: str, today: date, known_rules: Mapping[str, object]) -> str | None:
    if not is_known(rule, known_rules):
        return f"there is no rule {rule!r}"
    written = _WRITTEN.match(text)
    if written is None:
        return 'it must read "<reason>; until=YYYY-MM-DD"'
    if not written["reason"].strip():
        return "it gives no reason"
    try:
        until = date.fromisoformat(written["until"])
    except ValueError:
        return f"{written['until']!r} is no date; write until=YYYY-MM-DD"
    if until < today:
        return f"its date {until} is past (today is {today})"
    return None
