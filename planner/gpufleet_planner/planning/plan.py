"""From a file of workloads to a FleetSpec that compiles: choose, select, fill pools, write down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from math import ceil
from typing import Any

from gpufleet.catalogue import DEFAULT_EDITION, Catalogue, UnknownEditionError, load
from gpufleet.findings import Finding, FleetError, findings_in, has_errors, ordered
from gpufleet.fleet import Fleet, Unbounded
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.platforms.registry import PLATFORMS
from gpufleet_planner.planning.entries import choose_entry, market_of
from gpufleet_planner.planning.layouts import FilledPool, PoolKey, usd_per_hour
from gpufleet_planner.planning.need import Assurance
from gpufleet_planner.planning.offers import Market, spot_neighbours
from gpufleet_planner.planning.pools import (
    pool_data,
    pool_names,
    queues_data,
    scaling_data,
    spec_data,
    validate_scaling,
)
from gpufleet_planner.planning.provisioning import (
    validate_order,
    validate_provisioning,
    weights_on_disk,
)
from gpufleet_planner.planning.select import Selection, select
from gpufleet_planner.planning.workloads import (
    ChosenWorkload,
    PlacedWorkload,
    PlanFile,
    read_plan_file,
)

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one part of the FleetSpec."""

    written: str | None = None
    """Path in the workloads file; None: the plan chose it."""
    pool: PoolKey | None = None
    """The choice that another one can replace."""
    fixed: bool = False
    """Whether the file alone decides it, so that no other choice changes it."""


def origins(selection: Selection, file: PlanFile) -> Mapping[str, Origin]:
    """Those of all parts of the spec that is written for a selection, by path."""
    head = file.head
    own_zones = {entry.name: f"{path}.zones" for path, entry in file.workloads if entry.zones}
    found = {key: Origin(f"spec.{key}") for key in head.spec}
    found["provisioner"] = provisioner = Origin("provisioner", fixed=True)
    for number, pool in enumerate(selection.pools):
        place, row = f"pools[{number}]", pool.key.machine.row
        zones = own_zones.get(pool.members[0][0], "zones")
        found[place] = Origin(pool=pool.key)
        found[f"{place}.zones"] = Origin(zones, fixed=True)
        found[f"{place}.provisioner"] = provisioner
        if row is not None:
            shape = f".{head.platform.section}"
            found[f"{place}{shape}"] = Origin(f"hardware[{row}]{shape}", pool.key)
    return found


def traced(finding: Finding, sources: Mapping[str, Origin]) -> tuple[Finding, Origin]:
    """The finding with its place in the workloads file, where the file has one, and the origin of
    the smallest part that it is about."""
    place = finding.path
    while place and place not in sources:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    origin = sources.get(place, Origin())
    if origin.written is None:
        return finding, origin
    return replace(finding, path=origin.written + finding.path.removeprefix(place)), origin


@dataclass(frozen=True, slots=True)
class PricedFleet:
    """Size and cost of the fleet of one confidence."""

    confidence: Assurance
    usd_per_hour: Decimal | None
    """None: a price is missing, or the fleet does not exist."""
    gpus: int | None
    """None: the fleet does not exist."""
    problem: str = ""
    """Reason why the fleet does not exist."""

    @property
    def text(self) -> str:
        """For people: `worst: 110.0800 USD/h, 16 GPUs`."""
        if self.gpus is None:
            return f"{self.confidence.value}: no fleet ({self.problem})"
        spent = self.usd_per_hour
        shown = "prices are not known" if spent is None else f"{spent:,.4f} USD/h"
        return f"{self.confidence.value}: {shown}, {self.gpus} GPUs"

    def as_dict(self) -> Mapping[str, Any]:
        """Plain data for JSON."""
        spent = self.usd_per_hour
        return {
            "usdPerHour": None if spent is None else f"{spent:.6f}",
            "gpus": self.gpus,
            "problem": self.problem or None,
        }


_MICRO = 1_000_000
MOST_NODES = 10_000
"""Maximum number of nodes of a pool (`nodes.max` of the FleetSpec)."""


