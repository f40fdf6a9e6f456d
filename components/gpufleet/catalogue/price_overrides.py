"""A file of prices that replace those of the edition: negotiated rates, other regions, newer lists.

    date: 2026-11-20
    prices:
      - {instance: p5.48xlarge, buy: onDemand, region: eu-west-1, usd: "61.20"}
      - {instance: p5.48xlarge, buy: capacityBlock, region: us-east-1, usd: "31.46"}
      - {instance: g6.xlarge, buy: spot, region: us-east-1, usd: "0.31", usdHigh: "0.50"}
      - {instance: a4-highgpu-8g, buy: onDemand, offer: not-sold}

YAML or JSON. Figures are US dollars for one hour of one instance.
"""

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.instance import MICRO_USD, Price, PriceStatus
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.catalogue.price_rows import PURCHASE_OPTIONS, micro_usd
from gpufleet.catalogue.source import Source
from gpufleet.documents.reading import read_strict
from gpufleet.findings import Finding, FleetError, error, findings_in, has_errors

_finding = findings_in(__file__)

_ROW_KEYS = ("instance", "buy", "offer", "region", "usd", "usdHigh", "date")
_DEAREST_USD = 100_000
"""Above this per hour a figure is a monthly price or micro-dollars; no instance is near it."""

Overrides = dict[tuple[str, str], tuple[Price, ...]]


def read_price_overrides(path: Path, catalogue: Catalogue) -> Overrides:
    """The prices of a file. Raises FleetError with all problems at once, OSError if unreadable."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        message = f"{path.name} is not UTF-8 text: {problem.reason} at byte {problem.start}"
        raise FleetError([error("prices-unreadable", "", message)]) from None
    prices, findings = parse_price_overrides(text, path.name, catalogue)
    if has_errors(findings):
        raise FleetError(findings, f"price file {path.name}")
    return prices


def parse_price_overrides(
    text: str, name: str, catalogue: Catalogue
) -> tuple[Overrides, tuple[Finding, ...]]:
    """The prices of a file's text, and every finding about it; `name` becomes their source."""
    try:
        document = _parse(text, name)
    except ValueError as problem:
        return {}, (_finding("prices-unreadable", name=name, problem=problem),)
    if not isinstance(document, dict):
        message = f"{name} must be a mapping with `date` and `prices`, found {_kind(document)}"
        return {}, (error("prices-shape", "", message),)
    return read_price_list(cast("dict[str, Any]", document), f"override:{name}", catalogue)


def read_price_list(
    document: Mapping[str, Any], source: str, catalogue: Catalogue
) -> tuple[Overrides, tuple[Finding, ...]]:
    """The prices of a mapping with `date` and `prices`, and every finding about it."""
    return _Reader(catalogue, source).read(document)


def _parse(text: str, name: str) -> object:
    if name.endswith(".json"):
        return json.loads(text)
    return read_strict(text, "price list").data


