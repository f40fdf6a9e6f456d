"""Machines and prices as other tools' files have them.

gpuhunt: CSV or JSON with the fields of its `CatalogItem` (dstackai/gpuhunt,
`src/gpuhunt/_internal/models.py`: price in USD an hour, memory in GB, one row for each location).
SkyPilot: CSV of skypilot-org/skypilot-catalog (`InstanceType`, `AcceleratorName`, `Price`,
`SpotPrice`, `Region`), or JSON with the fields of its `InstanceTypeInfo` (`sky/catalog/common.py`).
"""

import ast
import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, cast

from gpufleet.findings import Finding, error

MOST_BYTES = 64 << 20
"""Largest file that is read."""
_MOST_USD = Decimal(100_000)


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """One machine, bought in one way at one place."""

    provider: str
    name: str
    region: str
    spot: bool
    usd: Decimal
    gpu: str
    gpu_gb: Decimal | None
    """Memory of one GPU; None where the file has none."""
    count: Decimal
    """SkyPilot has parts of a GPU."""
    vcpu: int | None
    memory_gb: Decimal | None


def read_foreign(path: Path) -> tuple[list[ForeignRow], int, list[Finding]]:
    """Rows with a GPU and a price, how many rows could not be read, and errors of the file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return [], 0, [_wrong(path, f"is larger than {MOST_BYTES >> 20} MiB", "split it")]
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        return [], 0, [_wrong(path, f"cannot be read: {problem}", "name a CSV or JSON file")]
    try:
        rows = list(_json_rows(text) if text.lstrip()[:1] in ("[", "{") else _csv_rows(text))
    except (ValueError, csv.Error, RecursionError) as problem:
        return [], 0, [_wrong(path, f"is neither CSV nor JSON: {problem}", _FORMATS)]
    reader = next((read for fields, read in _READERS if rows and fields <= set(rows[0])), None)
    if reader is None:
        found = ", ".join(list(rows[0])[:8]) if rows else "no rows"
        text = f"has no machines with prices in a known format; found {found}"
        return [], 0, [_wrong(path, text, _FORMATS)]
    provider = path.parent.name if path.stem == "vms" else path.stem
    good: list[ForeignRow] = []
    unread = 0
    for row in rows:
        try:
            good += reader(row, provider)
        except (ValueError, TypeError, InvalidOperation, ArithmeticError):
            unread += 1
    return good, unread, []


_FORMATS = (
    "CSV or JSON of gpuhunt (instance_name, location, price, gpu_count, gpu_name) or SkyPilot "
    "(InstanceType, AcceleratorName, AcceleratorCount, Price, Region). Files of AIConfigurator "
    "have rates of GPUs and no machines or prices"
)


def _wrong(path: Path, text: str, fix: str) -> Finding:
    return error("offers-unreadable", str(path), f"{path.name} {text}", fix)


def _csv_rows(text: str) -> Iterator[dict[str, Any]]:
    yield from csv.DictReader(io.StringIO(text), strict=True)


def _json_rows(text: str) -> Iterator[dict[str, Any]]:
    """Rows of a list, or of the lists that a mapping holds."""
    data: Any = json.loads(text)
    lists: list[Any] = [data] if isinstance(data, list) else list(data.values())
    for rows in lists:
        for row in cast("list[Any]", rows) if isinstance(rows, list) else ():
            if isinstance(row, dict):
                yield cast("dict[str, Any]", row)


def _gpuhunt(row: Mapping[str, Any], provider: str) -> Iterable[ForeignRow]:
    if not row.get("gpu_name") or not _number(row["gpu_count"]):
        return
    usd = _price(row["price"])
    if usd is None:
        return
    yield ForeignRow(
        provider=str(row.get("provider") or provider),
        name=str(row["instance_name"]),
        region=str(row["location"]),
        spot=str(row.get("spot", "")).lower() == "true",
        usd=usd,
        gpu=str(row["gpu_name"]),
        gpu_gb=_number(row.get("gpu_memory")),
        count=_number(row["gpu_count"]) or Decimal(0),
        vcpu=_whole(row.get("cpu")),
        memory_gb=_number(row.get("memory")),
    )


def _skypilot_csv(row: Mapping[str, Any], provider: str) -> Iterable[ForeignRow]:
    if not row["AcceleratorName"] or not _number(row["AcceleratorCount"]):
        return
    for column, spot in (("Price", False), ("SpotPrice", True)):
        usd = _price(row.get(column))
        if usd is not None:
            yield ForeignRow(
                provider=provider,
                name=str(row["InstanceType"]),
                region=str(row.get("AvailabilityZone") or row["Region"]),
                spot=spot,
                usd=usd,
                gpu=str(row["AcceleratorName"]),
                gpu_gb=_described_gb(str(row.get("GpuInfo") or "")),
                count=_number(row["AcceleratorCount"]) or Decimal(0),
                vcpu=_whole(row.get("vCPUs")),
                memory_gb=_number(row.get("MemoryGiB")),
            )


def _skypilot_json(row: Mapping[str, Any], provider: str) -> Iterable[ForeignRow]:
    if not row["accelerator_name"] or not row.get("instance_type"):
        return
    for field, spot in (("price", False), ("spot_price", True)):
        usd = _price(row.get(field))
        if usd is not None:
            yield ForeignRow(
                provider=str(row.get("cloud") or provider).lower(),
                name=str(row["instance_type"]),
                region=str(row.get("region") or "unknown"),
                spot=spot,
                usd=usd,
                gpu=str(row["accelerator_name"]),
                gpu_gb=_number(row.get("device_memory")),
                count=_number(row["accelerator_count"]) or Decimal(0),
                vcpu=_whole(row.get("cpu_count")),
                memory_gb=_number(row.get("memory")),
            )


_READERS = (
    (frozenset({"instance_name", "location", "price", "gpu_count", "gpu_name"}), _gpuhunt),
    (
        frozenset({"InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region"}),
        _skypilot_csv,
    ),
    (
        frozenset({"instance_type", "accelerator_name", "accelerator_count", "price"}),
        _skypilot_json,
    ),
)
"""Fields that name a format, and its reader."""


def _described_gb(info: str) -> Decimal | None:
    """GiB of a GPU by SkyPilot's `GpuInfo`, a Python literal; older files have the name alone, and
    some 0 for a size."""
    if not info.startswith("{"):
        return None
    described: Any = ast.literal_eval(info)
    size = _number(described["Gpus"][0]["MemoryInfo"]["SizeInMiB"])
    return None if not size else size / 1024


def _number(value: Any) -> Decimal | None:
    """A finite number that is not negative; None for what is empty. Raises ValueError."""
    if value is None or value == "":
        return None
    number = Decimal(str(value))
    if not number.is_finite() or number < 0:
        raise ValueError(value)
    return number


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _price(value: Any) -> Decimal | None:
    """Dollars an hour; None for what is empty, NaN or 0: files write these for `not offered`."""
    if value is None or str(value).strip().lower() in ("", "nan"):
        return None
    usd = _number(value) or Decimal(0)
    if usd > _MOST_USD:
        raise ValueError(value)
    return usd or None