@dataclass(frozen=True, slots=True)
class PlannedFleet:
    """The result. Without a spec the findings give the reasons."""

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
        """Cost of all machines of the plan; None where a price is missing, or without a plan."""
        return None if self.spec is None else usd_per_hour(pool for _, pool in self.pools)

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
        """Minimum cost of the workloads' parts; None where a price is missing."""
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
    planner, findings = planner_of(data, as_of)
    if planner is None:
        return _refused(findings)
    chosen, wrong = planner.choose(planner.file.head.confidence)
    if any(one.code == "hardware-missing" for one in findings):  # the cause that nothing is offered
        wrong = tuple(one for one in wrong if one.code != "nothing-offered")
    findings = (*findings, *wrong)
    if has_errors(findings):
        return _refused(findings)
    return replace(planner.settle(chosen, findings), other=planner.other(chosen))


def planner_of(
    data: Mapping[str, Any], as_of: date | None = None
) -> tuple["Planner | None", tuple[Finding, ...]]:
    """A file with its catalogue and market; None with the errors that prevent it. The readable
    parts are returned together with other errors, so that all errors are reported."""
    file, findings = read_plan_file(data)
    if file is None:
        return None, findings
    try:
        edition = file.head.catalogue or DEFAULT_EDITION
        catalogue = load(edition, overlay=file.head.spec.get("catalogueOverlay"))
    except UnknownEditionError as unknown:
        named, near = file.head.catalogue, unknown.nearest
        return None, (*findings, _finding("catalogue-edition-unknown", value=named, nearest=near))
    except FleetError as problem:
        at = [replace(f, path=f.path or "spec.catalogueOverlay") for f in problem.findings]
        return None, (*findings, *at)
    market, found = market_of(file.head, catalogue)
    return Planner(file, catalogue, market, as_of), (*findings, *found)


def _refused(findings: Sequence[Finding]) -> PlannedFleet:
    return PlannedFleet(None, None, (), (), None, ordered(findings))


