"""A cause: a row of `causes.jsonl`, its finder, and the result.

A row has the texts `message`, `fix`, `chain`, `declared` (an edit of the FleetSpec), `evidence`
(field and value, preceded by the object if it is another one; a single text is a label of the
object) and `cases`, texts from which a finder chooses. Texts name values of the sighting.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from gpufleet.catalogue.edition import read_rows
from gpufleet.documents.paths import mapping_at
from gpufleet.documents.shapes import items
from gpufleet.findings import Finding, Severity
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.messages import message, one_line
from gpufleet_policies.doctor.observed import Seen, SeenNode, SeenPod
from gpufleet_policies.doctor.pending import WhyPending, proofs
from gpufleet_policies.doctor.snapshot import Dump


class Sure(StrEnum):
    """Certainty of a cause."""

    CERTAIN = "certain"
    """The object states it."""
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


class Sighting:
    """A cause at one object, as its finder gives it.

    Attributes:
        at: The object, as `Seen.ref`.
        signs: Evidence in addition to that of the row.
        case: The applicable case of the row; empty: the row has none.
        gpus: GPUs, slices or shares that it puts out of use: the worst causes are shown first.
        explains: Objects whose symptoms follow from it: no separate cause is searched for them.
        values: Values of the row's texts: `{at}`, `{many}`, and the finder's own.
    """

    def __init__(
        self,
        at: Seen | WhyPending | str,
        *signs: Sign,
        case: str = "",
        gpus: int | None = None,
        explains: Iterable[str] = (),
        waiting: Sequence[WhyPending] = (),
        **values: Any,
    ) -> None:
        """A sighting at an object, or at the pod of a proof, which represents similar pods. `gpus`
        are by default those of the node, pod or pods; `waiting` are proofs of pods that wait for
        the object: it explains them, and their GPUs are out of use."""
        seen, lost = (at.pod, at.gpus) if isinstance(at, WhyPending) else (at, 0)
        if isinstance(at, WhyPending):
            values["many"] = f" (and {at.same - 1} pods like it)" if at.same > 1 else ""
        elif isinstance(at, SeenNode | SeenPod):
            lost = at.has_gpus if isinstance(at, SeenNode) else at.gpus
        lost += sum(one.gpus for one in waiting)
        self.at = seen if isinstance(seen, str) else seen.ref
        self.signs, self.case, self.explains = (
            signs,
            case,
            (*explains, *(w.pod.ref for w in waiting)),
        )
        self.gpus = lost if gpus is None else gpus
        self.values: dict[str, Any] = {"at": seen, **values}


@dataclass(frozen=True, eq=False)
class Patient:
    """Input of causes: the dump, the declaration, and the objects that are explained already."""

    cluster: Dump
    fleet: Fleet | None = None
    explained: set[str] = field(default_factory=set[str])

    @property
    def proofs(self) -> tuple[WhyPending, ...]:
        """Why pods wait, one proof for each shape of pods."""
        return proofs(self.cluster)

    @property
    def waiting(self) -> Iterator[WhyPending]:
        """Proofs of pods that the scheduler looks at and that no cause explains yet."""
        for proof in self.proofs:
            if proof.pod.ref not in self.explained and not proof.fits and not proof.pod.gates:
                yield proof

    def waiting_for(self, machine: Seen) -> list[WhyPending]:
        """Proofs of pods that the pool of a NodeClaim can make a node for."""
        name = machine.labels.get("karpenter.sh/nodepool", "")
        able = ((one, {a.name for a in one.pools if not a.reason}) for one in self.waiting)
        return [one for one, pools in able if name in pools]

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
            yield pool, [one for one in self.cluster.nodes.values() if self.pool(one) is pool]

    def pool(self, at: object) -> Pool | None:
        """The declared pool of an object, by its label or that of nodes it makes."""
        if self.fleet is None or not isinstance(at, Seen):
            return None
        made = mapping_at(at.spec, "template.metadata.labels")
        name = at.labels.get(POOL_LABEL, made.get(POOL_LABEL))
        return next((pool for pool in self.fleet.pools if pool.name == name), None)


Finder = Callable[[Patient], Iterator[Sighting]]
FINDERS: dict[str, Finder] = {}
"""The finder of a cause, by its code."""
ROWS = tuple(read_rows(Path(__file__).parent, "causes"))
"""Every row. Causes of others come first: a node that is not ready explains its pods."""


def cause(code: str) -> Callable[[Finder], Finder]:
    """Make a function the finder of a row."""
    return lambda find: FINDERS.setdefault(code, find)


Item = TypeVar("Item")
FindOne = Callable[[Patient, Item], Sighting | None]


def each(
    select: Callable[[Patient], Iterable[Item]],
) -> Callable[[str], Callable[[FindOne[Item]], Finder]]:
    """Decorator for the finder of a row that checks one object of many. Objects come lazily: those
    that an earlier cause explains are omitted."""

    def of(code: str) -> Callable[[FindOne[Item]], Finder]:
        def made(find: FindOne[Item]) -> Finder:
            def every(patient: Patient) -> Iterator[Sighting]:
                yield from filter(None, (find(patient, item) for item in select(patient)))

            return cause(code)(every)

        return made

    return of


of_nodes = each(lambda patient: patient.nodes)
"""Causes of one node with GPUs."""
of_waiting = each(lambda patient: patient.waiting)
"""Causes of pods that the scheduler looks at."""
of_proofs = each(lambda patient: patient.proofs)
"""Causes of pods that wait, those too that it does not look at."""


class Cause:
    """One cause that the doctor knows: a row and its finder.

    Attributes:
        title: One sentence for the page.
        reports: Public reports or source code that show the cause.
    """

    def __init__(self, row: Mapping[str, Any], find: Finder) -> None:
        """Read the head of a row."""
        self.texts, self.find = row, find
        self.code: str = row["code"]
        self.title: str = row["title"]
        self.severity, self.sure = Severity(row["severity"]), Sure(row["sure"])
        self.reports = tuple[str, ...](row["reports"])


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """A cause that was found."""

    cause: Cause
    found: Sighting
    pool: Pool | None = None
    """Its pool of the declaration."""

    @cached_property
    def _values(self) -> dict[str, Any]:
        path = "pools[]" if self.pool is None else self.pool.path
        values = {**self.found.values, "path": path}
        cases = self.cause.texts.get("cases", {}).get(self.found.case, {})
        return values | {key: str(one).format_map(values) for key, one in cases.items()}

    def _filled(self, template: str) -> str:
        return template.format_map(self._values)

    def text(self, key: str) -> str:
        """A text of the row, filled in; empty where it has none."""
        return self._filled(self.cause.texts.get(key, ""))

    @property
    def chain(self) -> tuple[str, ...]:
        """Consequences of the evidence, in order, down to the visible symptom."""
        return tuple(map(self._filled, self.cause.texts.get("chain", ())))

    @property
    def evidence(self) -> Iterator[Sign]:
        """Its evidence: that of the row, then that of the finder."""
        for one in self.cause.texts.get("evidence", ()):
            parts = items(one) or [f"metadata.labels[{one}]", f"{{at.labels[{one}]}}"]
            at, place, value = ["{at.ref}", *parts][-3:]
            yield Sign(self._filled(at), self._filled(place), self._filled(value))
        yield from self.found.signs

    @property
    def finding(self) -> Finding:
        """It as every command prints findings."""
        found, row = self.found, self.cause
        shown = [
            {"object": one.object, "field": one.field, "value": one_line(one.value)}
            for one in self.evidence
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
