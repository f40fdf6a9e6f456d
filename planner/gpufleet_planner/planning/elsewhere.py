"""The same workloads elsewhere: in other regions, and on offers that no platform provisions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from gpufleet.catalogue.regions import known_regions
from gpufleet.documents.plain_data import picked
from gpufleet.findings import Finding, findings_in, has_errors
from gpufleet.models.ledger import Basis
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet_planner.planning.layouts import FilledPool, usd_per_hour
from gpufleet_planner.planning.offers import not_provisioned, offered_machines
from gpufleet_planner.planning.plan import Planner, PricedFleet, plan, planner_of
from gpufleet_planner.planning.select import select
from gpufleet_planner.tables import texts

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class PlannedPlace:
    """The plan of one region, or of one provider that no platform provisions."""

    place: str
    """Name of the region or provider."""
    platform: Platform | None
    """None: a provider."""
    fleets: tuple[PricedFleet, ...] = ()
    """With the confidence of the file first; of a region both where they differ."""
    pools: tuple[FilledPool, ...] = ()
    """Machines and what is on them; empty: no plan."""
    problem: str = ""
    """Reason why there is no plan; empty where there is one."""

    @property
    def estimated(self) -> bool:
        """Whether a price is that of another region."""
        return any(pool.key.machine.price_basis is Basis.ASSUMED for pool in self.pools)

    @property
    def usd_per_hour(self) -> Decimal | None:
        """Cost of all machines; None where a price is missing or there is no plan."""
        return self.fleets[0].usd_per_hour if self.fleets else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            **picked(self, "place", "platform"),
            "fleets": {fleet.confidence.value: fleet.as_dict() for fleet in self.fleets},
            "machines": [
                {
                    **picked(pool.key.machine, "name", "region", "buy", "gpus", "usd_per_hour"),
                    "nodes": pool.nodes,
                    "gpu": pool.key.machine.gpu.key,
                    "source": pool.key.machine.price_source,
                    "sharing": pool.key.sharing,
                    "workloads": [name for name, _ in pool.members],
                }
                for pool in self.pools
            ],
            "pricesEstimated": self.estimated,
            "problem": self.problem or None,
        }


def plan_elsewhere(
    data: Mapping[str, Any],
    regions: Sequence[str] = (),
    offers: Sequence[str] = (),
    as_of: date | None = None,
) -> tuple[tuple[PlannedPlace, ...], tuple[Finding, ...]]:
    """Plain data of a workloads file in each region, on its platform, else on the first platform of
    the region's cloud; and on the machines of each provider that `offers` name.

    Zones of the file belong to its own region and are omitted. For a provider its platform, region
    and own hardware do not count; its GPUs, targets and sharing do. Findings: unknown regions and
    offers. Errors of the file itself are reported by `plan`, and not repeated here.
    """
    planner, _ = planner_of(data)
    if planner is None:
        return (), ()
    found = [_in_region(data, region, planner, as_of) for region in dict.fromkeys(regions)]
    findings = [one for one in found if isinstance(one, Finding)]
    machines, unknown = offered_machines(offers, planner.catalogue)
    providers = dict.fromkeys(machine.platform for machine in machines)
    places = () if findings else [one for one in found if isinstance(one, PlannedPlace)]
    for provider in () if unknown else providers:
        own = tuple(machine for machine in machines if machine.platform == provider)
        market = replace(planner.market, platforms=(), region=None, offers=own)
        places = (*places, _on_offers(provider, replace(planner, market=market)))
    return tuple(places), (*findings, *unknown, *not_provisioned(() if unknown else providers))


def _in_region(
    data: Mapping[str, Any], region: str, planner: Planner, as_of: date | None
) -> PlannedPlace | Finding:
    head = planner.file.head
    catalogue = planner.catalogue
    clouds = ((one, PLATFORMS[one].facts.cloud) for one in (head.platform, *Platform))
    sold = (one for one, cloud in clouds if cloud and region in known_regions(cloud, catalogue))
    platform = next(sold, None)
    if platform is None:
        return _finding("region-unknown", "--regions", region=region)
    there = {key: value for key, value in data.items() if key != "zones"}
    there |= {"platform": platform.value, "cluster": {**head.cluster, "region": region}}
    answer = plan(there, as_of=as_of)
    if answer.spec is None:
        problem = next(f.message for f in answer.findings if f.severity.value == "error")
        return PlannedPlace(region, platform, problem=problem)
    own = PricedFleet(answer.confidence, answer.usd_per_hour, answer.gpu_hours)
    pools = tuple(pool for _, pool in answer.pools)
    return PlannedPlace(region, platform, answer.fleets or (own,), pools)


def _on_offers(provider: str, planner: Planner) -> PlannedPlace:
    confidence = planner.file.head.confidence
    candidates, found = planner.choose(confidence)
    names = {path: entry.name for path, entry in planner.file.workloads}
    errors = ((names.get(f.path.partition(".")[0], f.path), f) for f in found if has_errors([f]))
    wrong = [f"{name}: {one.message}" for name, one in errors]
    if wrong or not candidates:
        return PlannedPlace(provider, None, problem="; ".join(wrong) or "no workload could be read")
    try:
        pools = select(candidates, False, lambda _: True).pools
    except KeyError as crowded:
        return PlannedPlace(provider, None, problem=f"no machines are left for {crowded.args[0]}")
    gpus = sum(pool.nodes * pool.key.machine.gpus for pool in pools)
    return PlannedPlace(
        provider, None, (PricedFleet(confidence, usd_per_hour(pools), gpus),), pools
    )


def places_text(places: Iterable[PlannedPlace]) -> str:
    """One paragraph for each place, the cheapest first; empty for none."""

    def order(place: PlannedPlace) -> tuple[bool, float]:
        spent = place.usd_per_hour
        return bool(place.problem), float("inf") if spent is None else float(spent)

    lines: list[str] = []
    for place in sorted(places, key=order):
        where = f"at {place.place}"
        if place.platform is not None:
            where = f"in {place.place} ({place.platform.value})"
        fleets = "; ".join(fleet.text for fleet in place.fleets)
        lines += texts("place", {"place": place, "where": where, "fleets": fleets})
        for pool in place.pools:
            members = ", ".join(name for name, _ in pool.members)
            facts = {"pool": pool, "machine": pool.key.machine, "members": members}
            lines += texts("place/pool", facts)
    return "\n".join(lines) + "\n" if lines else ""
