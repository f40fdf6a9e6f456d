"""GPUs of the nodes of a dump: what can be requested, and what no pod requests."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.node import ObservedNode, PodOnNode
from gpufleet.findings.money import HOURS_PER_MONTH, MICRO_USD
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import way_price


@dataclass(frozen=True, slots=True)
class RequestedGpus:
    """One resource of one node."""

    node: str
    instance_type: str
    """Empty: not known."""
    resource: str
    allocatable: int
    requested: int
    usd_per_month: int | None
    """Cost of the units that no pod requests; None: the price is unknown."""

    @property
    def free(self) -> int:
        """Units that no pod requests."""
        return max(0, self.allocatable - self.requested)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "node": self.node,
            "instanceType": self.instance_type or None,
            "resource": self.resource,
            "allocatable": self.allocatable,
            "requested": self.requested,
            "free": self.free,
            "freeUsdPerMonth": self.usd_per_month,
        }


def node_use(context: RuleContext) -> tuple[RequestedGpus, ...]:
    """Every GPU resource of every node, the most expensive free units first.

    Empty where the inputs have no node, or no placed pod: a dump of nodes alone has no requests.
    """
    nodes = context.declared(ObservedNode)
    held: dict[str, Counter[str]] = {}
    for pod in context.declared(PodOnNode):
        held.setdefault(pod.node, Counter()).update(pod.gpus)
    if not nodes or not held:
        return ()
    rows = list(_rows(nodes, held, context.catalogue))
    rows.sort(key=lambda row: (-(row.usd_per_month or 0), -row.free, row.node, row.resource))
    return tuple(rows)


def _rows(
    nodes: Iterable[ObservedNode], held: Mapping[str, Counter[str]], catalogue: Catalogue
) -> Iterator[RequestedGpus]:
    for one in nodes:
        units = sum(one.gpus.values())
        price = _hour(one, catalogue)
        for resource, count in one.gpus.items():
            requested = held.get(one.locator.name, Counter[str]())[resource]
            free = max(0, count - requested)
            cost = None
            if price is not None and units:
                cost = round(Fraction(free, units) * price * HOURS_PER_MONTH / MICRO_USD)
            kind = one.instance_type.found or ""
            yield RequestedGpus(one.locator.name, kind, resource, count, requested, cost)


def _hour(one: ObservedNode, catalogue: Catalogue) -> int | None:
    """Micro-dollars an hour of a node, in its own region."""
    row = catalogue.in_region(one.region.found, estimate=False).instances.get(
        one.instance_type.found or ""
    )
    return None if row is None else way_price(row, "spot" if one.spot else "onDemand")[0]


def free_usd_per_month(rows: Iterable[RequestedGpus]) -> int | None:
    """Cost of all units that no pod requests; None where none has a price."""
    known = [row.usd_per_month for row in rows if row.free and row.usd_per_month is not None]
    return sum(known) if known else None
