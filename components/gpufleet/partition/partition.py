"""What the GPUs of one node of a pool are cut into, and what the node then advertises."""

from fractions import Fraction

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, has_errors
from gpufleet.partition import dra, names, rules, vgpu
from gpufleet.partition.dra_needs import FindGpu
from gpufleet.partition.layouts import lay_out
from gpufleet.partition.model import GpuLayout, Partition, PartitionShare
from gpufleet.partition.presets import resolve_presets
from gpufleet.partition.shares import (
    MIB,
    RESOURCES,
    mps_memory,
    mps_threads_percent,
    shared_name,
    slice_memory,
)
from gpufleet.spec.sharing import Dra, Mig, Mps, Sharing, TimeSlicing, Vgpu

__all__ = ["GpuLayout", "Partition", "PartitionShare", "cut"]


def cut(
    gpu: Gpu,
    gpus_per_node: int,
    sharing: Sharing,
    path: str,
    fraction: Fraction = Fraction(1),
    *,
    device_memory_bytes: int | None = None,
    find_gpu: FindGpu | None = None,
) -> tuple[Partition | None, tuple[Finding, ...]]:
    """Work out what every node of a pool advertises, and everything that is wrong with it.

    `gpus_per_node` counts devices the operating system sees, at least 1. `path` is where the
    sharing is in the declaration (`pools[2].sharing`). `fraction` is the share of a physical
    GPU each device is (g6f, small g4 machines); `device_memory_bytes` overrides the memory of one
    device, by default that share of the GPU's memory. `find_gpu` knows the products that claims
    name; without it they are not read. The partition is None exactly when a finding is an error.
    """
    if gpus_per_node < 1:
        raise ValueError(f"gpus_per_node is {gpus_per_node}, a node of a GPU pool has at least 1")
    memory = device_memory_bytes
    if memory is None and gpu.memory_bytes is not None:
        memory = gpu.memory_bytes * fraction.numerator // fraction.denominator
    sharing, unresolved = resolve_presets(gpu, sharing, path)
    findings = [*rules.check(gpu, sharing, path, fraction, memory), *unresolved]
    if has_errors(findings):
        return None, tuple(findings)

    if sharing.mig is not None:
        cuts, found = lay_out(gpu, gpus_per_node, sharing.mig, f"{path}.mig")
        findings += found
        if has_errors(found):
            return None, tuple(findings)
        gpus = tuple(GpuLayout(i, devices, proof) for i, (devices, proof) in enumerate(cuts))
        return _partitioned(gpu, gpus, sharing.mig, memory), tuple(findings)

    if sharing.dra is not None:
        partition, found = _dynamic(
            gpu, gpus_per_node, sharing.dra, path, fraction, memory, find_gpu
        )
        return partition, (*findings, *found)
    if sharing.vgpu is not None:
        partition, found = _virtual(gpu, gpus_per_node, sharing.vgpu, path)
        return partition, (*findings, *found)

    whole = _whole_gpus(gpus_per_node)
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


def _whole_gpus(count: int) -> tuple[GpuLayout, ...]:
    return tuple(GpuLayout(index, frozen({}), None) for index in range(count))


def _dynamic(
    gpu: Gpu,
    count: int,
    declared: Dra,
    path: str,
    fraction: Fraction,
    memory: int | None,
    find_gpu: FindGpu | None,
) -> tuple[Partition | None, list[Finding]]:
    """Resource claims: what the DRA driver serves, and what a claim for each kind of it gets."""
    found = dra.cut(gpu, count, declared, f"{path}.dra", memory, fraction, find_gpu)
    if has_errors(found.findings):
        return None, found.findings
    clients = found.cut.clients
    shares = tuple(
        PartitionShare(
            resource=offer.extended_resource or offer.device_class,
            quantity=1,
            per_node=offer.per_node * clients,
            profile=offer.profile,
            replicas=clients,
            memory_bytes=found.cut.sharing.client_memory(offer.memory_bytes),
            threads_percent=found.cut.sharing.threads_percent,
            device_class=offer.device_class,
        )
        for offer in found.cut.offers
    )
    partition = Partition(
        mode="dra",
        strategy="none",
        gpu=gpu.key,
        fraction=fraction,
        gpus=tuple(GpuLayout(i, devices, proof) for i, (devices, proof) in enumerate(found.gpus)),
        # The device plugin shares nothing: the clients of a claim are the driver's business.
        replicas=1,
        rename=False,
        fail_requests_greater_than_one=False,
        shares=shares,
        advertised=frozen({s.resource: s.per_node for s in shares if declared.extended_resource}),
        dra=found.cut,
    )
    return partition, found.findings


