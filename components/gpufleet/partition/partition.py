"""Partition of the GPUs of one node of a pool, and the resources that the node advertises."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, has_errors
from gpufleet.partition import dra, rules, vgpu
from gpufleet.partition.dra_needs import FindGpu
from gpufleet.partition.grant import UNDIVIDED, Division, Grant, grant
from gpufleet.partition.layouts import lay_out
from gpufleet.partition.model import GpuLayout, Partition
from gpufleet.partition.presets import resolve_presets
from gpufleet.partition.profile_name import tenants, total
from gpufleet.partition.shares import MIB, RESOURCES
from gpufleet.spec.sharing import Dra, Mig, MigStrategy, Mps, Sharing, TimeSlicing, Vgpu

__all__ = ["GpuLayout", "Partition", "cut"]


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
    """Compute the resources that every node of a pool advertises, and all findings about them.

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

    sliced = sharing.time_slicing or sharing.mps
    share = grant(gpu, gpus_per_node, device_bytes=memory, division=_division(sliced))
    whole = _whole_gpus(gpus_per_node)
    partition = _made(sharing.mode, gpu, whole, [share], sliced, fraction=fraction)
    return partition, tuple(findings)


def _made(
    mode: str,
    gpu: Gpu,
    gpus: tuple[GpuLayout, ...],
    shares: Sequence[Grant],
    sliced: TimeSlicing | Mps | None = None,
    **own: Any,
) -> Partition:
    """The partition whose devices are shared so. `own`: fields that differ from their default."""
    division = _division(sliced)
    fields: dict[str, Any] = {
        "advertised": frozen({share.resource: share.per_node for share in shares}),
        **own,
    }
    return Partition(
        mode=mode,
        gpu=gpu.key,
        gpus=gpus,
        shares=tuple(shares),
        replicas=division.replicas,
        rename=division.rename,
        # MPS refuses such requests in any case.
        fail_requests_greater_than_one=sliced is not None
        and (isinstance(sliced, Mps) or sliced.fail_requests_greater_than_one),
        **fields,
    )


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
    """Resource claims: devices of the DRA driver, and the grant of a claim for each kind."""
    found = dra.cut(gpu, count, declared, f"{path}.dra", memory, fraction, find_gpu)
    if has_errors(found.findings):
        return None, found.findings
    clients = found.cut.sharing.division
    shares = tuple(
        grant(
            gpu,
            offer.per_node,
            profile=offer.profile,
            resource=offer.extended_resource or offer.device_class,
            device_bytes=offer.memory_bytes,
            division=clients,
            device_class=offer.device_class,
        )
        for offer in found.cut.offers
    )
    # The device plugin shares nothing: the clients of a claim are the driver's business.
    partition = _made(
        "dra",
        gpu,
        tuple(GpuLayout(i, devices, proof) for i, (devices, proof) in enumerate(found.gpus)),
        shares,
        fraction=fraction,
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
    share = grant(gpu, count, device_bytes=made.memory_bytes, division=_division(slicing))
    whole = _whole_gpus(count)
    partition = _made("vgpu", gpu, whole, [share], slicing, fraction=made.fraction, vgpu=made)
    return partition, findings


def _division(sliced: TimeSlicing | Mps | None) -> Division:
    """Declared sharing of each device."""
    if sliced is None:
        return UNDIVIDED
    if not isinstance(sliced, Mps):
        return Division(sliced.replicas, rename=sliced.rename)
    pinned = sliced.pinned_memory_mib
    return Division(
        sliced.replicas,
        is_mps=True,
        rename=sliced.rename,
        limit_bytes=None if pinned is None else pinned * MIB,
        threads_percent=sliced.active_thread_percentage,
    )


def _partitioned(gpu: Gpu, gpus: tuple[GpuLayout, ...], mig: Mig, memory: int | None) -> Partition:
    """MIG: one resource per profile under mixed, `nvidia.com/gpu` for all of them under single."""
    # Without MIG devices nothing can be time-sliced, and the node needs no strategy.
    slicing = mig.time_slicing if any(layout.mig_enabled for layout in gpus) else None
    division = _division(slicing)
    whole = sum(not layout.mig_enabled for layout in gpus)
    shares: list[Grant] = []
    if whole:
        # Whole GPUs next to MIG keep their name and are not shared: sharing is for slices only.
        shares.append(grant(gpu, whole, device_bytes=memory))
    single = mig.strategy is MigStrategy.SINGLE
    shares += [
        grant(
            gpu,
            count,
            profile=profile,
            resource=RESOURCES["nvidia"] if single else None,
            tenants=tenants(profile, gpus_devices=(g.devices for g in gpus)),
            division=division,
        )
        for profile, count in total(layout.devices for layout in gpus).items()
    ]
    strategy = mig.strategy.value if whole < len(gpus) else "none"
    return _made("mig", gpu, gpus, shares, slicing, strategy=strategy)