@dataclass(frozen=True, slots=True)
class Planner:
    """A file and where its workloads may run."""

    file: PlanFile
    catalogue: Catalogue
    market: Market
    as_of: date | None

    def choose(
        self, confidence: Assurance, known: Sequence[ChosenWorkload] = ()
    ) -> tuple[list[ChosenWorkload], tuple[Finding, ...]]:
        """Possible hardware of each workload. `known`: answers where no speed is in doubt."""
        chosen: list[ChosenWorkload] = []
        findings: tuple[Finding, ...] = ()
        same = {one.path: one for one in known if one.need is None or not one.need.is_doubtful}
        for path, entry in self.file.workloads:
            one = same.get(path)
            if one is None:
                one, found = choose_entry(entry, path, self.market, self.catalogue, confidence)
                findings = (*findings, *found)
            if one is not None:
                chosen.append(one)
        return chosen, findings

    def other(self, chosen: Sequence[ChosenWorkload]) -> PricedFleet | None:
        """The fleet of the other confidence; None where nothing has a doubt."""
        other = self.file.head.confidence.other
        again, findings = self.choose(other, chosen)
        if again == chosen:
            return None
        if not has_errors(findings):
            fleet = self.settle(again, ())
            if fleet.spec is not None:
                return PricedFleet(other, fleet.usd_per_hour, fleet.gpu_hours)
            findings = fleet.findings
        return PricedFleet(other, None, None, ordered(findings)[0].message)

    def settle(self, chosen: Sequence[ChosenWorkload], findings: Sequence[Finding]) -> PlannedFleet:
        """Select, write, compile; pools that do not compile are taken away and all is selected
        again."""
        head = self.file.head
        one_profile = PLATFORMS[head.platform].facts.one_mig_profile
        bad: set[tuple[str, ...]] = set()
        last: tuple[Finding, ...] = ()
        while True:
            try:
                selection = select(
                    chosen, one_profile, lambda k: _declared(k) not in bad, head.zones
                )
            except KeyError as crowded:
                name = crowded.args[0]
                path = next(one.path for one in chosen if one.name == name)
                platform = head.platform.value
                lost = _finding("no-deployable-choice", path, platform=platform, workload=name)
                return _refused((*findings, *last, lost))
            large = max(selection.pools, key=lambda pool: pool.nodes)
            if large.nodes > MOST_NODES:
                name, machine = large.members[0][0], large.key.machine.name
                path = next(one.path for one in chosen if one.name == name)
                wide = _finding(
                    "plan-too-large",
                    path,
                    workload=name,
                    nodes=large.nodes,
                    machine=machine,
                    limit=MOST_NODES,
                )
                return _refused((*findings, wide))
            attempt, compiled = self.write(chosen, selection)
            errors = [f for f in compiled.findings if f.severity.value == "error"]
            if not errors:
                return replace(attempt, findings=ordered((*findings, *attempt.findings)))
            sources = origins(selection, self.file)
            found = [traced(finding, sources) for finding in errors]
            last = tuple(dict.fromkeys(finding for finding, _ in found))
            fixed = [finding for finding, origin in found if origin.fixed]
            broken = {_declared(origin.pool) for _, origin in found if origin.pool}
            if fixed or broken <= bad:
                # No other choice corrects an error of the file.
                return _refused((*findings, *(fixed or last)))
            bad.update(broken)

    def write(
        self, chosen: Sequence[ChosenWorkload], selection: Selection
    ) -> tuple[PlannedFleet, Compiled]:
        """The declaration of a selection, and the findings of its compilation."""
        head, names = self.file.head, pool_names(selection.pools)
        works = {one.name: one for one in chosen}
        rows: list[dict[str, Any]] = []
        where: dict[str, list[str]] = {}
        for name, pool in zip(names, selection.pools, strict=True):
            stored: list[int] = []
            for member, option in pool.members:
                where.setdefault(member, []).append(name)
                need = works[member].need
                if need is not None:
                    stored.append(weights_on_disk(need, option))
            row = pool_data(pool, name, head, stored)
            also = spot_neighbours(pool.key.machine, self.market, self.catalogue)
            if also and pool.key.fabric == "none":
                row["instanceTypes"] = [*row["instanceTypes"], *also]
            owners = {works[member].entry.team for member, _ in pool.members}
            if len(owners) == 1 and (owner := owners.pop()) is not None:
                row["team"] = owner  # its quota is all of the pool
            rows.append(row)
        placed = tuple(
            PlacedWorkload(
                one.path,
                one.entry,
                one.need,
                one.choice,
                selection.rows[one.name].option,
                tuple(where[one.name]),
            )
            for one in chosen
        )
        data = spec_data(head, self.catalogue.edition, rows)
        queues = queues_data(head, [(work.entry.team, work.option) for work in placed])
        if queues is not None:
            data["queues"] = queues
        data |= scaling_data(head, placed)
        if head.budget is not None:
            data["budget"] = {"usdPerHour": f"{head.budget.usd_per_hour:f}"}
        compiled = compile_data(data, as_of=self.as_of)
        # Without a stated budget the fleet's own largest spend is it.
        spent = None if compiled.fleet is None else compiled.fleet.spend.maximum
        settled = head.budget is not None or has_errors(compiled.findings)
        if not settled and spent is not None and not isinstance(spent, Unbounded):
            data["budget"] = {"usdPerHour": max(ceil(spent / _MICRO), 1)}
            compiled = compile_data(data, as_of=self.as_of)
        notes: list[Finding] = []
        for work in placed:
            if work.need is not None:
                notes += validate_provisioning(work.need, work.option, work.path)
        most = None if compiled.fleet is None else compiled.fleet.spend.maximum
        if isinstance(most, Unbounded):
            notes.append(_finding("price-missing/fleet", causes="; ".join(most.causes)))
        notes += validate_scaling(compiled.fleet, placed)
        pools = tuple(zip(names, selection.pools, strict=True))
        notes += validate_order(placed, dict(pools))
        findings = ordered((*notes, *compiled.findings))
        plan = PlannedFleet(data, compiled.fleet, pools, placed, selection, findings)
        return plan, compiled


def _declared(key: PoolKey) -> tuple[str, str, str, str]:
    """The fields of a pool that another choice changes."""
    return key.machine.name, key.machine.buy, key.sharing, key.fabric
