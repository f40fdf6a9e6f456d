"""From a file of workloads to a FleetSpec that compiles: choose, select, fill pools, write down."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from math import ceil
from typing import Any

from gpufleet.catalogue import DEFAULT_EDITION, Catalogue, UnknownEditionError, load
from gpufleet.contract.programs.strategy_env import allows_mps
from gpufleet.findings import Finding, FleetError, error, has_errors, info, ordered
from gpufleet.fleet import Fleet, Unbounded
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.platforms.registry import PLATFORMS
from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.entries import choose_entry, intent_of, market_of
from gpufleet_planner.planning.filled_pool import FilledPool, PoolKey
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.planning.offers import Market, spot_neighbours
from gpufleet_planner.planning.origins import in_file, origin_of, origins
from gpufleet_planner.planning.placed import PlacedWorkload, PricedFleet
from gpufleet_planner.planning.pools import (
    mig_strategy,
    pool_data,
    pool_names,
    queues_data,
    spec_data,
)
from gpufleet_planner.planning.provisioning import (
    validate_balance,
    validate_provisioning,
    weights_on_disk,
)
from gpufleet_planner.planning.scaling import scaling_data, validate_scaling
from gpufleet_planner.planning.select import Candidate, Selection, select
from gpufleet_planner.planning.target import Assurance
from gpufleet_planner.planning.workloads import (
    ModelWorkload,
    Notebooks,
    PlanFile,
    PlanHead,
    read_plan_file,
)
from gpufleet_planner.sizing.device import DeviceShare

_ATTEMPTS = 24
_OPTIONS = 60
"""Options of one workload that the selection looks at."""
_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class PlannedFleet:
    """The answer. Without a spec the findings say why."""

    spec: Mapping[str, Any] | None
    fleet: Fleet | None
    pools: tuple[tuple[str, FilledPool], ...]
    workloads: tuple[PlacedWorkload, ...]
    selection: Selection | None
    findings: tuple[Finding, ...]
    other: PricedFleet | None = None
    """The fleet of the other confidence; None where no target rests on a range of speeds."""

    @property
    def usd_per_hour(self) -> Decimal | None:
        """All machines of the plan; None where a price is missing, or there is no plan."""
        if self.spec is None:
            return None
        prices = [pool.micro_usd for _, pool in self.pools]
        if any(price is None for price in prices):
            return None
        return Decimal(sum(price or 0 for price in prices)) / _MICRO

    def on(self, pool: str) -> list[PlacedWorkload]:
        """Workloads that run on a pool."""
        return [work for work in self.workloads if pool in work.pools]

    @property
    def fleets(self) -> tuple[PricedFleet, ...]:
        """This fleet and that of the other confidence; empty where they are the same."""
        if self.other is None or self.spec is None:
            return ()
        return (PricedFleet(self.confidence, self.usd_per_hour, self.gpu_hours), self.other)

    @property
    def confidence(self) -> Assurance:
        """With which speed targets are kept."""
        return Assurance.EXPECTED if self.other is None else self.other.confidence.other

    @property
    def bound_usd_per_hour(self) -> Decimal | None:
        """What the workloads' parts cost at least; None where a price is missing."""
        if self.selection is None or self.usd_per_hour is None:
            return None
        return Decimal(round(self.selection.bound)) / _MICRO

    @property
    def gpu_hours(self) -> int:
        """GPUs of all machines, for an hour of them."""
        return sum(pool.nodes * pool.key.machine.gpus for _, pool in self.pools)


def plan(data: Mapping[str, Any], *, as_of: date | None = None) -> PlannedFleet:
    """Plan plain data of a workloads file. Never raises for a bad file: all findings come back.

    `as_of`: the day on which the age of prices is counted; default: that of the edition.
    """
    file, findings = read_plan_file(data)
    if file is None:
        return _refused(findings)
    try:
        edition = file.head.catalogue or DEFAULT_EDITION
        catalogue = load(edition, overlay=file.head.spec.get("catalogueOverlay"))
    except UnknownEditionError as unknown:
        text = f"there is no edition {file.head.catalogue!r}"
        near = f"one of {', '.join(unknown.nearest)}"
        return _refused((*findings, error("catalogue-edition-unknown", "catalogue", text, near)))
    except FleetError as problem:
        at = [replace(f, path=f.path or "spec.catalogueOverlay") for f in problem.findings]
        return _refused((*findings, *at))
    market, found = market_of(file.head, catalogue)
    findings = (*findings, *found)
    chosen: _Chosen = []
    for path, entry in file.workloads:
        need, choice, found = choose_entry(entry, path, market, catalogue, file.head.confidence)
        findings = (*findings, *found)
        if choice is not None and choice.options:
            chosen.append((path, entry, need, choice))
    if has_errors(findings):
        return _refused(findings)
    found = _settle(file, catalogue, market, chosen, findings, as_of)
    return replace(found, other=_other(file, catalogue, market, chosen, as_of))


