"""A fleet rented from its cloud compared with owned machines, year by year.

The cloud costs the expected nodes of each pool at the pool's first purchase option. Owned machines
are bought for the maximum number of nodes, at the beginning of the year that needs them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil
from typing import Annotated, Any

from pydantic import Field

from gpufleet.catalogue import Catalogue, UnknownKeyError
from gpufleet.documents.plain_data import picked
from gpufleet.findings import Finding, findings_in, has_errors
from gpufleet.fleet import Fleet, Pool
from gpufleet_planner.sizing.request import RequestModel, read_model
from gpufleet_planner.tables import texts

INVALID = "own-hardware-invalid"
_finding = findings_in(__file__)

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000_000, max_digits=16, decimal_places=6)]
Part = Annotated[Decimal, Field(ge=0, le=1)]


class OwnMachine(RequestModel):
    """A machine that can be bought."""

    gpu: str
    """Key of the GPU in the catalogue."""
    gpus: Annotated[int, Field(ge=1, le=16)]
    """GPUs of one machine."""
    usd: Dollars
    """Price of one machine, with its part of network and racks."""
    kw: Annotated[Decimal, Field(gt=0, le=500)]
    """Power at full load, in kW."""
    idle_kw: Annotated[Decimal, Field(ge=0, le=500)] | None = None
    """Power without load, in kW. Default: that at full load, the safe side."""


class OwnHardwarePlan(RequestModel):
    """Own hardware over years. Amounts are in US dollars, without taxes."""

    machines: Annotated[tuple[OwnMachine, ...], Field(min_length=1, max_length=100)]
    years: Annotated[int, Field(ge=1, le=15)] = 4
    """Years that are compared."""
    growth: Annotated[Decimal, Field(ge=Decimal("0.1"), le=10)] = Decimal(1)
    """Factor of the need from one year to the next. Default 1: no change."""
    usd_per_kwh: Dollars = Decimal(0)
    """Price of a kWh."""
    pue: Annotated[Decimal, Field(ge=1, le=5)] = Decimal(1)
    """Power of the whole site, cooling included, by that of its machines."""
    usd_per_kw_month: Dollars = Decimal(0)
    """Rent of a hosting site for each kW of full load."""
    usd_per_year: Dollars = Decimal(0)
    """People and whatever else costs the same in each year."""
    maintenance: Part = Decimal(0)
    """Service contract of a year, as a part of the price of the machines."""
    residual: Part = Decimal(0)
    """Residual value of a machine after `years`, as a part of its price; linear in between."""
    interest: Annotated[Decimal, Field(ge=0, le=1)] = Decimal(0)
    """Rate of a year by which later amounts count less."""
    lead_weeks: Annotated[int, Field(ge=0, le=260)] = 0
    """Weeks from the order to machines that run. Until then the cloud is paid."""
    utilisation: Part | None = None
    """Part of the time in which the GPUs that are bought are needed. Default: the pool's expected
    nodes by its most nodes."""


def read_own_hardware(
    data: Mapping[str, Any], catalogue: Catalogue
) -> tuple[OwnHardwarePlan | None, tuple[Finding, ...]]:
    """Plain data of a file as own hardware; None with every problem at once."""
    findings: list[Finding] = []
    plan = read_model(OwnHardwarePlan, data, "", INVALID, findings)
    if plan is None:
        return None, tuple(findings)
    seen: dict[str, str] = {}
    for index, machine in enumerate(plan.machines):
        path = f"machines[{index}]"
        try:
            key = catalogue.gpu(machine.gpu).key
        except UnknownKeyError as unknown:
            findings.append(_finding("own-hardware-invalid/gpu", path, problem=str(unknown)))
            continue
        if key in seen:
            findings.append(_finding("own-hardware-invalid/twice", path, other=seen[key], gpu=key))
        seen.setdefault(key, path)
        if machine.idle_kw is not None and machine.idle_kw > machine.kw:
            findings.append(
                _finding("own-hardware-invalid/idle", path, found=machine.idle_kw, limit=machine.kw)
            )
    return (None if has_errors(findings) else plan), tuple(findings)


HOURS = Decimal(8766)
"""Hours of a year, leap years averaged."""
_WEEKS = HOURS / 168


@dataclass(frozen=True, slots=True)
class ComparedYear:
    """One year, in dollars of that year."""

    year: int
    gpus: int
    """Maximum number of GPUs that are needed."""
    machines: int
    """Own machines at the end of the year."""
    bought: Decimal
    """For machines of this year."""
    running: Decimal
    """Power, room, maintenance, people, and the cloud until the first machines run."""
    cloud: Decimal
    """Renting the same."""


@dataclass(frozen=True, slots=True)
class OwnOrRent:
    """The comparison of the pools that can be compared."""

    pools: tuple[str, ...]
    years: tuple[ComparedYear, ...]
    own: Decimal
    """All years, later ones discounted, less what the machines are worth at the end."""
    cloud: Decimal
    """All years, later ones discounted."""
    residual: Decimal
    """Residual value of the machines at the end, discounted."""
    months_to_even: int | None
    """Month from which on own hardware has cost no more than the cloud, not discounted and with the
    machines worth nothing; None: not in these years."""
    even_at: Decimal | None
    """Part of the time the machines must be needed for both to cost the same; None: at no part."""
    taken: tuple[str, ...]
    """Which price the cloud is paid at, and what the file does not give and counts as 0."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """Cost of one pool in its first year."""

    machine: OwnMachine
    gpus: Decimal
    """Maximum number of GPUs in the first year."""
    used: Decimal
    """Part of the time in which they are needed."""
    rent: Decimal
    """Dollars a year for the most nodes, all of the time."""


def own_or_rent(fleet: Fleet, plan: OwnHardwarePlan, catalogue: Catalogue) -> OwnOrRent:
    """Compare the pools of a fleet with machines of the same GPUs.

    A pool without a price, or with a GPU that no machine of the plan has, is named and left out.
    """
    findings: list[Finding] = []
    sides: dict[str, _Side] = {}
    machines = {catalogue.gpu(one.gpu).key: one for one in plan.machines}
    for pool in fleet.pools:
        side = _side(pool, machines, plan, findings)
        if side is not None:
            sides[pool.name] = side
        if any(one.capacity_block is not None for one in pool.capacity):
            weeks, name = catalogue.clouds["aws"].blocks["weeks_ahead"], pool.name
            row = _finding("capacity-block-lead-time", pool.path, weeks=weeks, pool=name)
            findings.append(row)
    years = _years(tuple(sides.values()), plan)
    own, residual = _present_value(years, plan)
    return OwnOrRent(
        tuple(sides),
        years,
        own,
        _discounted([year.cloud for year in years], plan),
        residual,
        _months_to_even(years),
        _even_at(tuple(sides.values()), plan),
        tuple(_taken(fleet, tuple(sides), plan, catalogue)),
        tuple(findings),
    )


_COSTS = {
    "power": "usd_per_kwh",
    "room": "usd_per_kw_month",
    "people": "usd_per_year",
    "network": "usd_per_year",
    "failures and service": "maintenance",
    "interest": "interest",
}
"""Cost of own hardware -> field of the file that has it."""


def _taken(
    fleet: Fleet, names: tuple[str, ...], plan: OwnHardwarePlan, catalogue: Catalogue
) -> Iterator[str]:
    """Each pool's price with its origin, and the costs that no field gives."""
    listed = False
    for pool in fleet.pools:
        if pool.name not in names:
            continue
        way, row = pool.capacity[0].mode, pool.machines[0].instance
        origin = "" if row is None else row.price(way).source.key
        kind = f"list, {origin}" if origin in catalogue.sources else origin or "stated"
        listed = listed or origin in catalogue.sources
        yield f"price of {pool.name}: {pool.hourly_usd:,.2f} USD/h, {way} ({kind})"
    if listed:
        yield "committed prices are lower: give yours with --prices"
    missing = [cost for cost, name in _COSTS.items() if not getattr(plan, name)]
    if names and missing:
        yield f"0, as not given: {', '.join(missing)}"


