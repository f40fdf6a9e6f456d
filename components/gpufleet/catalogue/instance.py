"""Types of the instance table: machine types of the clouds and their prices.

Money is integer micro-dollars (1 USD = 1_000_000) for one hour of one instance; memory is integer
bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from gpufleet.catalogue.frozen import FrozenDict
from gpufleet.catalogue.source import Source

MICRO_USD = 1_000_000
"""Micro-dollars in one US dollar."""


AWS, GCP = "aws", "gcp"
"""Keys of the clouds on whose machines platforms of gpufleet make nodes (`Catalogue.clouds`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A cloud that sells machine types."""

    key: str
    title: str
    """Name in texts."""
    sold: str
    """`table`: machine types are in `instances-KEY.jsonl`; `offers`: in `offers.jsonl`."""
    regions: tuple[str, ...] = ()
    """Names of the regions; empty: the regions that the prices name."""
    labels: tuple[str, ...] = ()
    """Prefixes of labels that only its nodes carry."""
    blocks: Mapping[str, Any] = field(default_factory=FrozenDict[str, Any], hash=False)
    """How it sells blocks of capacity for a time: `weeks_ahead` at most, `minutes_before` the start
    at the latest, maximum `instances` and `days`, time of day (UTC) when each `ends`."""
    managed: Mapping[str, str | None] = field(default_factory=FrozenDict[str, Any], hash=False)
    """Families of machines that its own provisioner starts (EKS Auto Mode) -> its fee for each, as
    a part of the list price on demand; None: not sourced."""
    same_place: Mapping[str, str] = field(default_factory=FrozenDict[str, Any], hash=False)
    """Region -> one of another cloud in the same town, state or country, for proposed fixes."""
    source: Source


class PriceStatus(StrEnum):
    """Whether a price is known. "Not sold" differs from "unknown price"."""

    PRICED = "priced"
    NOT_SOLD = "not-sold"
    """This purchase option does not exist for the instance type."""
    UNKNOWN = "unknown"
    """It is sold, or may be, but no dated price could be sourced."""


@dataclass(frozen=True, slots=True)
class Price:
    """Price of one instance for one hour in one region, on one day."""

    offer: PriceStatus
    micro_usd_per_hour: int | None
    """Set exactly when the offer is priced. For spot the lowest over the region's zones."""
    region: str | None
    source: Source
    high_micro_usd_per_hour: int | None = None
    """For spot: the highest over the region's zones; None: only one figure."""
    list_micro_usd_per_hour: int | None = None
    """A figure in the cloud's price list for an option that cannot be ordered (offer `not-sold`).
    Shown, never used in sums."""
    notes: str = ""

    @property
    def usd_per_hour(self) -> Decimal | None:
        """The price in dollars; None if the price is unknown."""
        if self.micro_usd_per_hour is None:
            return None
        return Decimal(self.micro_usd_per_hour) / MICRO_USD


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """Accelerators of an instance type."""

    gpu: str
    """Key of `Catalogue.gpus`."""
    count: int | None = None
    """Devices the operating system sees; a fractional GPU counts as one. None: not sourced:
    nothing can be planned on such a type."""
    fraction: Fraction
    """Share of one physical GPU each device is: 1, or 1/8, 1/4, 1/2 for g6f and g4 slices."""
    memory_bytes: int | None
    """Memory of each device as the cloud's API states it; None: not stated
    (`Catalogue.device_memory` then takes the GPU's)."""
    interconnect: str | None = None
    api_count: int | None = None
    """Number of GPUs in the cloud's API: 0 for fractional types on AWS. None: not sourced."""
    nominal_gb: int | None = None
    """Marketing size of each device."""


@dataclass(frozen=True, slots=True)
class HostLimit:
    """Largest N1 host that an attachable accelerator count may be put on."""

    vcpu: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """One machine type of one cloud."""

    name: str
    cloud: str
    """Key of `Catalogue.clouds`."""
    family: str
    architecture: str
    """`amd64` or `arm64`."""
    vcpu: int | None = None
    memory_bytes: int | None
    accelerator: Accelerator
    network_gbps: Decimal | None
    """AWS: the sustained rate, not the "up to" figure. Google: the most the machine can reach."""
    network_cards: int | None = None
    efa_interfaces: int | None
    """Maximum number of EFA interfaces; one per network card at most. 0: none; None: not
    sourced."""
    efa_cards: tuple[int, ...] | None = None
    """Network cards that get an EFA, where EC2 recommends fewer than the maximum; None: on
    `efa_interfaces` cards."""
    local_nvme_bytes: int | None
    on_demand: Price
    spot: Price
    purchase_options: frozenset[str]
    """Purchase options known to exist: `onDemand`, `spot`, `reserved`, `capacityBlock`,
    `flexStart`, `queued`. Empty: not sourced."""
    gke_accelerator_type: str | None = None
    """Google's name of the accelerator, `nvidia-l4`; None on AWS."""
    attachable: bool = False
    """N1 machines: the accelerator is attached, the machine size is free."""
    gpudirect: str | None = None
    """Google: `GPUDirect-TCPX`, `GPUDirect-TCPXO`, `GPUDirect RDMA`; None otherwise."""
    gke_partition_sizes: Mapping[str, int] = field(default_factory=FrozenDict[str, int], hash=False)
    """`gpu_partition_size` values that GKE's partitioner knows here, and the partitions of a GPU.

    Which of them work: `offered_partition_sizes`.
    """
    spot_interruption: str | None
    """AWS spot advisor band, `5-10%`; None: not sourced."""
    notes: str = ""
    source: Source
    spot_saving_percent: int | None = None
    """AWS spot advisor: saving over on-demand, percent; of the same day as `spot_interruption`."""
    spot_advisor_region: str | None = None
    """Region the advisor's band and saving are of."""
    spot_advisor_source: Source | None = None
    nic_layout: str | None = None
    """Google: the extra network cards, in words."""
    local_ssd_in_price: bool | None = None
    """Google: whether the on-demand and spot figures contain the bundled local SSD."""
    confidential: str | None = None
    """Google: technology with which GKE runs its GPU nodes as Confidential VMs (`TDX`); None: it
    does not."""
    local_ssd_counts: tuple[int, ...] | None = None
    """Google: numbers of local SSDs that may be added; None: it has a fixed number, or none."""
    host_limit: HostLimit | None = None
    """Attachable accelerators: the largest host."""

    other_prices: Mapping[str, Price] = field(default_factory=dict[str, Price], hash=False)
    """Prices of further purchase options (`capacityBlock`, `flexStart`, `reserved`, `queued`). No
    edition has any, because no dated list is published: they come from price overrides."""

    def price(self, option: str) -> Price:
        """The price of a purchase option; `unknown` if the row has no price for it."""
        if option == "onDemand":
            return self.on_demand
        if option == "spot":
            return self.spot
        return self.other_prices.get(option) or Price(PriceStatus.UNKNOWN, None, None, self.source)

    @property
    def offered_partition_sizes(self) -> dict[str, int]:
        """Partition sizes that work on GKE here, with the partitions each yields per GPU.

        GKE's partitioner also knows 4g partitions of GPUs with seven slices, and nothing else of
        GKE does: its device plugin refuses to advertise them on A100 and H100
        (GoogleCloudPlatform/container-engine-accelerators `pkg/gpu/nvidia/mig/mig.go`), its
        autoscaler scales none from zero on any of them (Go module k8s.io/gke-autoscaling,
        `pkg/cloudprovider/gke/machinetypes`), and NVIDIA says that GKE offers none. Read
        2026-11-21.
        """
        sizes = self.gke_partition_sizes
        seven = any(size.startswith("7g.") for size in sizes)
        return {size: n for size, n in sizes.items() if not (seven and size.startswith("4g."))}

    @property
    def fractional(self) -> bool:
        """Whether each device is a part of a GPU (a vGPU slice: no MIG, MPS or NVLink)."""
        return self.accelerator.fraction != 1

    @property
    def gpus(self) -> Fraction | None:
        """Physical GPUs of the instance: count times fraction; None: not sourced."""
        if self.accelerator.count is None:
            return None
        return self.accelerator.count * self.accelerator.fraction


PUBLISHED_WAYS = ("onDemand", "spot", "reserved", "flexStart", "queued")
"""Purchase options with a price from public lists; the others state their own price."""


def price_range(
    row: InstanceType, way: str, cap_micro_usd: int | None = None
) -> tuple[int | None, int | None]:
    """Lowest and highest price of one machine, micro-dollars an hour; None: unknown.

    `way` is one of PUBLISHED_WAYS, `cap_micro_usd` the maximum bid for spot.
    """
    listed = row.on_demand.micro_usd_per_hour
    if way == "spot":
        return _spot(row, cap_micro_usd)
    if way in ("flexStart", "queued"):
        # No public list has the discount: the list price is the upper bound.
        flex = row.price("flexStart").micro_usd_per_hour
        return flex, listed if flex is None or way == "queued" else flex
    return listed, listed


def planned_price(row: InstanceType, way: str, cap_micro_usd: int | None = None) -> int | None:
    """Planned price of one machine, micro-dollars an hour; None: unknown.

    Spot: the price of the region's most expensive zone, because the zone is not chosen, within the
        range. Other options: the highest price of the range.
    """
    low, high = price_range(row, way, cap_micro_usd)
    if way != "spot":
        return high
    dearest = row.spot.high_micro_usd_per_hour or low
    if dearest is None or high is None:
        return dearest if high is None else high
    return min(dearest, high)


def _spot(row: InstanceType, cap: int | None) -> tuple[int | None, int | None]:
    """Spot moves between its lowest published price and the cap, by default the list price."""
    low = row.spot.micro_usd_per_hour
    high = cap if cap is not None else row.on_demand.micro_usd_per_hour
    if high is None:
        high = row.spot.high_micro_usd_per_hour
    if low is not None and high is not None:
        low = min(low, high)
    return low, high
