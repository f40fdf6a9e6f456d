"""What the GPUs of one node of a pool are cut into, and what the node then advertises."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import EVIDENCE_ORDER, Evidence, Gpu
from gpufleet.findings import Finding, has_errors
from gpufleet.partition import names, rules
from gpufleet.partition.layouts import lay_out
from gpufleet.partition.placement import Placement
from gpufleet.partition.shares import (
    RESOURCES,
    mps_memory,
    mps_threads_percent,
    shared_name,
    slice_memory,
)
from gpufleet.spec.sharing import Mig, Mps, Sharing, TimeSlicing


@dataclass(frozen=True, slots=True)
class GpuLayout:
    """What one GPU of a node is cut into."""

    index: int
    """GPU index, as NVML and a mig-parted file count."""
    devices: Mapping[str, int]
    """Profile as declared (this GPU's own spelling, `1c.` prefixes kept) -> instances. Empty: the
    GPU stays whole, MIG off."""
    placement: Placement | None
    """Proof with start slots; None for a whole GPU."""

    @property
    def mig_enabled(self) -> bool:
        """Whether the GPU is in MIG mode."""
        return self.placement is not None


@dataclass(frozen=True, slots=True)
class Share:
    """What one pod asks for, and what it gets."""

    resource: str
    """Extended resource name, exactly as the node publishes it."""
    quantity: int
    """How many a pod asks for: 1. More of a replicated resource gives nothing more."""
    per_node: int
    """How many the node advertises."""
    profile: str | None
    """MIG profile behind the resource, None for whole or time-sliced whole GPUs."""
    replicas: int
    """How many shares each device (GPU or slice) is divided into; 1: not divided."""
    memory_bytes: int | None
    """Usable memory of one share in bytes: of the whole device when exclusive, an enforced limit
    under MPS, an even part that nothing enforces under time-slicing. None where not sourced."""
    threads_percent: int = 100
    """MPS: most active threads of one client, percent of the GPU."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The partition of every node of a pool: one declaration, from which everything is rendered."""

    mode: str
    """`exclusive`, `timeSlicing`, `mps` or `mig`."""
    strategy: str
    """The device plugin's MIG strategy this needs: `none`, `single` or `mixed`."""
    gpu: str
    """Catalogue key of the GPU."""
    fraction: Fraction
    """Share of a physical GPU each device of the node is."""
    gpus: tuple[GpuLayout, ...]
    """Every GPU of the node, by index."""
    replicas: int
    """Shares per device through time-slicing or MPS; 1: none."""
    rename: bool
    """Whether shared resources carry the suffix `.shared`."""
    fail_requests_greater_than_one: bool
    """Whether a pod that asks for several shares is refused."""
    shares: tuple[Share, ...]
    """What can be asked for, whole GPUs first, then profiles by name."""
    advertised: Mapping[str, int]
    """Extended resource -> amount per node, exactly what the device plugin publishes."""

    @property
    def mig_enabled(self) -> bool:
        """Whether any GPU is in MIG mode."""
        return any(gpu.mig_enabled for gpu in self.gpus)

    @property
    def whole_gpus(self) -> int:
        """GPUs of the node without MIG."""
        return sum(not gpu.mig_enabled for gpu in self.gpus)

    @property
    def slices(self) -> dict[str, int]:
        """MIG devices per node by declared profile, before time-slicing."""
        return names.total(gpu.devices for gpu in self.gpus)

    @property
    def free(self) -> dict[str, int]:
        """Further instances that would fit per node, each profile taken alone, over all GPUs."""
        return names.total(g.placement.free for g in self.gpus if g.placement is not None)

    @property
    def free_memory_slots(self) -> int:
        """Memory slots no instance uses, over the node's partitioned GPUs."""
        return sum(g.placement.unused_memory for g in self.gpus if g.placement is not None)

    @property
    def free_compute_slices(self) -> int:
        """Compute slices no instance uses, over the node's partitioned GPUs."""
        return sum(g.placement.unused_compute for g in self.gpus if g.placement is not None)

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
        """The weakest evidence of any placement; verified when nothing is partitioned."""
        known = [g.placement.evidence for g in self.gpus if g.placement is not None]
        return max(known, key=EVIDENCE_ORDER.index, default=Evidence.VERIFIED)

    @property
    def schedulable(self) -> int:
        """Pods of one share each that fit on a node, over all resources."""
        return sum(self.advertised.values())


def cut(
    gpu: Gpu,
    gpus_per_node: int,
    sharing: Sharing,
    path: str,
    fraction: Fraction = Fraction(1),
    *,
    device_memory_bytes: int | None = None,
) -> tuple[Partition | None, tuple[Finding, ...]]:
    """Work out what every node of a pool advertises, and everything that is wrong with it.

    `gpus_per_node` counts devices the operating system sees, at least 1. `path` is where the
    sharing stands in the declaration (`pools[2].sharing`). `fraction` is the share of a physical
    GPU each device is (g6f, small g4 machines); `device_memory_bytes` overrides the memory of one
    device, by default that share of the GPU's memory. The partition is None exactly when a finding
    is an error.
    """
    if gpus_per_node < 1:
        raise ValueError(f"gpus_per_node is {gpus_per_node}, a node of a GPU pool has at least 1")
    memory = device_memory_bytes
    if memory is None and gpu.memory_bytes is not None:
        memory = gpu.memory_bytes * fraction.numerator // fraction.denominator
    findings = rules.check(gpu, sharing, path, fraction, memory)
    if has_errors(findings):
        return None, tuple(findings)

    if sharing.mig is not None:
        cuts, found = lay_out(gpu, gpus_per_node, sharing.mig, f"{path}.mig")
        findings += found
        if has_errors(found):
            return None, tuple(findings)
        gpus = tuple(GpuLayout(i, devices, proof) for i, (devices, proof) in enumerate(cuts))
        return _partitioned(gpu, gpus, sharing.mig, memory), tuple(findings)

    whole = tuple(GpuLayout(index, frozen({}), None) for index in range(gpus_per_node))
    sliced = sharing.time_slicing or sharing.mps
    replicas = sliced.replicas if sliced is not None else 1
    rename = sliced.rename if sliced is not None else False
    share = _whole_share(gpu, gpus_per_node, sliced, memory)
    partition = Partition(
        mode=sharing.mode,
        strategy="none",
        gpu=gpu.key,
        fraction=fraction,
        gpus=whole,
        replicas=replicas,
        rename=rename,
        # MPS refuses such requests in any case.
        fail_requests_greater_than_one=(
            sharing.time_slicing.fail_requests_greater_than_one
            if sharing.time_slicing is not None
            else sharing.mps is not None
        ),
        shares=(share,),
        advertised=frozen({share.resource: share.per_node}),
    )
    return partition, tuple(findings)


def _whole_share(
    gpu: Gpu, count: int, sliced: TimeSlicing | Mps | None, memory: int | None
) -> Share:
    """A whole GPU, or a turn on one."""
    resource = RESOURCES[gpu.vendor]
    if sliced is None:
        return Share(resource, 1, count, None, 1, memory)
    replicas = sliced.replicas
    name = shared_name(resource, replicas, sliced.rename)
    if isinstance(sliced, Mps):
        limit = None if memory is None else mps_memory(memory, replicas)
        threads = mps_threads_percent(replicas)
        return Share(name, 1, count * replicas, None, replicas, limit, threads)
    each = None if memory is None else memory // replicas
    return Share(name, 1, count * replicas, None, replicas, each)


def _partitioned(gpu: Gpu, gpus: tuple[GpuLayout, ...], mig: Mig, memory: int | None) -> Partition:
    """MIG: one resource per profile under mixed, `nvidia.com/gpu` for all of them under single."""
    # Where nothing was cut there is nothing to slice, and the node needs no strategy.
    slicing = mig.time_slicing if any(layout.mig_enabled for layout in gpus) else None
    replicas = slicing.replicas if slicing is not None else 1
    rename = slicing is not None and slicing.rename
    whole = sum(not layout.mig_enabled for layout in gpus)
    shares: list[Share] = []
    if whole:
        # Whole GPUs beside MIG keep their name and are not shared: only slices were asked to be.
        shares.append(Share(RESOURCES["nvidia"], 1, whole, None, 1, memory))
    for profile, count in names.total(layout.devices for layout in gpus).items():
        single = mig.strategy == "single"
        resource = RESOURCES["nvidia"] if single else names.resource_of(profile)
        device = slice_memory(gpu, names.gpu_instance_of(profile))
        if device is not None:
            device //= names.tenants(profile, gpus_devices=(g.devices for g in gpus))
        shares.append(
            Share(
                shared_name(resource, replicas, rename),
                1,
                count * replicas,
                profile,
                replicas,
                None if device is None else device // replicas,
            )
        )
    return Partition(
        mode="mig",
        strategy=mig.strategy.value if whole < len(gpus) else "none",
        gpu=gpu.key,
        fraction=Fraction(1),
        gpus=gpus,
        replicas=replicas,
        rename=rename,
        fail_requests_greater_than_one=(
            slicing is not None and slicing.fail_requests_greater_than_one
        ),
        shares=tuple(shares),
        advertised=frozen({share.resource: share.per_node for share in shares}),
    )