def _side(
    pool: Pool,
    machines: Mapping[str, OwnMachine],
    plan: OwnHardwarePlan,
    findings: list[Finding],
) -> _Side | None:
    machine = machines.get(pool.gpu.key)
    if machine is None:
        findings.append(
            _finding("own-hardware-of-other-gpus", pool.path, gpu=pool.gpu.key, pool=pool.name)
        )
        return None
    hourly = pool.hourly_usd
    if hourly is None:
        findings.append(_finding("own-hardware-without-price", pool.path, pool=pool.name))
        return None
    if pool.machines[0].fraction != 1:
        findings.append(_finding("own-hardware-of-parts", pool.path, pool=pool.name))
        return None
    if not pool.nodes.maximum:
        return None
    used = plan.utilisation
    if used is None:
        used = Decimal(pool.nodes.expected) / pool.nodes.maximum
    gpus = Decimal(pool.nodes.maximum * pool.gpus_per_node)
    return _Side(machine, gpus, used, hourly * HOURS * pool.nodes.maximum)


def _years(sides: tuple[_Side, ...], plan: OwnHardwarePlan) -> tuple[ComparedYear, ...]:
    found: list[ComparedYear] = []
    have = [0] * len(sides)
    waiting = min(Decimal(1), plan.lead_weeks / _WEEKS)
    for number in range(plan.years):
        factor = plan.growth**number
        bought = running = cloud = Decimal(0)
        gpus = 0
        for index, side in enumerate(sides):
            needed = ceil(side.gpus * factor)
            gpus += needed
            more = max(0, -(-needed // side.machine.gpus) - have[index])
            have[index] += more
            bought += more * side.machine.usd
            yearly = side.rent * side.used * factor
            cloud += yearly
            # Only the first order is waited for: later ones are placed in time.
            late = waiting if number == 0 else Decimal(0)
            used = side.used * needed / (have[index] * side.machine.gpus)
            running += late * yearly + (1 - late) * have[index] * _running(side.machine, used, plan)
        running += plan.usd_per_year if sides else 0
        found.append(ComparedYear(number + 1, gpus, sum(have), bought, running, cloud))
    return tuple(found)


def _running(machine: OwnMachine, used: Decimal, plan: OwnHardwarePlan) -> Decimal:
    """Dollars that one machine costs in a year while it runs."""
    idle = machine.kw if machine.idle_kw is None else machine.idle_kw
    power = idle + used * (machine.kw - idle)
    return (
        power * plan.pue * HOURS * plan.usd_per_kwh
        + machine.kw * plan.usd_per_kw_month * 12
        + machine.usd * plan.maintenance
    )


def _present_value(
    years: tuple[ComparedYear, ...], plan: OwnHardwarePlan
) -> tuple[Decimal, Decimal]:
    """Own hardware over all years, and what of it is left at the end. Machines are paid at the
    beginning of a year, everything else at its end."""
    rate = 1 + plan.interest
    bought = sum((year.bought / rate ** (year.year - 1) for year in years), Decimal(0))
    worth = sum(
        (
            year.bought * (1 - (1 - plan.residual) * (plan.years - year.year + 1) / plan.years)
            for year in years
        ),
        Decimal(0),
    )
    residual = worth / rate**plan.years
    return bought + _discounted([year.running for year in years], plan) - residual, residual


def _discounted(amounts: list[Decimal], plan: OwnHardwarePlan) -> Decimal:
    rate = 1 + plan.interest
    return sum((one / rate ** (i + 1) for i, one in enumerate(amounts)), Decimal(0))


def _months_to_even(years: tuple[ComparedYear, ...]) -> int | None:
    own = cloud = Decimal(0)
    since: int | None = None
    for year in years:
        own += year.bought
        for month in range(1, 13):
            own += year.running / 12
            cloud += year.cloud / 12
            if not cloud or own > cloud:
                since = None
            elif since is None:
                since = 12 * (year.year - 1) + month
    return since


def _even_at(sides: tuple[_Side, ...], plan: OwnHardwarePlan) -> Decimal | None:
    """Both sides are straight lines of the part of the time: two points give where they cross."""
    if not sides:
        return None

    def difference(part: Decimal) -> Decimal:
        years = _years(tuple(replace(side, used=part) for side in sides), plan)
        value, _ = _present_value(years, plan)
        return value - _discounted([year.cloud for year in years], plan)

    idle, full = difference(Decimal(0)), difference(Decimal(1))
    if idle <= 0:
        return Decimal(0)
    return None if full > 0 else idle / (idle - full)


def own_or_rent_as_dict(answer: OwnOrRent) -> dict[str, Any]:
    """The JSON form. Dollars are numbers with two decimals."""
    return {
        "pools": list(answer.pools),
        "years": [
            {
                **picked(year, "year", "gpus", "machines"),
                "boughtUsd": _usd(year.bought),
                "runningUsd": _usd(year.running),
                "cloudUsd": _usd(year.cloud),
            }
            for year in answer.years
        ],
        "ownUsd": _usd(answer.own),
        "cloudUsd": _usd(answer.cloud),
        "residualUsd": _usd(answer.residual),
        "monthsToEven": answer.months_to_even,
        "taken": list(answer.taken),
        "evenAtUtilisation": None if answer.even_at is None else round(float(answer.even_at), 4),
    }


def own_or_rent_text(answer: OwnOrRent) -> str:
    """The comparison as lines of at most 80 columns."""
    if not answer.pools:
        return "no pool can be compared\n"
    percent = 100 * (answer.even_at or 0)
    facts = {"answer": answer, "never": answer.even_at is None, "percent": percent}
    lines = [*texts("own", {"pools": ", ".join(answer.pools)})]
    lines += (text for year in answer.years for text in texts("own/year", {"year": year}))
    return "\n".join((*lines, *texts("own/end", facts), *answer.taken)) + "\n"


def _usd(amount: Decimal) -> float:
    return float(round(amount, 2))
