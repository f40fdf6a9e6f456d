"""Why a node or a NodePool does not take a pod, in the words of rows (`blockers.jsonl`).

A row has the filter, its phrase, what would pass it, how much that is (an edit of the pod 1,
another pod that must go 3, a request smaller 4), and `empty: false` where the node has not enough
even without its pods.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from gpufleet.catalogue.edition import read_rows

_ROWS = {row["name"]: row for row in read_rows(Path(__file__).parent, "blockers")}


@dataclass(frozen=True, slots=True)
class Blocker:
    """A filter that a node does not pass."""

    filter: str
    """Plugin of kube-scheduler: `TaintToleration`; or a condition of Karpenter for a NodePool."""
    reason: str
    """Its phrase in the message of the pod's condition."""
    change: str
    """Change by which the pod passes it."""
    cost: int
    """Cost of that change."""
    about: str
    """The resource, or the claim."""
    why: str
    """The fault, where the reason does not state it."""
    fits_empty: bool
    """For a resource or a claim: whether the empty node has enough."""


def blocker(
    name: str, about: str = "", why: str = "", *, times: int = 1, **values: object
) -> Blocker:
    """The texts of a row, which name `about`, `why` and `values`. `times` multiplies its cost."""
    row, said = _ROWS[name], {"about": about, "why": why, **values}
    reason, change = (str(row[key]).format_map(said) for key in ("reason", "change"))
    fits, cost = row.get("empty", True), row["cost"] * times
    return Blocker(row["filter"], reason, change, cost, about, why, fits)


@dataclass(frozen=True, slots=True)
class Answer:
    """Why one node, or each of several that are alike, does not take the pod, or one NodePool
    makes no node for it."""

    name: str
    """The node, of several the first, or the NodePool."""
    blockers: tuple[Blocker, ...]
    """In the order of evaluation; empty: the pod fits."""
    said: Blocker | None = None
    """Its reason where that is not the first of these."""
    alike: Sequence[str] = ()
    """Names of several nodes, this one too."""
    without: AbstractSet[str] = frozenset()
    """Those among them that have another answer."""

    @property
    def names(self) -> Iterator[str]:
        """The names that it is the answer of."""
        return (one for one in self.alike or (self.name,) if one not in self.without)

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.alike or (self.name,)) - len(self.without)

    @property
    def first(self) -> Blocker:
        """Reason in the scheduler's words."""
        return self.said or self.blockers[0]

    @property
    def reason(self) -> str:
        """The same in words; empty: it can."""
        return self.first.reason if self.blockers else ""

    @property
    def change(self) -> str:
        """The change that makes it fit."""
        return " and ".join(one.change for one in self.blockers)

    @property
    def cost(self) -> int:
        """Cost of the change."""
        return sum(one.cost for one in self.blockers)
