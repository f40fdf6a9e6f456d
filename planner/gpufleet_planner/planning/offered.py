"""Offers that no platform of gpufleet provisions, as machines that `size` and `plan` compare.

They come from the catalogue, by provider, or from other tools' files:
gpuhunt: CSV or JSON with the fields of its `CatalogItem` (dstackai/gpuhunt,
`src/gpuhunt/_internal/models.py`: price in USD an hour, memory in GB, one row for each location).
SkyPilot: CSV of skypilot-org/skypilot-catalog (`InstanceType`, `AcceleratorName`, `Price`,
`SpotPrice`, `Region`), or JSON with the fields of its `InstanceTypeInfo` (`sky/catalog/common.py`).
"""

import ast
import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any, cast

from gpufleet.catalogue import AmbiguousKeyError, Catalogue, Gpu, UnknownKeyError
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.catalogue.machine_offer import MachineOffer
from gpufleet.findings import Finding, error, info, warning
from gpufleet.spec.base import Platform
from gpufleet_planner.planning.offers import OfferedMachine

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
    text = (Path(__file__).parents[1] / "data" / "foreign_formats.jsonl").read_text(
        encoding="utf-8"
    )
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


EVERYTHING = "catalogue"
"""The name of all offers of the catalogue."""
_NEAR = Decimal("0.12")
"""A stated size of memory may differ from the nominal one by this part: GB and GiB differ by 7 %,
and drivers keep some."""


def offered_machines(
    names: Sequence[str], catalogue: Catalogue
) -> tuple[tuple[OfferedMachine, ...], tuple[Finding, ...]]:
    """The machines that names mean: `catalogue`, a provider of it, or a file. Findings: unknown
    names, files that cannot be read, rows that were left out."""
    providers = tuple(dict.fromkeys(offer.provider for offer in catalogue.offers))
    machines: list[OfferedMachine] = []
    findings: list[Finding] = []
    for name in dict.fromkeys(names):
        if name in (EVERYTHING, *providers):
            wanted = providers if name == EVERYTHING else (name,)
            machines += [
                _of_catalogue(offer, catalogue)
                for offer in catalogue.offers
                if offer.provider in wanted
            ]
        elif Path(name).is_file():
            found, notes = _of_file(Path(name), catalogue)
            machines += found
            findings += notes
        else:
            near = nearest_names(name, (EVERYTHING, *providers), 1)
            known = ", ".join((EVERYTHING, *providers))
            fix = f"write {near[0]}" if near else f"write one of {known}, or the path of a file"
            text = f"no offers named {name!r}, and no file of this name"
            findings.append(error("offers-unknown", "offers", text, fix))
    return tuple(dict.fromkeys(machines)), tuple(findings)


def _of_catalogue(offer: MachineOffer, catalogue: Catalogue) -> OfferedMachine:
    """An offer at its cheapest region."""
    region = min(offer.micro_usd, key=lambda name: (offer.micro_usd[name], name), default=None)
    network = offer.rdma_gbps or offer.network_gbps
    return OfferedMachine(
        name=offer.name,
        platform=offer.provider,
        region=region,
        gpu=_on_board(catalogue.gpu(offer.gpu), offer.board),
        gpus=offer.count,
        buy="onDemand",
        micro_usd=None if region is None else offer.micro_usd[region],
        price_source=f"{offer.source.key}, {offer.source.date}",
        vcpu=offer.vcpu,
        memory_bytes=offer.memory_bytes,
        network_gbps=None if network is None else float(network),
        fabric="rdma" if offer.rdma_gbps else "none",
        architecture=offer.architecture,
    )


def _on_board(gpu: Gpu, board: str | None) -> Gpu:
    """The GPU with the rates of one board first, which is the one that counts."""
    if board is None:
        return gpu
    rates = gpu.rates[board]
    return replace(
        gpu,
        rates=frozen({board: rates, **{k: v for k, v in gpu.rates.items() if k != board}}),
        tdp_watts=rates.tdp_watts,
        nvlink_bytes_per_second=rates.nvlink_bytes_per_second,
    )