def _refused(findings: Sequence[Finding]) -> PlannedFleet:
    return PlannedFleet(None, None, (), (), None, ordered(findings))


def _other(
    file: PlanFile, catalogue: Catalogue, market: Market, chosen: "_Chosen", as_of: date | None
) -> PricedFleet | None:
    """The fleet of the other confidence; None where nothing has a doubt."""
    other = file.head.confidence.other
    again: _Chosen = []
    findings: tuple[Finding, ...] = ()
    for path, entry, need, choice in chosen:
        if need is not None and need.is_doubtful:
            need, other_choice, found = choose_entry(entry, path, market, catalogue, other)
            findings = (*findings, *found)
            choice = other_choice or choice
        again.append((path, entry, need, choice))
    if again == chosen:
        return None
    if has_errors(findings):
        return PricedFleet(other, None, None, ordered(findings)[0].message)
    fleet = _settle(file, catalogue, market, again, (), as_of)
    if fleet.spec is None:
        return PricedFleet(other, None, None, ordered(fleet.findings)[0].message)
    return PricedFleet(other, fleet.usd_per_hour, fleet.gpu_hours)


# -- settling what compiles ----------------------------------------------------------------------

_Chosen = list[tuple[str, ModelWorkload | Notebooks, WorkloadNeed | None, ServingChoice]]
_Ban = Callable[[PoolKey], bool]


def _settle(
    file: PlanFile,
    catalogue: Catalogue,
    market: Market,
    chosen: _Chosen,
    findings: Sequence[Finding],
    as_of: date | None,
) -> PlannedFleet:
    """Select, write, compile; what does not compile is taken away and all is selected again."""
    candidates = [
        Candidate(
            entry.name,
            intent_of(entry, need),
            choice.options[:_OPTIONS],
            ends=need is not None and need.trains,
            zones=entry.zones or file.head.zones,
        )
        for _, entry, need, choice in chosen
    ]
    bans: list[_Ban] = []
    waiting: list[list[_Ban]] = [bans]
    best: PlannedFleet | None = None
    last: tuple[Finding, ...] = ()
    attempts = 0
    while waiting and attempts < _ATTEMPTS:
        attempts += 1
        bans = waiting.pop()
        try:
            selection = select(
                candidates,
                PLATFORMS[file.head.platform].facts.one_mig_profile,
                lambda key, bans=bans: not any(ban(key) for ban in bans),
            )
        except KeyError as lost:
            name = lost.args[0]
            path = next(path for path, entry, _, _ in chosen if entry.name == name)
            text = (
                f"no machines are left on {file.head.platform} for {name} after the other workloads"
            )
            fix = "add hardware, allow other GPUs, or see the other findings"
            last = (*last, error("no-deployable-choice", path, text, fix))
            continue
        attempt, compiled = _write(file, catalogue, market, chosen, selection, as_of)
        errors = [f for f in compiled.findings if f.severity.value == "error"]
        if not errors:
            if best is None or (attempt.usd_per_hour or 0) < (best.usd_per_hour or 0):
                best = attempt
            continue
        sources = origins(selection, file)
        traced = [(origin_of(finding, sources), finding) for finding in errors]
        last = tuple(dict.fromkeys(in_file(finding, origin) for origin, finding in traced))
        fixed = [in_file(finding, origin) for origin, finding in traced if origin and origin.fixed]
        if fixed:
            # No other choice answers what the file has to say.
            return _refused((*findings, *fixed))
        broken = [origin.pool for origin, _ in traced if origin and origin.pool]
        waiting += _next_bans(bans, broken, selection)
    if best is None:
        return _refused((*findings, *last))
    return replace(best, findings=ordered((*findings, *best.findings)))


