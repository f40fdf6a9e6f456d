"""The same workloads elsewhere: on offers that no platform provisions, and in other regions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.regions import known_regions
from gpufleet.findings import Finding, error, has_errors
from gpufleet.models.ledger import Basis
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet_planner.explanation.line import picked
from gpufleet_planner.planning.entries import choose_entry
from gpufleet_planner.planning.layouts import FilledPool
from gpufleet_planner.planning.offers import not_provisioned, offered_machines
from gpufleet_planner.planning.option import usd
from gpufleet_planner.planning.placed import ChosenWorkload, PricedFleet
from gpufleet_planner.planning.plan import PlannedFleet, plan, planner_of
from gpufleet_planner.planning.select import select


@dataclass(frozen=True, slots=True)
class ProviderPlan:
    """All workloads of a file on the machines of one provider."""

    provider: str
    pools: tuple[FilledPool, ...]
    """Machines and what is on them; empty when a workload has none."""
    lost: Mapping[str, str]
    """Workload that no machine runs -> the reason."""

    @property
    def usd_per_hour(self) -> Decimal | None:
        """All machines; None where a price is missing or a workload has no machine."""
        prices = [pool.micro_usd for pool in self.pools]
        known = [price for price in prices if price is not None]
        return None if self.lost or len(known) != len(prices) else usd(sum(known))


def plan_on_offers(
    data: Mapping[str, Any], names: Sequence[str]
) -> tuple[tuple[ProviderPlan, ...], tuple[Finding, ...]]:
    """Plain data of a workloads file on the offers that names mean: the cheapest machines of each
    provider, the cheapest provider first. The file's platform, region and own hardware do not
    count; its GPUs, targets and sharing do. Its own problems are those of `plan`, and are not
    repeated here."""
    planner, findings = planner_of(data)
    if planner is None or not names or has_errors(findings):
        return (), ()
    machines, findings = offered_machines(names, planner.catalogue)
    if findings:
        return (), findings
    plans: list[ProviderPlan] = []
    for provider in dict.fromkeys(machine.platform for machine in machines):
        offers = tuple(machine for machine in machines if machine.platform == provider)
        market = replace(planner.market, platforms=(), region=None, offers=offers)
        candidates: list[ChosenWorkload] = []
        lost: dict[str, str] = {}
        for path, entry in planner.file.workloads:
            chosen, found = choose_entry(entry, path, market, planner.catalogue)
            if chosen is not None:
                candidates.append(chosen)
            else:
                wrong = (one.message for one in found if has_errors([one]))
                lost[entry.name] = next(wrong, "no machine runs it")
        pools = select(candidates, False, lambda _: True).pools if candidates and not lost else ()
        plans.append(ProviderPlan(provider, pools, lost))
    plans.sort(key=lambda one: (one.usd_per_hour is None, one.usd_per_hour or 0, one.provider))
    return tuple(plans), tuple(not_provisioned(plan.provider for plan in plans))


def provider_plans_as_list(plans: Sequence[ProviderPlan]) -> list[dict[str, Any]]:
    """Plain data: what `gpufleet plan --format json` prints under `offers`."""
    return [
        {
            "provider": plan.provider,
            "provisioned": False,
            **picked(plan, "usd_per_hour"),
            "machines": [
                {
                    **picked(pool.key.machine, "name", "region", "buy", "gpus", "usd_per_hour"),
                    "nodes": pool.nodes,
                    "gpu": pool.key.machine.gpu.key,
                    "source": pool.key.machine.price_source,
                    "sharing": pool.key.sharing,
                    "workloads": [name for name, _ in pool.members],
                }
                for pool in plan.pools
            ],
            "lost": dict(plan.lost),
        }
        for plan in plans
    ]


def provider_plans_text(plans: Sequence[ProviderPlan]) -> str:
    """The same for people: one paragraph for each provider."""
    lines = ["The same workloads on offers that no platform of gpufleet provisions:"]
    for one in plans:
        spent = one.usd_per_hour
        if one.lost:
            reasons = "; ".join(f"{name}: {why}" for name, why in one.lost.items())
            lines.append(f"{one.provider}: not all of them. {reasons}")
            continue
        shown = "a price is not known" if spent is None else f"{spent:,.4f} USD/h"
        lines.append(f"{one.provider}: {shown}")
        for pool in one.pools:
            machine = pool.key.machine
            members = ", ".join(name for name, _ in pool.members)
            place = f"{machine.buy}, {machine.region or 'no region'}; {machine.price_source}"
            carries = f"{machine.gpus} x {machine.gpu.key}"
            lines.append(f"  {pool.nodes} x {machine.name} ({carries}, {place}): {members}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class PlannedPlace:
    """The plan of one region."""

    region: str
    platform: Platform
    plan: PlannedFleet

    @property
    def fleets(self) -> tuple[PricedFleet, ...]:
        """With the confidence of the file first; one where nothing has a doubt."""
        own = PricedFleet(self.plan.confidence, self.plan.usd_per_hour, self.plan.gpu_hours)
        return self.plan.fleets or (own,)

    @property
    def problem(self) -> str:
        """Why there is no plan; empty where there is one."""
        if self.plan.spec is not None:
            return ""
        return next(f.message for f in self.plan.findings if f.severity.value == "error")

    @property
    def estimated(self) -> bool:
        """Whether a price is that of another region."""
        machines = (pool.key.machine for _, pool in self.plan.pools)
        return any(machine.price_basis is Basis.ASSUMED for machine in machines)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "region": self.region,
            "platform": self.platform.value,
            "fleets": {f.confidence.value: f.as_dict() for f in self.fleets if not self.problem},
            "machines": _machines(self.plan),
            "pricesEstimated": self.estimated,
            "problem": self.problem or None,
        }


def plan_in_places(
    data: Mapping[str, Any], regions: Sequence[str], as_of: date | None = None
) -> tuple[tuple[PlannedPlace, ...], tuple[Finding, ...]]:
    """A file's workloads in each region, on its platform, else on the first that buys in the
    region's cloud. Zones of the file are of its own region and left out. Findings: regions that no
    cloud of the catalogue has."""
    planner, _ = planner_of(data)
    if planner is None:
        return (), ()  # as `plan` says
    places: list[PlannedPlace] = []
    findings: list[Finding] = []
    for region in dict.fromkeys(regions):
        platform = _platform_of(region, planner.file.head.platform, planner.catalogue)
        if platform is None:
            text = f"no cloud of the catalogue has a region {region!r}"
            fix = "`gpufleet catalogue prices` names regions"
            findings.append(error("region-unknown", "--regions", text, fix))
            continue
        there = {key: value for key, value in data.items() if key != "zones"}
        cluster = {**planner.file.head.cluster, "region": region}
        there |= {"platform": platform.value, "cluster": cluster}
        places.append(PlannedPlace(region, platform, plan(there, as_of=as_of)))
    return (() if has_errors(findings) else tuple(places)), tuple(findings)


def _platform_of(region: str, own: Platform, catalogue: Catalogue) -> Platform | None:
    for platform in (own, *Platform):
        cloud = PLATFORMS[platform].facts.cloud
        if cloud is not None and region in known_regions(cloud, catalogue):
            return platform
    return None


def _machines(found: PlannedFleet) -> list[str]:
    return [
        f"{pool.nodes} x {pool.key.machine.name} ({pool.key.machine.buy})"
        for _, pool in found.pools
    ]


def places_text(places: Iterable[PlannedPlace]) -> str:
    """One paragraph for each place, the cheapest first; empty for none."""

    def order(place: PlannedPlace) -> tuple[bool, float]:
        spent = place.plan.usd_per_hour
        return bool(place.problem), float("inf") if spent is None else float(spent)

    lines: list[str] = []
    for place in sorted(places, key=order):
        head = f"in {place.region} ({place.platform.value}): "
        if place.problem:
            lines.append(f"{head}no plan: {place.problem}")
            continue
        note = " (some prices are estimated from another region's)" if place.estimated else ""
        lines.append(head + "; ".join(fleet.text for fleet in place.fleets) + note)
        lines.append(f"  {', '.join(_machines(place.plan))}")
    return "\n".join(lines) + "\n" if lines else ""
