"""What a cause is: a row with its source and a function that finds it, and what the function gives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from gpufleet.findings import Finding, Severity
from gpufleet.fleet.model import Fleet
from gpufleet.messages import message, one_line
from gpufleet_policies.doctor.observed import Cluster
from gpufleet_policies.doctor.pending import Proof, proofs


class Sure(StrEnum):
    """How sure a cause is."""

    CERTAIN = "certain"
    """The object says it itself."""
    LIKELY = "likely"
    """It follows from objects together; another reason would be unusual."""
    POSSIBLE = "possible"
    """One of several reasons that look the same."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value of the dump."""

    object: str
    """`Node/gpu-0`."""
    field: str
    """Field path: `status.conditions[Ready].status`."""
    value: str


@dataclass(frozen=True, slots=True)
class Found:
    """A cause at one object."""

    at: str
    """The object, as `Seen.ref`."""
    message: str
    fix: str
    evidence: tuple[Evidence, ...]
    chain: tuple[str, ...] = ()
    """What follows from the evidence, in order, down to what people see."""
    explains: tuple[str, ...] = ()
    """Objects whose symptoms follow from it: no cause of its own is looked for there."""
    gpus: int = 0
    """GPUs, slices or shares that are out of use for it: the worst are shown first."""
    declared: str = ""
    """The edit of the FleetSpec that fixes it; empty where none does."""


@dataclass(frozen=True, eq=False)
class Patient:
    """What causes look at: the dump, the declaration, and what is explained already."""

    cluster: Cluster
    fleet: Fleet | None = None
    explained: set[str] = field(default_factory=set[str])

    @cached_property
    def proofs(self) -> tuple[Proof, ...]:
        """Why pods wait, one proof for each shape of pods."""
        return proofs(self.cluster)


Finder = Callable[[Patient], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause that the doctor knows."""

    code: str
    severity: Severity
    sure: Sure
    title: str
    """One sentence for the page."""
    reports: tuple[str, ...]
    """Public reports or source code that show it."""
    find: Finder = field(repr=False, compare=False)


def cause(
    code: str,
    title: str,
    *reports: str,
    sure: Sure = Sure.CERTAIN,
    severity: Severity = Severity.ERROR,
) -> Callable[[Finder], Cause]:
    """Make a cause of the function that finds it."""

    def made(find: Finder) -> Cause:
        return Cause(code, severity, sure, title, reports, find)

    return made


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cause that was found."""

    cause: Cause
    found: Found

    @property
    def finding(self) -> Finding:
        """It as every command prints findings."""
        found, row = self.found, self.cause
        facts = [
            {"fact": f"{one.field} is {one.value}", "source": one.object} for one in found.evidence
        ]
        source = row.reports[0]
        facts += [{"fact": link, "source": source} for link in found.chain]
        return Finding(
            row.code,
            row.severity,
            found.at,
            message(found.message),
            {
                "sure": row.sure.value,
                "gpus": found.gpus,
                "evidence": [
                    {"object": one.object, "field": one.field, "value": one_line(one.value)}
                    for one in found.evidence
                ],
                "facts": facts,
                "reports": list(row.reports),
                "declaration": found.declared or None,
            },
            found.fix,
        )
