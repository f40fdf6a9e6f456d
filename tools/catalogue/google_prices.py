"""Google's prices by region: Karpenter's table and the price calculator's."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from tools.catalogue.publication import (
    Collected,
    Stored,
    UnreadableSourceError,
    figure,
)


def karpenter(stored: Stored) -> Collected:
    """`initial-prices.json` of Karpenter's Google provider: whole machines, on demand and spot."""
    found = Collected()
    for region, prices in _mapping(stored.json("initial-prices.json"), "prices"):
        for option, buy in (("on_demand", "onDemand"), ("spot", "spot")):
            for name, usd in _items(prices, option):
                row = {"instance": name, "buy": buy, "region": region, "usd": figure(usd)}
                found.add("prices-gcp", row)
                found.types.add(name)
    return found


def calculator(stored: Stored) -> Collected:
    """`pricing.yml` of the price calculator: whole machines. It names regions that do not have a
    type too."""
    import yaml

    try:
        document = yaml.load(stored.text("pricing.yml"), yaml.CSafeLoader)
        machines = document["compute"]["instance"].items()
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as problem:
        raise UnreadableSourceError(f"pricing.yml is no price list: {problem}") from None
    found = Collected()
    for name, machine in machines:
        found.types.add(name)
        shape = {"vcpu": machine.get("cpu"), "memory_gib": machine.get("ram")}
        if all(value is None or value == int(value) for value in shape.values()):
            whole = {key: None if value is None else int(value) for key, value in shape.items()}
            found.add("instances-gcp", {"name": name, **whole})
        for region, cost in _items(machine, "cost"):
            row = {"instance": name, "buy": "onDemand", "region": region}
            if cost.get("hour"):
                found.add("prices-gcp", {**row, "usd": figure(cost["hour"])})
    return found


def _mapping(document: object, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(document, dict) or key not in document:
        raise UnreadableSourceError(f"a price list must have {key!r}")
    return _items(cast("dict[str, Any]", document), key)


def _items(document: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    part: object = document.get(key) or {}
    if not isinstance(part, dict):
        raise UnreadableSourceError(f"{key!r} is no mapping")
    yield from cast("dict[str, Any]", part).items()
