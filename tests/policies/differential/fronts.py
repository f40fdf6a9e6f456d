"""The fronts as functions from a sample to their findings."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet_policies.configurations.codes import code_space
from gpufleet_policies.fronts.audit import run
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.check import UNREADABLE, CheckedFile, check_file
from gpufleet_policies.fronts.crossguard import Front
from gpufleet_policies.rules.settings import RuleSettings, read_settings
from tests.policies.differential.samples import Sample, manifests_of, state_of, urn_of
from tests.policies.objects import TODAY

CODES = frozenset(code_space())
LEVELS = {"error": "mandatory", "warning": "advisory", "info": "off"}


class Said(NamedTuple):
    """One finding."""

    rule: str
    level: str
    text: str


@cache
def _read(settings: str) -> RuleSettings:
    return read_settings(json.loads(settings))


def _settings_of(sample: Sample) -> RuleSettings:
    """Read once: which rules apply is drawn up for each object of settings."""
    return _read(json.dumps(dict(sample.settings)))


def audited(sample: Sample, text: str, name: str) -> run.Audit:
    """The audit of one file."""
    file = Input(name, content=text.encode())
    return run.audit([file], _settings_of(sample), TODAY)


def checked(
    sample: Sample, text: str, name: str, kind: str | None = None, **where: Any
) -> CheckedFile:
    """`gpufleet check` of one file."""
    settings = _settings_of(sample)
    return check_file(Input(name, content=text.encode()), TODAY, settings, kind=kind, **where)


def by_crossguard(sample: Sample, folder: Path) -> list[Said]:
    """The function of the pack that the engine calls: for each resource, and for the program."""
    (folder / "gpu-policy.json").write_text(json.dumps(dict(sample.settings)))
    alone, last = asked_of_the_pack(sample, Front(folder, today=lambda: TODAY))
    # A finding may have a higher level with the whole program: that level counts.
    heavier = {(code_of(one), one.urn) for one in last}
    found = [one for one in alone if (code_of(one), one.urn) not in heavier] + last
    return sorted(Said(code_of(one), one.level.value, _plain(one.message)) for one in found)


def code_of(reported: Any) -> str:
    """The code that a message of the pack begins with: its policy may be that of several."""
    return reported.message.partition("]")[0].removeprefix("[")


def asked_of_the_pack(sample: Sample, front: Front) -> tuple[list[Any], list[Any]]:
    """Its findings for each resource alone, and for the program at its end."""
    alone: list[Any] = []
    for thing in sample.resources:
        alone += front.analyze(thing.type, urn_of(thing), thing.name, lambda t=thing: t.properties)
    return alone, front.analyze_stack()


def by_audit(result: run.Audit) -> list[Said]:
    """Findings of an audit, with the message that the engine shows."""
    waived = [Said(one.code, "advisory", _plain(one.lines)) for one in result.waived]
    return sorted(
        [*waived, *(Said(f.code, f.level.value, _plain(f.lines)) for f in result.findings)]
    )


def in_short(result: run.Audit) -> list[Said]:
    """Findings of an audit, with the message that commands show."""
    return _said(one for one in result.findings)


def by_check(result: CheckedFile) -> list[Said]:
    """Findings of `check` without its remarks, which are off in the audit."""
    return _said(one for one in result.findings if one.severity != "info")


def _said(found: Any) -> list[Said]:
    return sorted({Said(f.code, LEVELS[f.severity], f"{f.message} | {f.fix}") for f in found})


_KNOWS_MORE = re.compile(r"\n  instead: label it kueue.x-k8s.io/queue-name: .*?gang scheduler")
"""The finding of a single resource asks for any queue; that of a program names the queues."""


def _plain(text: str) -> str:
    return _KNOWS_MORE.sub("", text)


@dataclass(frozen=True)
class Answers:
    """Findings of all fronts for one sample."""

    pairs: tuple[tuple[tuple[str, Sequence[Said]], tuple[str, Sequence[Said]]], ...]
    """Two fronts about the same bytes or objects."""
    fired: frozenset[tuple[str, str]]
    """Front and rule of every finding, also remarks."""
    named: frozenset[tuple[str, str]]
    """Codes that `check` reports only with `--as`, or only without it."""

    @property
    def differences(self) -> Iterator[tuple[str, Said]]:
        """Findings of one front only."""
        for one, other in self.pairs:
            for (front, said), (_, others) in ((one, other), (other, one)):
                yield from ((front, finding) for finding in said if finding not in others)


def answers(sample: Sample, folder: Path) -> Answers:
    """Run all fronts. `folder` is that of the policy pack."""
    asked = _Asked()
    if sample.text is not None:
        asked.text(sample, sample.text)
    if sample.resources:
        asked.resources(sample, folder)
    return Answers(tuple(asked.pairs), frozenset(asked.fired), frozenset(asked.named))


@dataclass
class _Asked:
    pairs: list[Any] = field(default_factory=list[Any])
    fired: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    named: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def compared(self, audit: run.Audit, check: CheckedFile) -> None:
        self.fired |= {("audit", one.code) for one in audit.findings}
        self.fired |= {("check", one.code) for one in check.findings}
        said = [one for one in by_check(check) if one.rule != UNREADABLE]
        self.pairs.append((("audit", in_short(audit)), ("check", said)))

    def text(self, sample: Sample, text: str) -> None:
        audit = audited(sample, text, sample.file)
        recognised = self.check(sample, text, None)
        if recognised is None:
            assert audit.unread
        else:
            self.compared(audit, recognised)
        if not sample.kind:
            return
        named = self.check(sample, text, sample.kind, **sample.where)
        if sample.where:
            recognised = self.check(sample, text, None, **sample.where)
        if recognised is not None and not recognised.is_judged:
            assert recognised.verdict != "accept"
            return  # nothing in it shows its kind: `--as` is for that
        one, other = (
            {UNREADABLE} if found is None else {f.code for f in found.findings if f.code in CODES}
            for found in (named, recognised)
        )
        self.named |= {("--as", code) for code in one - other}
        self.named |= {("recognised", code) for code in other - one}

    def check(
        self, sample: Sample, text: str, kind: str | None, **where: Any
    ) -> CheckedFile | None:
        try:
            found = checked(sample, text, sample.file, kind, **where)
        except UnreadableDocumentError:
            self.fired.add(("check", UNREADABLE))
            return None
        self.fired |= {("check", one.code) for one in found.findings}
        return found

    def resources(self, sample: Sample, folder: Path) -> None:
        program = by_crossguard(sample, folder)
        self.fired |= {("crossguard", one.rule) for one in program}
        state = state_of(sample.resources)
        audit = audited(sample, state, "state.json")
        self.pairs.append((("crossguard", program), ("audit", by_audit(audit))))
        self.compared(audit, checked(sample, state, "state.json"))
        manifests = manifests_of(sample.resources)
        if manifests is not None:
            audit = audited(sample, manifests, "manifests.yaml")
            self.pairs.append((("crossguard", program), ("audit", by_audit(audit))))
