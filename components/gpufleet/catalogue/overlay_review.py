"""Warnings about an overlay: facts of hardware that it changes, prices in unknown regions, and
prices far from those of the edition."""

from collections.abc import Iterator
from decimal import Decimal

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.catalogue.regions import known_regions
from gpufleet.findings import Finding, findings_in, warning

_finding = findings_in(__file__)

_FACTS = {
    "gpus": ("memory_mib", "nominal_gb", "compute_capability", "vendor", "boards"),
    "instances": ("gpu", "count", "vcpu", "memory_gib", "architecture", "network_gbps"),
    "models": ("config", "parameters_billion"),
}
"""Table -> fields that decide size and speed."""


def review_overlay(catalogue: Catalogue) -> list[Finding]:
    """A warning for each row of the edition whose facts the overlay changes, each unknown region of
    its prices, and each price that is far off. Empty without an overlay."""
    if not catalogue.overlay.sources:
        return []
    edition = Catalogue(catalogue.edition, catalogue.folder)
    return [
        *_replaced(catalogue, edition),
        *_odd_regions(catalogue, edition),
        *_far_off(catalogue, edition),
    ]


def _replaced(catalogue: Catalogue, edition: Catalogue) -> Iterator[Finding]:
    for table, own in catalogue.overlay.rows.items():
        kind = table.partition("-")[0]
        if kind not in _FACTS:
            continue
        name = "key" if kind == "gpus" else "name"
        before = {row[name]: row for row in read_rows(edition.folder, table)}
        for row in own:
            old = before.get(row[name])
            changed = [] if old is None else list(_changed(row, old, _FACTS[kind]))
            if not changed:
                continue
            text = f"{row['source']} gives {row[name]} other facts than the edition: "
            if kind == "gpus" and row[name] in edition.geometries:
                changed.append("its MIG slices stay those of the edition")
            yield warning(
                "overlay-replaces-fact",
                f"catalogueOverlay.{kind}.{row[name]}",
                text + "; ".join(changed),
                f"give the row a {name} of its own, if it is other hardware",
                table=kind,
            )


def _changed(row: RawRow, old: RawRow, fields: tuple[str, ...]) -> Iterator[str]:
    """Fields that differ. A field that the overlay's row omits is unknown."""
    for field in fields:
        if row.get(field) != old.get(field):
            here, there = (str(one.get(field, "none"))[:60] for one in (row, old))
            yield f"{field} {here} instead of {there}"


def _odd_regions(catalogue: Catalogue, edition: Catalogue) -> Iterator[Finding]:
    known = {cloud: known_regions(cloud, edition) for cloud in edition.clouds}
    odd: dict[tuple[str, str], str] = {}
    for (name, _), prices in catalogue.overrides.items():
        cloud = catalogue.instance(name).cloud
        for price in prices:
            if price.region is not None and price.region not in known[cloud]:
                odd.setdefault((price.region, cloud), name)
    for (region, cloud), name in odd.items():
        near = nearest_names(region, known[cloud], 1, likeness=0.8)
        yield _finding(
            "overlay-region-unknown",
            f"catalogueOverlay.prices.{name}",
            fix=(f"write {near[0]}" if near else None),
            found=region,
            cloud=cloud,
        )


def _far_off(catalogue: Catalogue, edition: Catalogue) -> Iterator[Finding]:
    for (name, option), prices in catalogue.overrides.items():
        row = edition.instances.get(name)
        known = None if row is None else row.price(option).micro_usd_per_hour
        for micro in (price.micro_usd_per_hour for price in prices):
            if micro and known and not known / 5 <= micro <= known * 5:
                yield _finding(
                    "prices-far-off",
                    f"catalogueOverlay.prices.{name}",
                    usd=Decimal(micro) / MICRO_USD,
                    known_usd=Decimal(known) / MICRO_USD,
                )
