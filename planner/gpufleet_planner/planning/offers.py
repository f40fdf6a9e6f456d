"""Machines to rent: of a platform, and of providers that no platform provisions, with price,
purchase option and network."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache

from gpufleet.catalogue import Catalogue, Gpu, InstanceType, PriceStatus
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.instance import planned_price
from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.catalogue.machine_offer import MachineOffer
from gpufleet.findings import Finding, findings_in
from gpufleet.models.ledger import Basis
from gpufleet.partition.grant import grant
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet_planner.sizing.device import Device, find_gpu, whole_gpu

_finding = findings_in(__file__)
_SPOT = "spot"
_ON_DEMAND = "onDemand"
_FLEX_START = "flexStart"


@dataclass(frozen=True, slots=True)
class OfferedMachine:
    """One kind of machine, bought in one way."""

    name: str
    """Instance type, or the name of own hardware."""
    platform: str
    gpu: Gpu
    gpus: int
    buy: str
    """`onDemand`, `spot`, `flexStart`, `onPrem`."""
    micro_usd: int | None
    """Price of one machine hour; None: unknown. Spot: of the most expensive zone."""
    price_source: str
    price_basis: Basis = Basis.MEASURED
    """`measured`: a dated list price of the requested region. `assumed`: of another region."""
    region: str | None = None
    """Region the price is of."""
    fraction: Fraction = Fraction(1)
    """Share of a physical GPU each device is."""
    part_bytes: int | None = None
    """Usable memory of a device that is a part of a GPU."""
    vcpu: int | None = None
    memory_bytes: int | None = None
    network_gbps: float | None = None
    fabric: str = "none"
    """Network between machines that bypasses the CPU: `efa`, `tcpx`, `tcpxo`, `rdma`, `none`."""
    architecture: str = "amd64"
    most_nodes: int | None = None
    """Own hardware or a quota; None: not bounded here."""
    row: int | None = None
    """Own hardware: which row of the file it is, from 0."""
    most_hours: float | None = None
    """After how many hours it is taken back; None: it stays."""

    def __hash__(self) -> int:
        return hash((self.name, self.platform, self.region, self.buy))

    @property
    def device_bytes(self) -> int | None:
        """Usable memory of one device."""
        return self.gpu.memory_bytes if self.fraction == 1 else self.part_bytes

    @property
    def usd_per_hour(self) -> Decimal | None:
        """The price in dollars; None without a price."""
        return None if self.micro_usd is None else Decimal(self.micro_usd) / 1_000_000

    def part_micro_usd(self, devices: int, part: Fraction) -> float | None:
        """Price per hour of devices that are each this part of a GPU; None without a price."""
        return (
            None if self.micro_usd is None else self.micro_usd * devices * float(part) / self.gpus
        )


@lru_cache(maxsize=4096)
def whole(machine: OfferedMachine) -> Device | None:
    """A whole device of a machine: a GPU, or the vGPU slice the machine carries."""
    device = whole_gpu(machine.gpu)
    if not isinstance(device, Device) or machine.device_bytes is None:
        return None
    if machine.fraction == 1:
        return device
    # One GPU's rates divided evenly: what the neighbours leave is not promised.
    return replace(
        device,
        label=f"{machine.gpu.key} x {machine.fraction}",
        grant=grant(machine.gpu, 1, device_bytes=machine.device_bytes),
        compute_share=machine.fraction,
        bandwidth_share=machine.fraction,
    )


@dataclass(frozen=True, slots=True)
class Market:
    """The offers on which a workload may run."""

    platforms: tuple[str, ...]
    """`eks`, `gke`, `sandbox`."""
    region: str | None = None
    """Requested region; None: the region of the prices."""
    gpus: tuple[str, ...] = ()
    """Keys of the GPUs to consider; empty: all."""
    fractional: bool = False
    """Whether machines with a vGPU slice of a GPU may be chosen: they need NVIDIA's GRID driver,
    which the usual node images lack."""
    arm: bool = False
    """Whether machines with Arm processors (g5g, GB200) may be chosen: images built for x86 do not
    start there. A GPU that `gpus` names is allowed wherever it is sold."""
    strict_prices: bool = False
    """Whether a price of another region than the requested one counts as unknown."""
    offers: tuple[OfferedMachine, ...] = ()
    """Own machines, and those of providers that no platform provisions (`offered_machines`)."""


@lru_cache(maxsize=256)
def machines(
    market: Market, catalogue: Catalogue, *, interruptible: bool, job: bool
) -> tuple[OfferedMachine, ...]:
    """Everything on sale, cheapest first. Spot only for what survives being taken back; queued
    capacity only for jobs. Reservations and capacity blocks have an id and are not chosen here."""
    arm = market.arm or bool(market.gpus)
    found = [
        one
        for one in market.offers
        if (arm or one.architecture != "arm64")
        and (not market.gpus or one.gpu.key in market.gpus)
        and one.device_bytes is not None
    ]
    for platform in market.platforms:
        facts = PLATFORMS[Platform(platform)].facts
        region = market.region if facts.cloud is not None else None
        listed = catalogue.in_region(region, estimate=not market.strict_prices)
        ways = [
            _ON_DEMAND,
            *([_SPOT] if interruptible else ()),
            *(facts.job_capacity if job else ()),
        ]
        for row in listed.instances.values():
            if row.cloud in facts.clouds and _sold_here(row, market, listed):
                fabric = facts.fabric_of(row).value
                found += _ways(row, ways, platform, fabric, market.region, listed)
    return tuple(sorted(found, key=_order))


SPOT_TYPES = 3
"""Number of machine types from which spot capacity is dependable: one of them is available."""


def spot_neighbours(
    machine: OfferedMachine, market: Market, catalogue: Catalogue
) -> tuple[str, ...]:
    """Names of further spot machines that do for this one: the same GPUs, no less processor and
    memory, cheapest first. Empty where pools hold one type only."""
    if machine.buy != _SPOT or not PLATFORMS[Platform(machine.platform)].facts.mixes_machine_types:
        return ()
    found = [
        other
        for other in machines(market, catalogue, interruptible=True, job=True)
        if other.name != machine.name
        and (other.buy, other.gpu.key, other.gpus) == (_SPOT, machine.gpu.key, machine.gpus)
        and (other.fraction, other.architecture) == (machine.fraction, machine.architecture)
        and (other.vcpu or 0) >= (machine.vcpu or 0)
        and (other.memory_bytes or 0) >= (machine.memory_bytes or 0)
    ]
    return tuple(dict.fromkeys(other.name for other in found))[: SPOT_TYPES - 1]


def check_gpus(
    names: Sequence[str], catalogue: Catalogue, path: str = "gpus"
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Keys of the named GPUs, and an error with the nearest keys for each unknown name."""
    found = [find_gpu(name, catalogue, f"{path}[{index}]") for index, name in enumerate(names)]
    keys = tuple(one.key for one in found if isinstance(one, Gpu))
    return keys, tuple(one for one in found if isinstance(one, Finding))


