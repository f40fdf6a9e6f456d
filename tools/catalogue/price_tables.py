"""CSV tables of projects that gather prices: SkyPilot's and gpuhunt's catalogues."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from tools.catalogue.publication import (
    Collected,
    Stored,
    UnreadableSourceError,
    figure,
)

_DIGIT = Decimal("0.0001")
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}


_TPUS = {
    "tpu-v4-8": "ct4p-hightpu-4t",
    **{f"tpu-v5litepod-{chips}": f"ct5lp-hightpu-{chips}t" for chips in (1, 4, 8)},
    "tpu-v5p-8": "ct5p-hightpu-4t",
    **{f"tpu-v6e-{chips}": f"ct6e-standard-{chips}t" for chips in (1, 4, 8)},
}
"""SkyPilot's name of a slice of one host -> its machine type. For v4 and v5p the number is that of
TensorCores, two a chip (Google, TPU v4 and v5p)."""
_NO_PRICE = Decimal(700)
"""Its text where Google has no price."""


def skypilot(stored: Stored) -> Collected:
    """`vms.csv` of AWS: on demand and spot by region, and the shape of accelerated types. For
    Google the shape and the regions: its prices are those of hosts without GPUs. Rows of TPUs have
    no machine type and a whole price."""
    found = Collected()
    spot: dict[tuple[str, str], list[Decimal]] = {}
    for line in _lines(stored, "aws-vms.csv", ("InstanceType", "Price", "SpotPrice", "Region")):
        name, region, price = line["InstanceType"], line["Region"], line["Price"]
        found.types.add(name)
        if line["AcceleratorName"]:
            found.add("instances-aws", {"name": name, **_shape(line), **_accelerator(line)})
        if price:
            row = {"instance": name, "buy": "onDemand", "region": region, "usd": figure(price)}
            found.add("prices-aws", row)
        # A zone that lists the on-demand price, in four digits, has no history of spot prices.
        if line["SpotPrice"] and abs(Decimal(price or 0) - Decimal(line["SpotPrice"])) > _DIGIT:
            spot.setdefault((name, region), []).append(Decimal(line["SpotPrice"]))
    for (name, region), known in spot.items():
        low, high = figure(min(known)), figure(max(known))
        row = {"instance": name, "buy": "spot", "region": region, "usd": low}
        found.add("prices-aws", {**row, "usd_high": high if high != low else None})
    for line in _lines(stored, "gcp-vms.csv", ("InstanceType", "Region")):
        tpu = _TPUS.get(line.get("AcceleratorName", ""))
        if tpu is not None and not line["InstanceType"]:
            for buy, price in (("onDemand", line["Price"]), ("spot", line["SpotPrice"])):
                if price and Decimal(price) != _NO_PRICE:
                    row = {"instance": tpu, "buy": buy, "region": line["Region"]}
                    found.add("prices-gcp", {**row, "usd": figure(price)})
        if line["InstanceType"]:
            found.types.add(line["InstanceType"])
            found.places.add((line["InstanceType"], line["Region"]))
            found.add("instances-gcp", {"name": line["InstanceType"], **_shape(line)})
    return found


def _shape(line: Mapping[str, str]) -> dict[str, Any]:
    """vCPU and memory, where they are whole numbers."""
    return {
        "vcpu": _whole(line["vCPUs"]),
        "memory_gib": _whole(line["MemoryGiB"]),
        "architecture": _ARCHITECTURES.get(line.get("Arch", "")),
    }


def _accelerator(line: Mapping[str, str]) -> dict[str, Any]:
    """The accelerator as SkyPilot calls it; a share of one counts as one."""
    count = Decimal(line["AcceleratorCount"] or "0")
    return {"accelerator": line["AcceleratorName"], "count": _whole(str(count)) or None}


def gpuhunt(stored: Stored) -> Collected:
    """`aws.csv` and `gcp.csv` of gpuhunt's catalogue: prices of machines with GPUs."""
    found = Collected()
    for name, cloud in (("aws.csv", "aws"), ("gcp.csv", "gcp")):
        spot: dict[tuple[str, str], list[Decimal]] = {}
        for line in _lines(stored, name, ("instance_name", "location", "price", "spot")):
            kind, region = line["instance_name"], _region(line["location"], cloud)
            # Machines without GPUs, and N1 machines with any number of them.
            if line.get("gpu_count", "0") == "0" or kind.startswith("n1-"):
                continue
            found.types.add(kind)
            found.places.add((kind, region))
            if line["spot"] == "True":
                spot.setdefault((kind, region), []).append(Decimal(line["price"]))
                continue
            row = {"instance": kind, "buy": "onDemand", "region": region}
            found.add(f"prices-{cloud}", {**row, "usd": figure(line["price"])})
            shape = {"vcpu": _whole(line["cpu"]), "memory_gib": _whole(line["memory"])}
            found.add(f"instances-{cloud}", {"name": kind, **shape})
        for (kind, region), known in spot.items():
            low, high = figure(min(known)), figure(max(known))
            row = {"instance": kind, "buy": "spot", "region": region, "usd": low}
            found.add(f"prices-{cloud}", {**row, "usd_high": high if high != low else None})
    return found


def _region(place: str, cloud: str) -> str:
    """The region of a place, which is a zone on Google Cloud."""
    zone = cloud == "gcp" and place.count("-") == 2
    return place.rpartition("-")[0] if zone else place


def _lines(stored: Stored, name: str, needed: Iterable[str]) -> Iterator[dict[str, str]]:
    """The lines of a table. Raises UnreadableSourceError for missing columns and broken lines."""
    text = stored.text(name)
    if not text.endswith("\n"):
        raise UnreadableSourceError(f"{name} ends in the middle of a line")
    reader = csv.DictReader(io.StringIO(text))
    missing = set(needed) - set(reader.fieldnames or ())
    if missing:
        raise UnreadableSourceError(f"{name} lacks the columns {', '.join(sorted(missing))}")
    for line in reader:
        if None in line or None in line.values():
            raise UnreadableSourceError(f"{name} has a broken line {reader.line_num}")
        yield line


def _whole(text: str) -> int | None:
    """A figure that is a whole number, else None."""
    try:
        value = Decimal(text)
        return int(value) if value == int(value) else None
    except (ArithmeticError, ValueError):
        return None
