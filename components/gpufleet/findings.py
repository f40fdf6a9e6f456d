"""Finding: the one result type of compile, contract, policies and planner.

A finding is data, never an exception on its own: code that validates returns findings, and only the
outermost caller decides whether an error stops the work.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from gpufleet.messages import message
from gpufleet.secret_text import masked_data


class Severity(StrEnum):
    """Severity of a finding. The members are ordered from the most to the least severe."""

    ERROR = "error"
    """It cannot work, or must not be deployed. Commands exit 1, components refuse to register."""
    WARNING = "warning"
    """It works, but not as it reads, or it wastes money."""
    INFO = "info"
    """A decision that was taken for the reader, with its reason."""


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found about one place of a declaration.

    The message names the value found and the limit it breaks; the fix names the nearest thing that
    would work.
    """

    code: str
    """Stable kebab-case identifier, subject first: `mig-layout-impossible`."""
    severity: Severity
    path: str
    """Where, as its author wrote it: `pools[2].sharing.mig.layouts[0]`. Empty: the whole."""
    message: str
    """One sentence: what was found and which limit it breaks."""
    evidence: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    """Machine-readable facts behind the message: the value, the limit, the source."""
    fix: str | None = None
    """What to write instead, or None when no single change fixes it."""

    def __post_init__(self) -> None:
        for name in ("path", "message", "fix"):
            text = getattr(self, name)
            if text is not None:
                object.__setattr__(self, name, message(text))

    def as_dict(self) -> dict[str, Any]:
        """The JSON form every command prints."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "path": self.path,
            "message": self.message,
            "evidence": masked_data(self.evidence),
            "fix": self.fix,
        }

    @property
    def because(self) -> tuple[str, ...]:
        """The chain of facts behind it, a line for each: what is so, and who says it. Empty where
        the message says it all."""
        links = self.evidence.get("facts")
        if not isinstance(links, list):
            return ()
        chain = cast("list[Mapping[str, object]]", links)
        return tuple(f"{link['fact']} ({link['source']})" for link in chain)

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        because = "".join(f"\n    because {line}" for line in self.because)
        fix = f"\n    fix: {self.fix}" if self.fix else ""
        return f"{self.severity.value} {self.code}: {place}{self.message}{because}{fix}"


def error(
    code: str, path: str, message: str, fix: str | None = None, **evidence: object
) -> Finding:
    """A finding of severity error; keywords become its evidence."""
    return Finding(code, Severity.ERROR, path, message, evidence, fix)


def warning(
    code: str, path: str, message: str, fix: str | None = None, **evidence: object
) -> Finding:
    """A finding of severity warning; keywords become its evidence."""
    return Finding(code, Severity.WARNING, path, message, evidence, fix)


def info(code: str, path: str, message: str, fix: str | None = None, **evidence: object) -> Finding:
    """A finding of severity info; keywords become its evidence."""
    return Finding(code, Severity.INFO, path, message, evidence, fix)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether any finding is of severity error."""
    return any(f.severity is Severity.ERROR for f in findings)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings without duplicates: errors first, then in the order they were found."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda f: _RANK[f.severity]))


class FleetError(ValueError):
    """Raised where an error finding must stop the program: it carries and prints all of them."""

    def __init__(self, findings: Iterable[Finding], subject: str = "") -> None:
        self.findings = ordered(findings)
        head = f"{subject}: " if subject else ""
        errors = sum(f.severity is Severity.ERROR for f in self.findings)
        super().__init__(
            f"{head}{errors} error{'' if errors == 1 else 's'}\n"
            + "\n".join(str(f) for f in self.findings)
        )
