"""Offers that no platform of gpufleet provisions, as machines that `size` and `plan` compare.

They come from the catalogue, by provider, or from other tools' files.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from gpufleet.catalogue import AmbiguousKeyError, Catalogue, Gpu, UnknownKeyError
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.catalogue.machine_offer import MachineOffer
from gpufleet.findings import Finding, error, info, warning
from gpufleet.spec.base import Platform
from gpufleet_planner.planning.foreign_offers import ForeignRow, read_foreign
from gpufleet_planner.planning.offers import OfferedMachine

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


def not_provisioned(providers: Iterable[str], path: str = "offers") -> list[Finding]:
    """What must be known of a choice on an offer."""
    platforms = {platform.value for platform in Platform}
    names = sorted(set(providers) - platforms)
    if not names:
        return []
    text = f"no platform of gpufleet provisions {', '.join(names)}: machines to compare with"
    fix = "create the cluster with the provider's tools, or choose a machine of another platform"
    return [info("offer-not-provisioned", path, text, fix)]
