"""Checks in a cloud and their findings: common to every platform."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, ordered, warning
from gpufleet.fleet import Fleet


@dataclass(frozen=True, slots=True)
class Wiring:
    """Values for checks that a declaration does not contain."""

    subnets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Zone -> subnet. Empty: those of the cluster."""
    node_role: str | None = None
    """ARN of the nodes' role."""


@dataclass(slots=True)
class Answers:
    """Collects checks and findings."""

    asked: list[str] = field(default_factory=list[str])
    """Every completed check, in words, in order."""
    findings: list[Finding] = field(default_factory=list[Finding])

    def answered(self, question: str) -> None:
        """A completed check, with or without findings."""
        self.asked.append(question)

    def could_not_check(self, path: str, question: str, reason: str, needs: str) -> None:
        """A check without an answer, which never counts as passed.

        Args:
            path: Place of the declaration.
            question: The check.
            reason: Why there is no answer.
            needs: The missing permission or package.
        """
        what = f"could not check {question}: {reason}"
        self.findings.append(warning("could-not-check", path, what, needs, question=question))

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "asked": list(self.asked),
            "findings": [finding.as_dict() for finding in ordered(self.findings)],
        }


class NotAnsweredError(Exception):
    """A call without an answer, already reported."""


class MissingError(Exception):
    """The requested object does not exist."""


class CannotAskError(Exception):
    """No check can be made; the text names what is missing."""


class PlatformPreflight(Protocol):
    """Checks in the real cloud before any resource is created."""

    def ask(self, fleet: Fleet, wiring: Wiring) -> Answers:
        """Results of the cloud for every pool. Raises CannotAskError when it cannot be reached."""
        ...


def platform_preflight(platform: PlatformValue) -> PlatformPreflight | None:
    """The checks in the real cloud; None if there are none. Uses the network."""
    if not platform.has("preflight"):
        return None
    return cast("PlatformPreflight", platform.module("preflight"))
