"""Types of the GPU table: boards, their partitions, and the evidence of both.

Units: memory is integer bytes, rates are per second. Marketing figures keep the unit in their name
(`nominal_gb`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gpufleet.catalogue.driver_support import GenerationSupport, GpuSupport
from gpufleet.catalogue.frozen import FrozenDict
from gpufleet.catalogue.source import Source


class Evidence(StrEnum):
    """Evidence of a MIG placement. Every result that depends on it has it."""

    VERIFIED = "verified"
    """Seen in real nvidia-smi output, or in two NVIDIA tables that agree."""
    PARTLY_VERIFIED = "partly-verified"
    """One emulator table, consistent with a published hardware session."""
    INFERRED = "inferred"
    """From the geometry that all published parts of this kind share; no output of this board."""


EVIDENCE_ORDER = (Evidence.VERIFIED, Evidence.PARTLY_VERIFIED, Evidence.INFERRED)
"""Strongest first: the weakest of several is the one furthest to the right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigProfile:
    """One GPU instance profile of one GPU: its size and its possible start slots."""

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
    usable_bytes: int | None = None
    """Memory column of `nvidia-smi mig -lgip`; None: not sourced."""
    multiprocessors: int | None = None
    """Streaming multiprocessors; None: not sourced."""
    engines: Mapping[str, int | None] = field(
        default_factory=FrozenDict[str, "int | None"], hash=False
    )
    """Media and copy engines by name: copy, nvdec, nvenc, jpeg, ofa. None, or an empty mapping: not
    sourced."""
    evidence: Evidence
    """Evidence of the placement, from the sources in `source`."""
    source: Source
    min_driver: str | None = None
    profile_id: int | None = None
    """Id in `nvidia-smi mig -lgip` (not the NVML enumeration)."""
    figures_source: str | None = None
    """Source of the memory, multiprocessor and engine figures; None: `source`."""
    notes: str = ""

    @property
    def attributes(self) -> frozenset[str]:
        """Suffixes after the memory in the name: `+me`, `+gfx`, `+me.all`, `-me`."""
        for sign in "+-":
            _, found, tail = self.name.partition(sign)
            if found:
                return frozenset(sign + attribute for attribute in tail.split(","))
        return frozenset()

    @property
    def resource(self) -> str:
        """Extended resource under the mixed strategy: `nvidia.com/mig-1g.10gb.me`."""
        return f"nvidia.com/mig-{self.label}"

    @property
    def label(self) -> str:
        """The profile as labels and resource names spell it: `+` becomes a dot."""
        return self.name.replace("+", ".").replace(",", ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class MigGeometry:
    """MIG profiles and layouts of one GPU."""

    compute_slices: int
    memory_slots: int
    profiles: Mapping[str, MigProfile] = field(hash=False)
    """Profiles by name, smallest first."""
    balanced: Mapping[str, int] = field(hash=False)
    """The layout mig-parted's `all-balanced` gives this GPU."""
    evidence: Evidence
    """The weakest evidence among the profiles."""
    reset_needed: bool
    """Whether switching MIG mode needs a GPU reset (Ampere) rather than only an idle GPU."""
    alternate_names: Mapping[str, str] = field(default_factory=FrozenDict[str, str], hash=False)
    """Names some boards or drivers report for the same profile -> our name."""
    source: Source
    shape: str = ""
    """Compute slices x memory slots: GPUs of one shape have equal placements."""
    min_driver: str | None = None
    """Oldest driver (branch) that offers MIG on this GPU; None: not sourced."""
    known: str = ""
    """Basis of the evidence, in words; it can differ between names, sizes and placements."""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Rates:
    """Dense peak rates of one board; None where the board cannot do it or it was not sourced."""

    memory_bandwidth: int | None
    """Bytes per second."""
    tf32: int | None
    """Dense operations per second, like all of the following."""
    bf16: int | None
    fp16: int | None
    fp8: int | None
    int8: int | None
    fp4: int | None
    tdp_watts: int | None = None
    nvlink_bytes_per_second: int = 0
    """Both directions together; 0 without NVLink."""
    nvlink_bridge: bool = False
    """NVLink only where a bridge joins two boards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePower:
    """Power of one GPU while nothing runs on it, as nvidia-smi shows it; None: not sourced."""

    watts: int | None = None
    """Power with MIG mode off."""
    mig_watts: int | None = None
    """Power with MIG mode on."""
    source: Source
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VgpuBoard:
    """The vGPU types of one GPU, which a hypervisor can assign to machines."""

    names: tuple[str, ...]
    """Prefixes of type names, in NVIDIA's spelling: `A100D`, `RTX6000-Ada`."""
    types: Mapping[str, int] = field(hash=False)
    """End of the type name, `20C`, `3-40C` or `1-10CME` -> maximum number of vGPUs on one GPU if
    all are of that type. Series that the table lacks have no entry."""
    source: Source
    printed: str = ""
    """Prefix that nvidia-smi prints before the name: `RTX Pro 6000 Blackwell `. Default: empty."""
    mixed_size: Mapping[int, int] | None = field(default=None, hash=False)
    """Maximum number of vGPUs of a size where the host allows mixed sizes, for the sizes that lose
    some. Empty: the GPU cannot mix sizes. None: not sourced."""
    users: Mapping[str, tuple[str, ...]] = field(
        default_factory=FrozenDict[str, tuple[str, ...]], hash=False
    )
    """Class of user (`light`, `medium`, `heavy`) -> types that NVIDIA recommends for it on RTX
    vWS. Empty: not sourced."""
    notes: str = ""

    @property
    def time_sliced(self) -> Mapping[int, int]:
        """Time-sliced compute types: frame buffer in GB -> maximum number on one GPU."""
        return {
            int(n[:-1]): most for n, most in self.types.items() if n[:-1].isdigit() and "C" in n
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU model, or another vendor's accelerator, as the fleet names it."""

    key: str
    """Name in specs, commands and findings: `A100-80GB`, `L4`, `H100-80GB`."""
    name: str
    """Name for readers: `NVIDIA A100 80 GB`."""
    vendor: str
    """`nvidia`, `amd`, `aws`, `google`, `habana`, `qualcomm`, `xilinx`."""
    architecture: str
    """`ampere`, `hopper`, `ada-lovelace`, `blackwell`, ... in the spelling of GFD's gpu.family; for
    other vendors the product line."""
    compute_capability: tuple[int, int] | None
    nominal_gb: int | None = None
    """Marketing size; None: not sourced."""
    memory_bytes: int | None
    """Memory that the driver reports; None: not sourced."""
    product_names: tuple[str, ...] = ()
    """Names of the boards in NVML; GFD's label is the first one, with hyphens for spaces."""
    pci_device_ids: tuple[str, ...]
    """Device and vendor, `0x20B210DE`, as a mig-parted device filter wants them."""
    rates: Mapping[str, Rates] = field(hash=False)
    """Rates by board (`sxm`, `pcie`, `nvl`, ...); the first is that of cloud instances. Empty: not
    sourced."""
    tdp_watts: int | None
    """Power limit of the first board, in watts."""
    nvlink_bytes_per_second: int
    """NVLink rate of the first board, both directions together; 0 without NVLink."""
    mig: MigGeometry | None
    """None: no MIG, unless `mig_unknown` says that it exists."""
    mps_max_clients: int
    """Maximum number of MPS clients the device plugin accepts on this GPU; 0: MPS unsupported."""
    source: Source
    mig_unknown: str | None = None
    """Set when the hardware has MIG but its placements are not published: the reason. No layout can
    be proven then, and none may be assumed."""
    mig_published: Mapping[str, int | None] = field(
        default_factory=FrozenDict[str, "int | None"], hash=False
    )
    """With `mig_unknown`: profile name -> maximum number of instances (None: not sourced)."""
    pci_boards: Mapping[str, str] = field(default_factory=FrozenDict[str, str], hash=False)
    """PCI device id -> the board that has it."""
    vgpu: VgpuBoard | None = None
    """vGPU types of the GPU; None: not sourced."""
    idle: IdlePower | None = None
    """Power without work; None: not sourced, which differs from 0."""
    generation: GenerationSupport | None = None
    """Drivers and CUDA of its compute capability; None: not sourced."""
    support: GpuSupport | None = None
    """First driver and first GPU Operator for it; None: not sourced."""
    confidential: bool = False
    """Whether NVIDIA supports it in confidential computing: whole, passed through to one VM."""
    cores: int | None = None
    """Neuron: cores of one device, which pods can request one by one. None for other vendors."""
    aliases: tuple[str, ...] = ()
    """Other names `Catalogue.find_gpu` understands: clouds' accelerator types, short forms."""
    karpenter_name: str | None = None
    """Value of Karpenter's label `karpenter.k8s.aws/instance-gpu-name`, without the memory, so both
    A100 have one. None for GPUs that no machine of AWS has, and for other vendors."""
    notes: str = ""

    @property
    def product_label(self) -> str:
        """Value of `nvidia.com/gpu.product` on a node with whole, unshared GPUs."""
        return (self.product_names[0] if self.product_names else self.name).replace(" ", "-")

    @property
    def kernel_modules(self) -> str | None:
        """`open` or `proprietary` if only these support it, `either`, or None: unknown."""
        if self.support is not None and self.support.kernel_modules is not None:
            return self.support.kernel_modules
        return None if self.generation is None else self.generation.kernel_modules

    def idle_watts(self, *, mig: bool) -> int | None:
        """Watts without work, in MIG mode or not; None: unknown."""
        return None if self.idle is None else self.idle.mig_watts if mig else self.idle.watts

    @property
    def has_mig(self) -> bool:
        """Whether the hardware has MIG, with known placements or without."""
        return self.mig is not None or self.mig_unknown is not None
