"""AWS's own files: price files by region, spot bands, offers of Capacity Blocks."""

import csv
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from tools.catalogue.publication import (
    Collected,
    Stored,
    UnreadableSourceError,
    figure,
)

REFERENCE_REGION = "us-east-1"
"""Region whose spot bands an edition has."""
HEAD_LINES = 5
"""Lines before the header of a price file; the third is the day of the publication."""
_WANTED = {
    "TermType": "OnDemand",
    "Unit": "Hrs",
    "Currency": "USD",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "Pre Installed S/W": "NA",
    "CapacityStatus": "Used",
}
"""Properties of a line with the on-demand price of Linux."""
_MARKET = ("", "OnDemand")
"""`MarketOption` of such a line; a Capacity Block has another."""
_BANDS = ("<5%", "5-10%", "10-15%", "15-20%", ">20%")


def price_files(stored: Stored) -> Collected:
    """On-demand prices and shapes from `<region>.csv`, a price file of AmazonEC2 each."""
    found = Collected()
    for name in stored.files(".csv"):
        for line in _lines(stored, name):
            wanted = all(line.get(column) == value for column, value in _WANTED.items())
            if not wanted or line.get("MarketOption", "") not in _MARKET:
                continue
            kind, region, usd = line["Instance Type"], line["Region Code"], line["PricePerUnit"]
            found.types.add(kind)
            if Decimal(usd) > 0:
                row = {"instance": kind, "buy": "onDemand", "region": region, "usd": figure(usd)}
                found.add("prices-aws", row)
            found.add("instances-aws", {"name": kind, **_shape(line)})
    if not found.types:
        raise UnreadableSourceError("no price file has an on-demand price of Linux")
    return found


def _lines(stored: Stored, name: str) -> Iterator[Mapping[str, str]]:
    """The on-demand lines of a price file, which has hundreds of megabytes: one after another."""
    with (stored.folder / name).open(encoding="utf-8", newline="") as file:
        for _ in range(HEAD_LINES):
            file.readline()
        header = next(csv.reader([file.readline()]), list[str]())
        missing = {*_WANTED, "Instance Type", "Region Code", "PricePerUnit"} - set(header)
        if missing:
            raise UnreadableSourceError(f"{name} lacks the columns {', '.join(sorted(missing))}")
        for values in csv.reader(line for line in file if '"OnDemand"' in line):
            if len(values) != len(header):
                raise UnreadableSourceError(f"{name} ends in the middle of a line")
            yield dict(zip(header, values, strict=True))


def _shape(line: Mapping[str, str]) -> dict[str, Any]:
    memory = line.get("Memory", "").removesuffix(" GiB").replace(",", "")
    gpus = line.get("GPU", "")
    vcpu = line.get("vCPU", "")
    whole = Decimal(memory) if memory.replace(".", "", 1).isdigit() else None
    return {
        "vcpu": int(vcpu) if vcpu.isdigit() else None,
        "memory_gib": int(whole) if whole is not None and whole == int(whole) else None,
        "api_count": int(gpus) if gpus.isdigit() else None,
    }


def spot_bands(stored: Stored) -> Collected:
    """Interruption and saving of Linux machines in the reference region."""
    found = Collected()
    data = stored.json("spot-advisor-data.json")
    try:
        machines = data["spot_advisor"][REFERENCE_REGION]["Linux"]
        for name, one in machines.items():
            row = {"instance": name, "region": REFERENCE_REGION}
            row |= {"interruption": _BANDS[one["r"]], "saving_percent": one["s"]}
            found.add("spot-advisor-aws", row)
    except (KeyError, TypeError, IndexError, AttributeError) as problem:
        raise UnreadableSourceError(f"spot-advisor-data.json lacks {problem}") from None
    return found


def capacity_blocks(stored: Stored) -> Collected:
    """Prices from the output of `aws ec2 describe-capacity-block-offerings`, the lowest and highest
    of a region."""
    prices: dict[tuple[str, str], list[Decimal]] = {}
    for name in stored.files(".json"):
        try:
            offers = stored.json(name)["CapacityBlockOfferings"]
            for offer in offers:
                if offer["CurrencyCode"] != "USD":
                    continue
                minutes = offer.get("CapacityBlockDurationMinutes") or 0
                hours = Decimal(offer["CapacityBlockDurationHours"]) + Decimal(minutes) / 60
                region = offer["AvailabilityZone"].rstrip("abcdefghij")
                price = Decimal(str(offer["UpfrontFee"])) / (offer["InstanceCount"] * hours)
                prices.setdefault((offer["InstanceType"], region), []).append(price)
        except (KeyError, TypeError, ArithmeticError) as problem:
            message = f"{name} is no answer of describe-capacity-block-offerings: {problem!r}"
            raise UnreadableSourceError(message) from None
    found = Collected()
    for (kind, region), known in prices.items():
        low, high = figure(min(known)), figure(max(known))
        row = {"instance": kind, "buy": "capacityBlock", "region": region, "usd": low}
        found.add("prices-aws", {**row, "usd_high": high if high != low else None})
        found.types.add(kind)
    return found
