"""Lines of attribution added up by whom one asks for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpufleet.cost.cost import CostLine, Use


class By(StrEnum):
    """What rows are made of."""

    TEAM = "team"
    NAMESPACE = "namespace"
    POD = "pod"
    SLICE = "slice"
    """The resource that was held: a GPU, a slice, a share."""
    POOL = "pool"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a report."""

    name: str
    """Whom `By` asks for; `idle` and `stranded` where it is no one's; `-` for pods of no team."""
    use: Use
    micro_usd: int
    unit_seconds: int
    """Units held, times seconds."""


def rows(lines: Iterable[CostLine], by: By, teams: Mapping[str, str]) -> list[Row]:
    """Rows, dearest first, those of no one last; together they are all lines."""
    money: dict[tuple[Use, str], int] = {}
    seconds: dict[tuple[Use, str], int] = {}
    for line in lines:
        key = (line.use, _name(line, by, teams))
        money[key] = money.get(key, 0) + line.micro_usd
        seconds[key] = seconds.get(key, 0) + line.unit_seconds
    found = [Row(name, use, amount, seconds[(use, name)]) for (use, name), amount in money.items()]
    return sorted(found, key=lambda row: (row.use is not Use.POD, -row.micro_usd, row.name))


def _name(line: CostLine, by: By, teams: Mapping[str, str]) -> str:
    if by is By.NODE:
        return line.node
    if by is By.POOL:
        return line.pool
    if by is By.SLICE:
        return line.resource or line.use.value
    if line.use is not Use.POD:
        return line.use.value
    if by is By.POD:
        return f"{line.namespace}/{line.pod}"
    return line.namespace if by is By.NAMESPACE else teams.get(line.namespace, "-")
