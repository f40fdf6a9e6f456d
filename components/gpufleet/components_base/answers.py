"""What a cloud was asked, and what is wrong: the same for every platform."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, ordered, warning
from gpufleet.fleet import Fleet

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a declaration does not hold and a question may need."""

    subnets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Zone -> subnet. Empty: those of the cluster."""
    node_role: str | None = None
    """ARN of the nodes' role."""


@dataclass(slots=True)
class Answers:
    """Collects what was asked and what was found."""

    asked: list[str] = field(default_factory=list[str])
    """Each question that got an answer, in words, in order."""
    findings: list[Finding] = field(default_factory=list[Finding])

    def answered(self, question: str) -> None:
        """A question that got an answer, good or bad."""
        self.asked.append(question)

    def could_not_check(self, path: str, question: str, reason: str, needs: str) -> None:
        """A question without an answer: never taken for a good one.

        Args:
            path: Place of the declaration the question is about.
            question: What was to be found out.
            reason: Why there is no answer.
            needs: What would have to be granted or installed.
        """
        what = f"could not check {question}: {reason}"
        self.findings.append(warning("could-not-check", path, what, needs, question=question))

    def answer(
        self, missing: Finding | None, ask: Callable[..., Answer], *given: Any, **named: Any
    ) -> Answer | None:
        """What a client answers; None without an answer, which is reported.

        Args:
            missing: Reported where what was asked for does not exist; None: not a fault.
            ask: Method of a client, which raises NotAnsweredError or MissingError.
            given: Its arguments.
            named: Its arguments by name.
        """
        try:
            return ask(*given, **named)
        except NotAnsweredError:
            return None
        except MissingError:
            self.findings += [] if missing is None else [missing]
            return None

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "asked": list(self.asked),
            "findings": [finding.as_dict() for finding in ordered(self.findings)],
        }


class NotAnsweredError(Exception):
    """A call without an answer, already reported."""


class MissingError(Exception):
    """What was asked for does not exist."""


class CannotAskError(Exception):
    """No question can be asked at all; the text says what is missing."""


class PlatformPreflight(Protocol):
    """Questions to the real cloud before anything is made."""

    def ask(self, fleet: Fleet, wiring: Wiring) -> Answers:
        """What the cloud answers about every pool. Raises CannotAskError when it cannot be
        reached at all."""
        ...


def platform_preflight(platform: PlatformValue) -> PlatformPreflight | None:
    """What asks the real cloud; None where there is none to ask. Uses the network."""
    if not platform.has("preflight"):
        return None
    return cast("PlatformPreflight", platform.module("preflight"))
