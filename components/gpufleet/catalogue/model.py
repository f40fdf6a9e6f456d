"""Types of the catalogue: plain frozen rows, every one naming its source and its date.

Units: memory is integer bytes, money is integer micro-dollars (1 USD = 1_000_000), bandwidth is
integer bytes per second unless the name says otherwise. Marketing figures keep the unit in their
name (`nominal_gb`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

MICRO_USD = 1_000_000
"""Micro-dollars in one US dollar."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a row comes from: an entry of the edition's source table and the day it was read."""

    key: str
    """Key of the edition's table of sources (`Catalogue.sources`)."""
    date: date


class Evidence(StrEnum):
    """How well a MIG placement is known. Carried to every answer that rests on it."""

    VERIFIED = "verified"
    """Seen in real nvidia-smi output, or in two NVIDIA tables that agree."""
    PARTLY_VERIFIED = "partly-verified"
    """One emulator table, consistent with a published hardware session."""
    INFERRED = "inferred"
    """By the geometry all published parts of this kind share; no output of this board was found."""


@dataclass(frozen=True, slots=True)
class MigProfile:
    """One GPU instance profile of one GPU: what it occupies and where it may start."""

    name: str
    """NVIDIA's spelling in a mig-parted file: `1g.10gb`, `1g.10gb+me`, `2g.48gb-me`."""
    compute_slices: int
    memory_slots: int
    """Placement units (the `size` of `nvidia-smi mig -lgipp`), not compute slices."""
    starts: tuple[int, ...]
    """Memory slots at which an instance may start."""
    max_instances: int
    nominal_gb: int
    """The number in the name. Not the usable memory."""
    usable_bytes: int | None
    """Memory column of `nvidia-smi mig -lgip`; None where it was not sourced."""
    multiprocessors: int | None
    """Streaming multiprocessors; None where not sourced."""
    engines: Mapping[str, int | None]
    """Media and copy engines by name: copy, nvdec, nvenc, jpeg, ofa. None: not sourced."""
    evidence: Evidence
    source: Source
    min_driver: str | None = None

    @property
    def attributes(self) -> frozenset[str]:
        """What follows the memory in the name: `+me`, `+gfx`, `+me.all`, `-me`."""
        for sign in "+-":
            base, found, tail = self.name.partition(sign)
            if found:
                return frozenset(sign + attribute for attribute in tail.split(","))
            del base
        return frozenset()

    @property
    def resource(self) -> str:
        """Extended resource under the mixed strategy: `nvidia.com/mig-1g.10gb.me`."""
        return f"nvidia.com/mig-{self.label}"

    @property
    def label(self) -> str:
        """The profile as labels and resource names spell it: `+` becomes a dot."""
        return self.name.replace("+", ".").replace(",", ".")


@dataclass(frozen=True, slots=True)
class MigGeometry:
    """What one GPU can be cut into."""

    compute_slices: int
    memory_slots: int
    profiles: Mapping[str, MigProfile]
    """By name, smallest first."""
    balanced: Mapping[str, int]
    """The layout mig-parted's `all-balanced` gives this GPU."""
    evidence: Evidence
    """The weakest evidence among the profiles."""
    reset_needed: bool
    """Whether switching MIG mode needs a GPU reset (Ampere) rather than only an idle GPU."""
    alternate_names: Mapping[str, str]
    """Names some boards or drivers report for the same profile -> our name."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Dense peak rates of one board; None where the board cannot do it or it was not sourced."""

    memory_bandwidth: int
    """Bytes per second."""
    tf32: int | None
    """Dense operations per second, like all of the following."""
    bf16: int | None
    fp16: int | None
    fp8: int | None
    int8: int | None
    fp4: int | None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model as the fleet names it."""

    key: str
    """`A100-80GB`, `L4`, `H100-80GB`: what specs, commands and findings write."""
    name: str
    """As people write it: `NVIDIA A100 80 GB`."""
    vendor: str
    """`nvidia`, `amd`, `aws`, `google`, `habana`, `qualcomm`, `xilinx`."""
    architecture: str
    """`ampere`, `hopper`, `ada-lovelace`, `blackwell`, ... in the spelling of GFD's gpu.family."""
    compute_capability: tuple[int, int] | None
    nominal_gb: int
    """Marketing size."""
    memory_bytes: int
    """What the driver reports."""
    product_names: tuple[str, ...]
    """What NVML calls the boards; GFD's label is the first with spaces as hyphens."""
    pci_device_ids: tuple[str, ...]
    """Device and vendor, `0x20B210DE`, as a mig-parted device filter wants them."""
    rates: Mapping[str, Rates]
    """By board (`sxm`, `pcie`, `nvl`, ...); the first is the one cloud instances carry."""
    tdp_watts: int | None
    nvlink_bytes_per_second: int
    """Both directions together; 0 without NVLink."""
    mig: MigGeometry | None
    """None: the hardware has no MIG."""
    mps_max_clients: int
    """Most MPS clients the device plugin accepts on this GPU; 0: MPS unsupported."""
    source: Source

    @property
    def product_label(self) -> str:
        """Value of `nvidia.com/gpu.product` on a node with whole, unshared GPUs."""
        return (self.product_names[0] if self.product_names else self.name).replace(" ", "-")