def _next_bans(
    bans: list[_Ban], broken: Collection[PoolKey], selection: Selection
) -> list[list[_Ban]]:
    """What to leave out next: one of two ways of sharing that exclude each other, in two branches,
    or the pools that cannot be declared."""
    keys = [pool.key for pool in selection.pools]
    strategies = {mig_strategy(key) for key in keys if key.kind is DeviceShare.MIG}
    if DeviceShare.MPS in {key.kind for key in keys} and not all(map(allows_mps, strategies)):
        return [
            [*bans, lambda key: key.kind is DeviceShare.MPS],
            [*bans, lambda key: key.kind is DeviceShare.MIG],
        ]
    bad = {_declared(key) for key in broken}
    return [[*bans, lambda key: _declared(key) in bad]] if bad else []


def _declared(key: PoolKey) -> tuple[str, str, str, str]:
    """What of a pool another choice changes."""
    return key.machine.name, key.machine.buy, key.sharing, key.fabric


def _write(
    file: PlanFile,
    catalogue: Catalogue,
    market: Market,
    chosen: _Chosen,
    selection: Selection,
    as_of: date | None,
) -> tuple[PlannedFleet, Compiled]:
    names = pool_names(selection.pools)
    needs = {entry.name: need for _, entry, need, _ in chosen}
    entries = {entry.name: entry for _, entry, _, _ in chosen}
    rows: list[dict[str, Any]] = []
    where: dict[str, list[str]] = {}
    for name, pool in zip(names, selection.pools, strict=True):
        stored: list[int] = []
        for member, option in pool.members:
            where.setdefault(member, []).append(name)
            need = needs[member]
            if need is not None:
                stored.append(weights_on_disk(need, option))
        row = pool_data(pool, name, file.head, stored)
        also = spot_neighbours(pool.key.machine, market, catalogue)
        if also and pool.key.fabric == "none":
            row["instanceTypes"] = [*row["instanceTypes"], *also]
        owners = {entries[member].team for member, _ in pool.members}
        if len(owners) == 1 and (owner := owners.pop()) is not None:
            row["team"] = owner  # its quota is all of the pool
        rows.append(row)
    placed = tuple(
        PlacedWorkload(
            path, entry, need, choice, selection.chosen[entry.name], tuple(where[entry.name])
        )
        for path, entry, need, choice in chosen
    )
    data = spec_data(file.head, catalogue.edition, rows)
    queues = queues_data(file.head, [(work.entry.team, work.option) for work in placed])
    if queues is not None:
        data["queues"] = queues
    data |= scaling_data(file.head, placed)
    compiled = compile_data(data, as_of=as_of)
    budget = _budget(file.head, compiled)
    if budget is not None:
        data["budget"] = {"usdPerHour": budget}
        compiled = compile_data(data, as_of=as_of)
    told = [*_validated(placed), *_bound_findings(compiled)]
    told += [*validate_scaling(compiled.fleet, placed)]
    pools = tuple(zip(names, selection.pools, strict=True))
    plan = PlannedFleet(
        data, compiled.fleet, pools, placed, selection, ordered((*told, *compiled.findings))
    )
    return plan, compiled


def _budget(head: PlanHead, compiled: Compiled) -> int | str | None:
    """The stated budget, else the largest spend rounded up; None where it has no bound."""
    if head.budget is not None:
        return f"{head.budget.usd_per_hour:f}"
    if compiled.fleet is None or isinstance(compiled.fleet.spend.maximum, Unbounded):
        return None
    return max(ceil(compiled.fleet.spend.maximum / _MICRO), 1)


def _bound_findings(compiled: Compiled) -> list[Finding]:
    if compiled.fleet is None or not isinstance(compiled.fleet.spend.maximum, Unbounded):
        return []
    causes = "; ".join(compiled.fleet.spend.maximum.causes)
    text = f"the plan counts GPU-hours where no price is known: {causes}"
    return [info("price-missing", "", text, "state the price you pay")]


def _validated(placed: Sequence[PlacedWorkload]) -> list[Finding]:
    findings: list[Finding] = []
    for work in placed:
        if work.need is not None:
            findings += validate_provisioning(work.need, work.option, work.path)
            findings += validate_balance(work.need, work.option, work.path)
    return findings
