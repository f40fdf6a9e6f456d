"""Partition of the GPUs of one node, and the resources that the node advertises, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.catalogue.gpu import EVIDENCE_ORDER, Evidence
from gpufleet.partition.dra import DraCut
from gpufleet.partition.grant import Grant
from gpufleet.partition.placement import MigPlacement
from gpufleet.partition.profile_name import total
from gpufleet.partition.vgpu import VgpuCut


@dataclass(frozen=True, slots=True)
class GpuLayout:
    """Partition of one GPU of a node."""

    index: int
    """GPU index, as NVML and a mig-parted file count."""
    devices: Mapping[str, int]
    """Profile as declared (this GPU's own spelling, `1c.` prefixes kept) -> instances. Empty: the
    GPU stays whole, MIG off."""
    placement: MigPlacement | None
    """Proof with start slots; None for a whole GPU."""

    @property
    def mig_enabled(self) -> bool:
        """Whether the GPU is in MIG mode."""
        return self.placement is not None


@dataclass(frozen=True, slots=True)
class Partition:
    """The partition of every node of a pool: one declaration, from which everything is rendered."""

    mode: str
    """`exclusive`, `timeSlicing`, `mps`, `mig`, `vgpu` or `dra`."""
    gpu: str
    """Catalogue key of the GPU."""
    gpus: tuple[GpuLayout, ...]
    """Every GPU of the node, by index."""
    shares: tuple[Grant, ...]
    """Resources that pods can request, whole GPUs first, then profiles by name."""
    replicas: int
    """Shares per device through time-slicing or MPS; 1: none."""
    rename: bool
    """Whether shared resources carry the suffix `.shared`."""
    fail_requests_greater_than_one: bool
    """Whether a pod that requests several shares is refused."""
    advertised: Mapping[str, int]
    """Extended resource -> amount per node, exactly what the device plugin publishes. For a `dra`
    pool with `extendedResource`: provided by the scheduler, not in the node's status."""
    strategy: str = "none"
    """The device plugin's MIG strategy this needs: `none`, `single` or `mixed`."""
    fraction: Fraction = Fraction(1)
    """Share of a physical GPU each device of the node is."""
    dra: DraCut | None = None
    """Devices that the DRA driver serves; None in every other mode."""
    vgpu: VgpuCut | None = None
    """vGPUs that the hypervisor gives each machine; None in every other mode."""

    @property
    def mig_enabled(self) -> bool:
        """Whether any GPU is in MIG mode."""
        return any(gpu.mig_enabled for gpu in self.gpus)

    @property
    def slices(self) -> dict[str, int]:
        """MIG devices per node by declared profile, before time-slicing."""
        return total(gpu.devices for gpu in self.gpus)

    @property
    def free(self) -> dict[str, int]:
        """Further instances that would fit per node, each profile taken alone, over all GPUs."""
        return total(g.placement.free for g in self.gpus if g.placement is not None)

    @property
    def stranded_compute(self) -> int:
        """Compute slices no further instance could use, over the node's partitioned GPUs."""
        return sum(g.placement.stranded_compute for g in self.gpus if g.placement is not None)

    @property
    def stranded_memory(self) -> int:
        """Memory slots no further instance could use, over the node's partitioned GPUs."""
        return sum(g.placement.stranded_memory for g in self.gpus if g.placement is not None)

    @property
    def evidence(self) -> Evidence:
        """The weakest evidence of all placements; verified if nothing is partitioned."""
        known = [g.placement.evidence for g in self.gpus if g.placement is not None]
        return max(known, key=EVIDENCE_ORDER.index, default=Evidence.VERIFIED)
