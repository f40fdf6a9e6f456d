"""What a cause is: a row of `causes.jsonl` and a function that finds it, and what that gives."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from importlib.resources import files
from typing import Any, TypeVar

from gpufleet.findings import Finding, Severity
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.messages import message, one_line
from gpufleet_policies.doctor.observed import Seen, SeenNode, SeenPod
from gpufleet_policies.doctor.pending import WhyPending, proofs
from gpufleet_policies.doctor.snapshot import Dump


class Sure(StrEnum):
    """How sure a cause is."""

    CERTAIN = "certain"
    """The object says it itself."""
    LIKELY = "likely"
    """It follows from objects together; another reason would be unusual."""
    POSSIBLE = "possible"
    """One of several reasons that look the same."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One value of the dump."""

    object: str
    """`Node/gpu-0`."""
    field: str
    """Field path: `status.conditions[Ready].status`."""
    value: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """A cause at one object, as its finder gives it."""

    at: str
    """The object, as `Seen.ref`."""
    evidence: tuple[Sign, ...]
    values: Mapping[str, Any]
    """What the texts of the row name."""
    gpus: int
    """GPUs, slices or shares that are out of use for it: the worst are shown first."""
    explains: tuple[str, ...]
    """Objects whose symptoms follow from it: no cause of its own is looked for there."""


def found_at(
    at: Seen | WhyPending | str,
    *evidence: Sign,
    gpus: int | None = None,
    explains: tuple[str, ...] = (),
    **values: Any,
) -> Sighting:
    """A cause at an object.

    Args:
        at: The object, `{at}` of the texts; a proof stands for its pod and those that wait like it.
        evidence: What shows it.
        gpus: GPUs that are out of use; default: those of the node, pod or pods.
        explains: Further objects whose symptoms follow from it.
        values: What the texts of the row name beside `{at}` and `{many}`.
    """
    seen = at.pod if isinstance(at, WhyPending) else at
    if isinstance(at, WhyPending):
        values["many"] = f" (and {at.same - 1} pods like it)" if at.same > 1 else ""
    if gpus is None:
        gpus = 0
        if isinstance(at, WhyPending):
            gpus = at.same * (sum(at.pod.devices.values()) or 1)
        elif isinstance(seen, SeenPod):
            gpus = sum(seen.devices.values()) or len(seen.claims)
        elif isinstance(seen, SeenNode):
            gpus = seen.has_gpus
    ref = seen if isinstance(seen, str) else seen.ref
    return Sighting(ref, evidence, {"at": seen, **values}, gpus, explains)


@dataclass(frozen=True, eq=False)
class Patient:
    """What causes look at: the dump, the declaration, and what is explained already."""

    cluster: Dump
    fleet: Fleet | None = None
    explained: set[str] = field(default_factory=set[str])

    @cached_property
    def proofs(self) -> tuple[WhyPending, ...]:
        """Why pods wait, one proof for each shape of pods."""
        return proofs(self.cluster)

    @property
    def nodes(self) -> Iterator[SeenNode]:
        """Nodes with NVIDIA GPUs that no cause explains yet."""
        for node in self.cluster.nodes.values():
            if node.has_nvidia and node.ref not in self.explained:
                yield node

    @property
    def members(self) -> Iterator[tuple[Pool, list[SeenNode]]]:
        """Declared pools and their nodes."""
        for pool in () if self.fleet is None else self.fleet.pools:
            nodes = self.cluster.nodes.values()
            yield pool, [one for one in nodes if one.labels.get(POOL_LABEL) == pool.name]

    def pool(self, node: SeenNode) -> Pool | None:
        """The declared pool of a node; None: none, or nothing is declared."""
        pools = () if self.fleet is None else self.fleet.pools
        return next((p for p in pools if p.name == node.labels.get(POOL_LABEL)), None)


Finder = Callable[[Patient], Iterator[Sighting]]


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
    texts: Mapping[str, Any] = field(repr=False, compare=False)
    """Templates of `message`, `fix`, `chain` and `declared` (an edit of the FleetSpec)."""
    find: Finder = field(repr=False, compare=False)


_ROWS: dict[str, dict[str, Any]] = {
    row["code"]: row
    for row in map(
        json.loads,
        files("gpufleet_policies.doctor").joinpath("causes.jsonl").read_text().splitlines(),
    )
}


def cause(code: str) -> Callable[[Finder], Cause]:
    """Make a cause of its row and the function that finds it."""
    row = _ROWS[code]
    severity, sure = Severity(row["severity"]), Sure(row["sure"])

    def made(find: Finder) -> Cause:
        return Cause(code, severity, sure, row["title"], tuple(row["reports"]), row, find)

    return made


Item = TypeVar("Item")
FindOne = Callable[[Patient, Item], Sighting | None]


def each(
    select: Callable[[Patient], Iterable[Item]],
) -> Callable[[str], Callable[[FindOne[Item]], Cause]]:
    """What makes a cause of its row and a function that looks at one of many things.

    Args:
        select: The things, in their order; asked while causes are found, so that what one of them
            explains is left out of the rest.
    """

    def of(code: str) -> Callable[[FindOne[Item]], Cause]:
        def made(find: FindOne[Item]) -> Cause:
            def every(patient: Patient) -> Iterator[Sighting]:
                found = (find(patient, item) for item in select(patient))
                yield from (one for one in found if one is not None)

            return cause(code)(every)

        return made

    return of


of_nodes = each(lambda patient: patient.nodes)
"""Causes of one node with GPUs."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cause that was found."""

    cause: Cause
    found: Sighting

    def text(self, key: str) -> str:
        """A text of the row, filled in; empty where it has none."""
        return str(self.cause.texts.get(key, "")).format_map(self.found.values)

    @property
    def chain(self) -> tuple[str, ...]:
        """What follows from the evidence, in order, down to what people see."""
        return tuple(
            link.format_map(self.found.values) for link in self.cause.texts.get("chain", ())
        )

    @property
    def finding(self) -> Finding:
        """It as every command prints findings."""
        found, row = self.found, self.cause
        shown = [
            {"object": one.object, "field": one.field, "value": one_line(one.value)}
            for one in found.evidence
        ]
        facts = [{"fact": f"{e['field']} is {e['value']}", "source": e["object"]} for e in shown]
        facts += [{"fact": link, "source": row.reports[0]} for link in self.chain]
        evidence = {
            "sure": row.sure.value,
            "gpus": found.gpus,
            "evidence": shown,
            "facts": facts,
            "reports": list(row.reports),
            "declaration": self.text("declared") or None,
        }
        said = message(self.text("message"))
        return Finding(row.code, row.severity, found.at, said, evidence, self.text("fix"))
