"""Finding: the one result type of compile, contract, policies and planner, from a rule to SARIF.

A finding is data, not an exception: validating code returns findings, and only the outermost caller
decides whether an error stops the run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, cast

from gpufleet.findings.locator import NO_OBJECT, Locator
from gpufleet.findings.money import Money
from gpufleet.findings.remediation import JsonPatch
from gpufleet.findings.waiver import Waiver
from gpufleet.messages import message, one_line
from gpufleet.secret_text import masked_data


class Provenance(IntEnum):
    """How reliable a value is, weakest first: rules compare it with their requirement."""

    DEFAULT = 0
    """No source names it: a documented default, or the pinned release of the catalogue."""
    INFERRED = 1
    """Inferred from a model's name, an image, a command line."""
    EXPLICIT = 2
    """A field of the object itself."""
    DECLARED = 3
    """Declared on purpose: an annotation, an argument of a component, a plan."""


class Level(StrEnum):
    """Effect of a finding."""

    OFF = "off"
    ADVISORY = "advisory"
    """The finding is printed, and nothing stops."""
    MANDATORY = "mandatory"
    """The deployment stops before any resource is created."""
    REMEDIATE = "remediate"
    """`pulumi` fixes it if the rule has a patch; the rule's other findings are mandatory. In audits
    and admission policies all its findings are mandatory."""

    @property
    def enforced(self) -> "Level":
        """The effect of this level if the finding is not fixed."""
        return Level.MANDATORY if self is Level.REMEDIATE else self


class Severity(StrEnum):
    """Severity of a finding. The members are ordered from the most to the least severe."""

    ERROR = "error"
    """It cannot work, or must not be deployed. Commands exit 1, components refuse to register."""
    WARNING = "warning"
    """It works, but not as written, or it wastes money."""
    INFO = "info"
    """A decision that gpufleet made for the user, with its reason."""


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One result about one place of a declaration.

    The message names the value and the limit that it violates; the fix names the nearest value that
    works.
    """

    code: str
    """Stable kebab-case identifier, subject first: `mig-layout-impossible`."""
    severity: Severity
    path: str
    """Path as written: `pools[2].sharing.mig.layouts[0]`. Empty: the whole document."""
    message: str
    """One sentence: the value and the limit that it violates."""
    evidence: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    """Machine-readable facts behind the message: the value, the limit, the source."""
    fix: str | None = None
    """What to write instead, or None when no single change fixes it."""
    locator: Locator = NO_OBJECT
    """The object of `path`; NO_OBJECT: the only document that was read."""
    file: str = ""
    """File that an audit read the object from; empty elsewhere."""
    line: int = 0
    """Line of the field in the file, counted from 1; 0: not known."""
    level: Level = Level.MANDATORY
    """Effect of a rule's finding. Before settings and evidence are applied: the highest possible
    level."""
    money: Money | None = None
    """Its cost; None: it has no cost, or the cost is not known."""
    provenance: Provenance = Provenance.EXPLICIT
    """Its weakest evidence."""
    remediation: JsonPatch = field(default=(), hash=False)
    """Operations of RFC 6902 on the object that fix it; empty: a person must decide."""
    waiver: Waiver | None = None
    """Why it is waived; None: it is not."""
    beneath: tuple[str, ...] = ()
    """For a workload's money: the pools that it may run on, as messages name them. Both amounts can
    be for the same machines."""
    annotation: str = ""
    """The annotation that waives it; empty if none does."""
    docs: str = ""
    """Address of the documentation of its rule."""

    def __post_init__(self) -> None:
        # They contain keys and values of files, and a line feed of these must not start a line:
        # GitHub Actions reads `::error ...` there as a command.
        for name in ("path", "message"):
            object.__setattr__(self, name, one_line(message(getattr(self, name))))
        if self.fix is not None:
            object.__setattr__(self, "fix", message(self.fix))

    @property
    def is_mandatory(self) -> bool:
        """Whether the finding of a rule stops a deployment and fails an audit."""
        return self.level is Level.MANDATORY

    @property
    def place(self) -> str:
        """The object and the field in it; without an object only the field."""
        return f"{self.locator} {self.path}".strip() if self.locator.kind else self.path

    @property
    def statement(self) -> str:
        """The message, with the cost."""
        return self.message if self.money is None else f"{self.message}; it {self.money}"

    @property
    def text(self) -> str:
        """The finding of a rule in one text: code, place, message, fix, money, waiver."""
        place = f"{self.locator}" + (f", {self.path}" if self.path else "")
        text = f"[{self.code}] {place}: {self.message}."
        if self.fix:
            text += f" Instead: {self.fix}."
        if self.money is not None:
            text += f" It {self.money}."
        if not self.annotation:
            return f"{text} See {self.docs}"
        return f"{text} {self._silence()} More: gpufleet policies explain {self.code}"

    @property
    def lines(self) -> str:
        """The same as lines: code and place, then message, fix, money, waiver."""
        place = f"{self.locator}" + (f", {self.path}" if self.path else "")
        more = [self.message.replace("; ", "\n  limit: ", 1)]
        if self.fix:
            more.append(f"instead: {self.fix}")
        if self.money is not None:
            more.append(f"it {self.money}")
        if self.waiver is not None:
            more.append(f"waived: {self.waiver}")
        elif self.annotation:
            more.append(self._silence())
        return "\n  ".join([f"[{self.code}] {place}", *more])

    def _silence(self) -> str:
        if not self.locator.annotated or self.locator.kind == "GpuFleet":
            return (
                "To keep it for a while, add to `exceptions` of the policy settings: "
                f'{{rule: {self.code}, object: "{self.locator}", reason: "...", '
                "until: YYYY-MM-DD}."
            )
        return f'To keep it for a while, annotate {self.annotation}: "<reason>; until=YYYY-MM-DD".'

    def as_dict(self) -> dict[str, Any]:
        """The JSON form every command prints."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "path": self.place,
            "message": self.statement,
            "evidence": masked_data({**self.evidence, **self._of_a_rule()}),
            "fix": self.fix,
        }

    def _of_a_rule(self) -> dict[str, object]:
        """Fields of a rule's finding in addition to its evidence."""
        if not self.locator.kind:
            return {}
        money = self.money
        return {
            "level": self.level.value,
            "urn": self.locator.urn,
            "usd_per_month": None if money is None else money.usd_per_month,
            "money": None if money is None else money.kind.value,
            "docs": self.docs,
        }

    @property
    def because(self) -> tuple[str, ...]:
        """The chain of facts behind it, one line each: the fact and its source. Empty if the
        message is complete."""
        links = self.evidence.get("facts")
        if not isinstance(links, list):
            return ()
        chain = cast("list[Mapping[str, object]]", links)
        return tuple(f"{link['fact']} ({link['source']})" for link in chain)

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        because = "".join(f"\n    because {line}" for line in self.because)
        fix = f"\n    fix: {self.fix}" if self.fix else ""
        return f"{self.severity.value} {self.code}: {place}{self.statement}{because}{fix}"


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