class Cloud(StrEnum):
    """Who sells an instance type."""

    AWS = "aws"
    GCP = "gcp"


class Offer(StrEnum):
    """Whether a price is known; a price that is not sold is a different thing from an unknown one."""

    PRICED = "priced"
    NOT_SOLD = "not-sold"
    """This purchase option does not exist for the instance type."""
    UNKNOWN = "unknown"
    """It is sold, but no dated price could be sourced."""


@dataclass(frozen=True, slots=True)
class Price:
    """Price of one instance for one hour in one region, on one day."""

    offer: Offer
    micro_usd_per_hour: int | None
    """Set exactly when the offer is priced."""
    region: str | None
    source: Source
    high_micro_usd_per_hour: int | None = None
    """For spot: the highest over the region's zones; None when there is one figure."""

    @property
    def usd_per_hour(self) -> Decimal | None:
        """The price in dollars, or None when there is none."""
        if self.micro_usd_per_hour is None:
            return None
        return Decimal(self.micro_usd_per_hour) / MICRO_USD


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What an instance type carries."""

    gpu: str
    """Key of `Catalogue.gpus`."""
    count: int
    """Devices the operating system sees; a fractional GPU counts as one."""
    fraction: Fraction
    """Share of one physical GPU each device is: 1, or 1/8, 1/4, 1/2 for g6f and g4 slices."""
    memory_bytes: int | None
    """Memory of each device; None where not sourced."""
    interconnect: str | None


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One machine type of one cloud."""

    name: str
    cloud: Cloud
    family: str
    architecture: str
    """`amd64` or `arm64`."""
    vcpu: int | None
    memory_bytes: int | None
    accelerator: Accelerator
    network_gbps: Decimal | None
    network_cards: int | None
    efa_interfaces: int
    local_nvme_bytes: int | None
    on_demand: Price
    spot: Price
    purchase_options: frozenset[str]
    """`onDemand`, `spot`, `reserved`, `capacityBlock`, `flexStart`, `queued`: what can be bought."""
    gke_accelerator_type: str | None
    """Google's name of the accelerator, `nvidia-l4`; None on AWS."""
    attachable: bool
    """N1 machines: the accelerator is attached, the machine size is free."""
    gpudirect: str | None
    """Google: TCPX, TCPXO, RDMA; None otherwise."""
    gke_partition_sizes: Mapping[str, int]
    """`gpu_partition_size` values GKE accepts here, with the partitions each yields per GPU."""
    spot_interruption: str | None
    """AWS spot advisor band, `5-10%`; None where not sourced."""
    notes: str
    source: Source


@dataclass(frozen=True, slots=True)
class Chart:
    """Pin of one Helm chart."""

    name: str
    version: str
    app_version: str
    repository: str
    """Where the vendor publishes it. `charts.source` replaces it."""
    namespace: str
    min_kubernetes: str
    source: Source


@dataclass(frozen=True, slots=True)
class NodeImage:
    """What a node image brings, so that nothing is installed twice."""

    key: str
    """`al2023-nvidia`, `bottlerocket-nvidia`, `cos`, `ubuntu`, ..."""
    platform: str
    """`eks`, `gke`, `vsphere`, `openshift`, `sandbox`."""
    architectures: tuple[str, ...]
    driver: bool
    """A GPU driver is in the image (or the platform installs it by itself)."""
    toolkit: bool
    device_plugin: bool
    efa: bool
    ami_types: Mapping[str, str]
    """EKS: architecture -> `amiType`."""
    notes: str
    source: Source


@dataclass(frozen=True, slots=True)
class Model:
    """Shape of one language model, from its published configuration."""

    name: str
    layers: int
    hidden: int
    query_heads: int
    kv_heads: int | None
    """None: multi-head latent attention, see `kv_bytes_per_token`."""
    head_dim: int | None
    intermediate: int
    vocabulary: int
    tied_embeddings: bool
    parameters: int
    active_parameters: int
    kv_bytes_per_token: int
    """BF16, whole model, full attention in every layer."""
    notes: str
    source: Source
