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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
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
    reader = next(
        (one for one in _known_formats() if rows and set(one.needed) <= set(rows[0])), None
    )
    if reader is None:
        found = ", ".join(list(rows[0])[:8]) if rows else "no rows"
        text = f"has no machines with prices in a known format; found {found}"
        return [], 0, [_wrong(path, text, _FORMATS)]
    provider = path.parent.name if path.stem == "vms" else path.stem
    good: list[ForeignRow] = []
    unread = 0
    for row in rows:
        try:
            good += reader.rows(row, provider)
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


@dataclass(frozen=True, slots=True)
class _Format:
    """Names of the fields of one format, a row of foreign_formats.jsonl."""

    name: str
    region: list[str]
    """The first that is filled in."""
    gpu: str
    count: str
    memory: str
    """Memory of one GPU."""
    vcpu: str
    host_memory: str
    prices: dict[str, bool | None]
    """Fields of prices, and whether they are of spot machines; None: the field `spot` says it."""
    provider: str
    """Empty: the name of the file says it."""
    needed: list[str]
    """Fields by which a file is known to have this format."""

    def rows(self, row: Mapping[str, Any], provider: str) -> Iterator[ForeignRow]:
        """The machines of one row. Raises ValueError, TypeError or an error of Decimal."""
        count = _number(row[self.count])
        if not (row[self.gpu] and row[self.name] and count):
            return
        vcpu, memory = _number(row.get(self.vcpu)), row.get(self.memory)
        for field, spot in self.prices.items():
            usd = _price(row.get(field))
            if usd is not None:
                yield ForeignRow(
                    provider=str(row.get(self.provider) or "").lower() or provider,
                    name=str(row[self.name]),
                    region=next((str(row[f]) for f in self.region if row.get(f)), "unknown"),
                    spot=str(row.get("spot", "")).lower() == "true" if spot is None else spot,
                    usd=usd,
                    gpu=str(row[self.gpu]),
                    gpu_gb=_described_gb(memory) if self.memory == "GpuInfo" else _number(memory),
                    count=count,
                    vcpu=None if vcpu is None else int(vcpu),
                    memory_gb=_number(row.get(self.host_memory)),
                )


@cache
def _known_formats() -> tuple[_Format, ...]:
    text = Path(__file__).with_name("foreign_formats.jsonl").read_text(encoding="utf-8")
    return tuple(_Format(**json.loads(line)) for line in text.splitlines())


def _described_gb(info: Any) -> Decimal | None:
    """GiB of a GPU by SkyPilot's `GpuInfo`, a Python literal; older files have the name alone, and
    some 0 for a size."""
    if not str(info).startswith("{"):
        return None
    described: Any = ast.literal_eval(str(info))
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


def _price(value: Any) -> Decimal | None:
    """Dollars an hour; None for what is empty, NaN or 0: files write these for `not offered`."""
    if value is None or str(value).strip().lower() in ("", "nan"):
        return None
    usd = _number(value) or Decimal(0)
    if usd > _MOST_USD:
        raise ValueError(value)
    return usd or None