class _Reader:
    """Collects prices and findings while it walks one file."""

    def __init__(self, catalogue: Catalogue, source: str) -> None:
        self._catalogue = catalogue
        self._source = source
        self._findings: list[Finding] = []
        self._prices: Overrides = {}

    def read(self, document: Mapping[str, Any]) -> tuple[Overrides, tuple[Finding, ...]]:
        self._refuse_unknown(document, ("date", "prices"), "")
        day = self._day(document.get("date"), "date")
        rows = cast("object", document.get("prices"))
        found = _kind(rows)
        if not isinstance(rows, list) or not rows:
            message = f"prices must be a list of at least one price, found {found}"
            self._add("prices-shape", "prices", message)
            return {}, tuple(self._findings)
        for index, row in enumerate(cast("list[object]", rows)):
            self._row(row, f"prices[{index}]", day)
        return self._prices, tuple(self._findings)

    def _row(self, row: object, path: str, default_day: date | None) -> None:
        if not isinstance(row, dict):
            self._add("prices-shape", path, f"a price must be a mapping, found {_kind(row)}")
            return
        raw = cast("dict[str, Any]", row)
        before = len(self._findings)
        self._refuse_unknown(raw, _ROW_KEYS, path)
        key = self._instance(raw, path), self._option(raw, path)
        offer = self._offer(raw, path)
        day = self._day(raw["date"], f"{path}.date") if "date" in raw else default_day
        region = raw.get("region")
        low = self._money(raw, "usd", path)
        high = self._money(raw, "usdHigh", path)
        if offer is PriceStatus.PRICED:
            if low is None and "usd" not in raw:
                self._add("prices-missing", f"{path}.usd", "a price needs `usd`", 'usd: "12.34"')
            if not isinstance(region, str) or not region:
                self._add("prices-missing", f"{path}.region", "a price needs the region it is of")
        elif "usd" in raw or "usdHigh" in raw:
            self._add(
                "prices-conflict",
                path,
                f"offer {offer} and a figure contradict each other",
                "leave out `usd` and `usdHigh`, or leave out `offer`",
            )
        if low is not None and high is not None and high < low:
            self._add(
                "prices-range", f"{path}.usdHigh", f"{raw['usdHigh']} is below usd {raw['usd']}"
            )
        known = self._prices.get(key, ())
        if any(price.region == region or None in (price.region, region) for price in known):
            of = f" in {region}" if region else ""
            self._add("prices-duplicate", path, f"a second {key[1]} price of {key[0]}{of}")
        if any(f.severity == "error" for f in self._findings[before:]) or day is None:
            return
        own = Price(offer, low, region, Source(self._source, day), high)
        self._prices[key] = (*known, own)
        self._compare(key, low, path)

    def _compare(self, key: tuple[str, str], micro: int | None, path: str) -> None:
        known = self._catalogue.instance(key[0]).price(key[1]).micro_usd_per_hour
        if micro and known and not known / 5 <= micro <= known * 5:
            self._findings.append(
                _finding(
                    "prices-far-off",
                    path,
                    usd=Decimal(micro) / MICRO_USD,
                    known_usd=Decimal(known) / MICRO_USD,
                )
            )

    def _instance(self, raw: Mapping[str, Any], path: str) -> str:
        name = raw.get("instance")
        table = self._catalogue.instances
        if isinstance(name, str) and name in table:
            return name
        near = nearest_names(str(name), table)
        fix = f"nearest: {', '.join(near)}" if near else None
        message = f"no instance type {name!r} in edition {self._catalogue.edition}"
        place = f"{path}.instance"
        self._add("prices-unknown-instance", place, message, fix, instance=str(name))
        return str(name)

    def _option(self, raw: Mapping[str, Any], path: str) -> str:
        option = raw.get("buy")
        if option not in PURCHASE_OPTIONS:
            message = f"buy is {option!r}; it must be one of {', '.join(PURCHASE_OPTIONS)}"
            self._add("prices-unknown-option", f"{path}.buy", message)
        return str(option)

    def _offer(self, raw: Mapping[str, Any], path: str) -> PriceStatus:
        text = raw.get("offer", PriceStatus.PRICED)
        try:
            return PriceStatus(text)
        except ValueError:
            message = f"offer is {text!r}; it must be one of {', '.join(PriceStatus)}"
            self._add("prices-unknown-offer", f"{path}.offer", message)
            return PriceStatus.PRICED

    def _money(self, raw: Mapping[str, Any], field: str, path: str) -> int | None:
        if field not in raw:
            return None
        micro, reason = _figure(raw[field])
        if reason:
            fix = 'dollars per hour of one instance, as `usd: "12.34"`'
            self._add("prices-bad-figure", f"{path}.{field}", f"{field}: {reason}", fix)
        return micro

    def _day(self, value: object, path: str) -> date | None:
        if type(value) is date:  # YAML reads an unquoted day as one; a datetime is refused
            return value
        try:
            return date.fromisoformat(cast("str", value))
        except (TypeError, ValueError):
            message = f"{path} must be the day the prices are of, found {value!r}"
            self._add("prices-bad-date", path, message, "date: 2026-11-20")
            return None

    def _refuse_unknown(self, raw: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
        for key in raw:
            if key not in known:
                near = nearest_names(str(key), known, 1)
                place = f"{path}.{key}" if path else str(key)
                fix = f"write {near[0]}" if near else f"known: {', '.join(known)}"
                self._add("prices-unknown-field", place, f"unknown field {key!r}", fix)

    def _add(
        self, code: str, path: str, message: str, fix: str | None = None, **evidence: object
    ) -> None:
        self._findings.append(error(code, path, message, fix, **evidence))


def _figure(value: object) -> tuple[int | None, str]:
    """Micro-dollars of a figure as written, or None and the error text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None, f"{_kind(value)} is not a figure"
    try:
        micro = micro_usd(str(value))
    except ValueError as problem:
        return None, str(problem)
    if not 0 < micro <= _DEAREST_USD * MICRO_USD:
        return None, f"{value} is not above 0 and at most {_DEAREST_USD}"
    return micro, ""


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    for kind, words in ((dict, "a mapping"), (list, "a list"), (str, "a text")):
        if isinstance(value, kind):
            return words
    return repr(value)