def _of_file(path: Path, catalogue: Catalogue) -> tuple[list[OfferedMachine], list[Finding]]:
    rows, unread, findings = read_foreign(path)
    if findings:
        return [], findings
    counts = {row.name: row.accelerator.count for row in catalogue.instances.values()}
    counts |= {offer.name: offer.count for offer in catalogue.offers}
    unknown: dict[str, int] = {}
    parts = 0
    wrong: dict[str, str] = {}
    cheapest: dict[tuple[str, str, bool], tuple[ForeignRow, Gpu]] = {}
    for row in rows:
        gpu = _gpu_of(row, catalogue)
        known = counts.get(row.name)
        if row.count != int(row.count):
            parts += 1
        elif gpu is None:
            unknown[row.gpu] = unknown.get(row.gpu, 0) + 1
        elif known is not None and known != row.count:
            wrong[row.name] = f"{row.name} has {row.count} GPUs there and {known} in the catalogue"
        else:
            key = (row.provider, row.name, row.spot)
            if key not in cheapest or row.usd < cheapest[key][0].usd:
                cheapest[key] = row, gpu
    findings = [
        warning(
            "offers-contradict-catalogue",
            str(path),
            f"{text}: its rows are left out",
            "correct the file; `gpufleet catalogue instances` and `offers` name their sources",
        )
        for text in wrong.values()
    ]
    left = [f"{n} of {name}" for name, n in sorted(unknown.items())]
    if parts:
        left.append(f"{parts} with a part of a GPU")
    if unread:
        left.append(f"{unread} that cannot be read")
    if left:
        text = f"{path.name}: rows left out, {', '.join(left)}"
        findings.append(info("offers-left-out", str(path), text))
    return [_of_row(row, gpu, path) for row, gpu in cheapest.values()], findings


def _gpu_of(row: ForeignRow, catalogue: Catalogue) -> Gpu | None:
    """The catalogue's GPU of a name and size. Of GPUs that a name alone does not tell apart, the
    stated size decides; SkyPilot's plain names (`A100`, `V100`) mean the smaller one."""
    try:
        candidates = [catalogue.find_gpu(row.gpu)]
    except AmbiguousKeyError as several:
        candidates = [catalogue.gpu(key) for key in several.nearest]
    except UnknownKeyError:
        return None
    if row.gpu_gb is None:
        return min(candidates, key=lambda gpu: gpu.nominal_gb or 0)
    if len(candidates) == 1 and not _is_size(candidates[0], row.gpu_gb):
        try:
            candidates = [catalogue.find_gpu(f"{row.gpu}-{int(row.gpu_gb)}GB")]
        except UnknownKeyError:
            return None
    return next((gpu for gpu in candidates if _is_size(gpu, row.gpu_gb)), None)


def _is_size(gpu: Gpu, gb: Decimal) -> bool:
    return gpu.nominal_gb is not None and abs(gb - gpu.nominal_gb) <= _NEAR * gpu.nominal_gb


def _of_row(row: ForeignRow, gpu: Gpu, path: Path) -> OfferedMachine:
    return OfferedMachine(
        name=row.name,
        platform=row.provider,
        region=row.region,
        gpu=gpu,
        gpus=int(row.count),
        buy="spot" if row.spot else "onDemand",
        micro_usd=int(row.usd * MICRO_USD),
        price_source=f"offers:{path.name}",
        vcpu=row.vcpu,
        memory_bytes=None if row.memory_gb is None else int(row.memory_gb * (1 << 30)),
    )


def not_provisioned(providers: Iterable[str]) -> list[Finding]:
    """What must be known of a choice on an offer."""
    platforms = {platform.value for platform in Platform}
    names = sorted(set(providers) - platforms)
    if not names:
        return []
    text = f"no platform of gpufleet provisions {', '.join(names)}: machines to compare with"
    fix = "create the cluster with the provider's tools, or choose a machine of another platform"
    return [info("offer-not-provisioned", "offers", text, fix)]