def finding(
    where: str,
    found: str,
    limit: str = "",
    alternative: str = "",
    *,
    money: Money | None = None,
    provenance: Provenance = Provenance.EXPLICIT,
    at_most: Level = Level.MANDATORY,
    evidence: Mapping[str, object] | None = None,
    remediation: JsonPatch = (),
) -> Finding:
    """A rule's result at one place of the object. The rule mechanism adds the code, the object and
    the level.

    Args:
        where: Container, group or field, in words; empty: the object itself.
        found: The actual value.
        limit: The limit that the object violates; empty if `found`, or the rule, names it.
        alternative: What to write instead; empty: the text of the rule, if any.
        money: Its cost.
        provenance: Its weakest evidence.
        at_most: Its highest level, if the rule is less certain or the amount is small.
        evidence: Facts for programs.
        remediation: Operations of RFC 6902 on the object; empty: a person must decide.
    """
    return Finding(
        code="",
        severity=Severity.ERROR if at_most is Level.MANDATORY else Severity.WARNING,
        path=one_line(where),
        message=one_line(f"{found}; {limit}" if limit else found),
        evidence={} if evidence is None else evidence,
        fix=one_line(alternative) or None,
        level=at_most,
        money=money,
        provenance=provenance,
        remediation=remediation,
    )


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether any finding has the severity error."""
    return any(f.severity is Severity.ERROR for f in findings)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings without duplicates: errors first, then in the order of discovery."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda f: _RANK[f.severity]))


class FleetError(ValueError):
    """Raised when error findings must stop the program; carries and prints all findings."""

    def __init__(self, findings: Iterable[Finding], subject: str = "") -> None:
        self.findings = ordered(findings)
        head = f"{subject}: " if subject else ""
        errors = sum(f.severity is Severity.ERROR for f in self.findings)
        super().__init__(
            f"{head}{errors} error{'' if errors == 1 else 's'}\n"
            + "\n".join(str(f) for f in self.findings)
        )
