"""The same workloads planned in several regions: one row for each place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from gpufleet.catalogue import DEFAULT_EDITION, Catalogue, load
from gpufleet.catalogue.regions import known_regions
from gpufleet.findings import Finding, error, has_errors
from gpufleet.models.ledger import Basis
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet_planner.planning.placed import PricedFleet
from gpufleet_planner.planning.plan import PlannedFleet, plan


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
    places: list[PlannedPlace] = []
    findings: list[Finding] = []
    catalogue = load(data.get("catalogue") or DEFAULT_EDITION)
    for region in dict.fromkeys(regions):
        platform = _platform_of(region, str(data.get("platform")), catalogue)
        if platform is None:
            text = f"no cloud of the catalogue has a region {region!r}"
            fix = "`gpufleet catalogue prices` names regions"
            findings.append(error("region-unknown", "--regions", text, fix))
            continue
        there = {key: value for key, value in data.items() if key != "zones"}
        cluster = {**dict(data.get("cluster") or {}), "region": region}
        there |= {"platform": platform.value, "cluster": cluster}
        places.append(PlannedPlace(region, platform, plan(there, as_of=as_of)))
    return (() if has_errors(findings) else tuple(places)), tuple(findings)


def _platform_of(region: str, own: str, catalogue: Catalogue) -> Platform | None:
    mine = [platform for platform in Platform if platform.value == own]
    for platform in (*mine, *Platform):
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