def _virtual(
    gpu: Gpu, count: int, declared: Vgpu, path: str
) -> tuple[Partition | None, list[Finding]]:
    """vGPU: the guest sees whole devices of the profile's size."""
    made, findings = vgpu.cut(gpu, count, declared, f"{path}.vgpu")
    if made is None:
        return None, findings
    slicing = declared.time_slicing
    replicas = slicing.replicas if slicing is not None else 1
    rename = slicing is not None and slicing.rename
    share = PartitionShare(
        shared_name(RESOURCES["nvidia"], replicas, rename),
        1,
        count * replicas,
        None,
        replicas,
        made.memory_bytes // replicas,
    )
    partition = Partition(
        mode="vgpu",
        strategy="none",
        gpu=gpu.key,
        fraction=made.fraction,
        gpus=_whole_gpus(count),
        replicas=replicas,
        rename=rename,
        fail_requests_greater_than_one=slicing is not None
        and slicing.fail_requests_greater_than_one,
        shares=(share,),
        advertised=frozen({share.resource: share.per_node}),
        vgpu=made,
    )
    return partition, findings


def _whole_share(
    gpu: Gpu, count: int, sliced: TimeSlicing | Mps | None, memory: int | None
) -> PartitionShare:
    """A whole GPU, or a turn on one."""
    resource = RESOURCES[gpu.vendor]
    if sliced is None:
        return PartitionShare(resource, 1, count, None, 1, memory)
    replicas = sliced.replicas
    name = shared_name(resource, replicas, sliced.rename)
    if isinstance(sliced, Mps):
        limit = None if memory is None else mps_memory(memory, replicas)
        if sliced.pinned_memory_mib is not None:
            limit = sliced.pinned_memory_mib * MIB
        threads = sliced.active_thread_percentage or mps_threads_percent(replicas)
        return PartitionShare(name, 1, count * replicas, None, replicas, limit, threads)
    each = None if memory is None else memory // replicas
    return PartitionShare(name, 1, count * replicas, None, replicas, each)


def _partitioned(gpu: Gpu, gpus: tuple[GpuLayout, ...], mig: Mig, memory: int | None) -> Partition:
    """MIG: one resource per profile under mixed, `nvidia.com/gpu` for all of them under single."""
    # Where nothing was cut there is nothing to slice, and the node needs no strategy.
    slicing = mig.time_slicing if any(layout.mig_enabled for layout in gpus) else None
    replicas = slicing.replicas if slicing is not None else 1
    rename = slicing is not None and slicing.rename
    whole = sum(not layout.mig_enabled for layout in gpus)
    shares: list[PartitionShare] = []
    if whole:
        # Whole GPUs next to MIG keep their name and are not shared: only slices were asked to be.
        shares.append(PartitionShare(RESOURCES["nvidia"], 1, whole, None, 1, memory))
    for profile, count in names.total(layout.devices for layout in gpus).items():
        single = mig.strategy == "single"
        resource = RESOURCES["nvidia"] if single else names.resource_of(profile)
        device = slice_memory(gpu, names.gpu_instance_of(profile))
        if device is not None:
            device //= names.tenants(profile, gpus_devices=(g.devices for g in gpus))
        shares.append(
            PartitionShare(
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