def _sold_here(row: InstanceType, market: Market, catalogue: Catalogue) -> bool:
    if row.fractional and not market.fractional:
        return False
    if market.gpus and row.accelerator.gpu not in market.gpus:
        return False
    if row.architecture == "arm64" and not (market.arm or market.gpus):
        return False
    gpu = catalogue.gpu(row.accelerator.gpu)
    # Attachable GPUs have no machine of a known size, and no price of the whole.
    usable = gpu.vendor == "nvidia" and not row.attachable
    return usable and gpu.memory_bytes is not None and bool(row.accelerator.count)


def _ways(
    row: InstanceType,
    ways: Sequence[str],
    platform: str,
    fabric: str,
    region: str | None,
    catalogue: Catalogue,
) -> Iterable[OfferedMachine]:
    for buy in ways:
        price = row.price(buy)
        if buy not in row.purchase_options or price.offer is PriceStatus.NOT_SOLD:
            continue
        micro = planned_price(row, buy) if buy == _SPOT else price.micro_usd_per_hour
        same = region is None or price.region == region
        yield OfferedMachine(
            name=row.name,
            platform=platform,
            region=price.region,
            gpu=catalogue.gpu(row.accelerator.gpu),
            gpus=row.accelerator.count or 0,
            fraction=row.accelerator.fraction,
            part_bytes=catalogue.device_memory(row),
            buy=buy,
            micro_usd=micro,
            price_basis=Basis.MEASURED if same else Basis.ASSUMED,
            price_source=f"{price.source.key}, {price.source.date}",
            vcpu=row.vcpu,
            memory_bytes=row.memory_bytes,
            network_gbps=None if row.network_gbps is None else float(row.network_gbps),
            fabric=fabric,
            architecture=row.architecture,
            most_hours=_longest() if buy == _FLEX_START else None,
        )


@cache
def _longest() -> float:
    """Hours after which machines of flex start are taken back."""
    # Imported on use: the models of the declaration load slowly.
    from gpufleet.spec.capacity import FlexStart, minutes

    return minutes(FlexStart().max_run_duration) / 60


def _order(machine: OfferedMachine) -> tuple[bool, int, int, str, str, str]:
    price = machine.micro_usd
    return (price is None, price or 0, machine.gpus, machine.name, machine.buy, machine.platform)


EVERYTHING = "catalogue"
"""The name of all offers of the catalogue."""


def offered_machines(
    names: Sequence[str], catalogue: Catalogue
) -> tuple[tuple[OfferedMachine, ...], tuple[Finding, ...]]:
    """The machines of providers that no platform provisions: `catalogue` names all of them, each
    other name one provider. Findings: unknown names."""
    providers = tuple(dict.fromkeys(offer.provider for offer in catalogue.offers))
    known = (EVERYTHING, *providers)
    unknown = [
        _finding("offers-unknown", "offers", fix=nearest_fix(name, known), name=name)
        for name in dict.fromkeys(names)
        if name not in known
    ]
    wanted = [one for name in names for one in (providers if name == EVERYTHING else (name,))]
    found = (
        _of_provider(offer, catalogue)
        for provider in dict.fromkeys(wanted)
        for offer in catalogue.offers
        if offer.provider == provider
    )
    return tuple(found), tuple(unknown)


def _of_provider(offer: MachineOffer, catalogue: Catalogue) -> OfferedMachine:
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
    """The GPU with the rates of one board first: that board counts."""
    if board is None:
        return gpu
    rates = gpu.rates[board]
    return replace(
        gpu,
        rates=frozen({board: rates, **{k: v for k, v in gpu.rates.items() if k != board}}),
        tdp_watts=rates.tdp_watts,
        nvlink_bytes_per_second=rates.nvlink_bytes_per_second,
    )


def not_provisioned(providers: Iterable[str]) -> list[Finding]:
    """Facts that a choice on an offer needs."""
    platforms = {platform.value for platform in Platform}
    names = sorted(set(providers) - platforms)
    return [_finding("offer-not-provisioned", "offers", providers=names)] if names else []
