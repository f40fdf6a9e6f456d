"""What a cluster offers and which pools fit now, as rows for people and programs."""

from collections.abc import Iterable
from typing import Any

from gpufleet.fleet import Pool
from gpufleet.nodes.vsphere.inventory import Host, Inventory, PerGpu
from gpufleet.nodes.vsphere.placement import Wish, place
from gpufleet.nodes.vsphere.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    GpuAttachment,
    SharedProfile,
)
from gpufleet.render.vsphere_node import gpu_attachment


def host_row(host: Host, per_gpu: PerGpu) -> dict[str, Any]:
    """One host: its state, its GPUs, and how many more machines with one of each kind fit.

    Memory is not counted here: how much a machine reserves is the pool's to say.
    """
    held = {
        address: holding.name
        for holding in host.holdings
        for address in (*holding.fixed, *holding.assigned)
    }
    return {
        "host": host.name,
        "connected": host.connected,
        "maintenance": host.maintenance,
        "freeMemoryGib": host.free_memory_mib // 1024,
        "gpus": [
            {
                "address": gpu.address,
                "name": gpu.name,
                "deviceId": gpu.device_id,
                "memoryGib": gpu.memory_mib // 1024,
                "passthrough": gpu.passthrough.value,
                "label": gpu.label,
                "graphicsType": gpu.graphics_type,
                "heldBy": held.get(gpu.address, ""),
            }
            for gpu in host.gpus
        ],
        "profiles": {profile: _free(host, profile, per_gpu) for profile in sorted(host.profiles)},
    }


def _free(host: Host, profile: str, per_gpu: PerGpu) -> int:
    """Machines with one vGPU of the profile that still fit; 0 when the host takes none."""
    wish = Wish(SharedProfile(mode="vgpu", profile=profile, count=1), 1, 1)
    (slots,) = place(Inventory((host,)), wish, per_gpu).slots
    return slots.free if slots.certain else 0


def pool_row(pool: Pool, inventory: Inventory, per_gpu: PerGpu) -> dict[str, Any]:
    """How many of a pool's machines find a place now, beside what already runs.

    Raises:
        ValueError: the pool is not one of vSphere's.
    """
    options = pool.spec.vsphere
    if options is None:
        raise ValueError(f"pool {pool.name} has no vsphere section")
    wish = Wish(
        _attachment(gpu_attachment(pool, options)),
        options.memory_gib * 1024,
        pool.nodes.minimum,
        options.hosts,
    )
    placement = place(inventory, wish, per_gpu)
    return {
        "pool": pool.name,
        "wanted": placement.wanted,
        "fit": len(placement.hosts),
        "hosts": list(placement.hosts),
        "refusal": "" if placement.complete else placement.refusal(),
        "upperBound": any(not slots.certain for slots in placement.slots),
    }


def _attachment(given: dict[str, Any]) -> GpuAttachment:
    kinds: dict[str, type[FixedPassthrough | DynamicPassthrough | SharedProfile]] = {
        "fixed": FixedPassthrough,
        "dynamic": DynamicPassthrough,
        "vgpu": SharedProfile,
    }
    return kinds[given["mode"]].model_validate(given)


def report(inventory: Inventory, pools: Iterable[Pool], per_gpu: PerGpu) -> dict[str, Any]:
    """`{"hosts": [...], "pools": [...]}`. Each pool is judged alone: two may want the same GPU."""
    return {
        "hosts": [host_row(host, per_gpu) for host in inventory.hosts],
        "pools": [
            pool_row(pool, inventory, per_gpu) for pool in pools if pool.spec.vsphere is not None
        ],
    }
