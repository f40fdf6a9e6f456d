"""What a cluster offers and which pools fit now, as rows for people and programs, asked outside a
deployment."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyVmomi import vim

from gpufleet.fleet import Pool
from gpufleet.platforms.vsphere.machine_arguments import (
    gpu_attachment,
    options_of,
    own_inputs,
    pool_machines,
)
from gpufleet.platforms.vsphere.vcenter.inventory import Host, Inventory, read_inventory
from gpufleet.platforms.vsphere.vcenter.lookup import by_name
from gpufleet.platforms.vsphere.vcenter.opened import asked
from gpufleet.platforms.vsphere.vcenter.placement import Wish, place
from gpufleet.platforms.vsphere.vcenter.settings import (
    ATTACHMENT,
    GpuAttachment,
    SharedProfile,
)
from gpufleet.platforms.vsphere.vcenter.vgpu_readiness import HostSetup, read_setups, vgpu_readiness


def host_row(host: Host) -> dict[str, Any]:
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
        "profiles": {profile: _free(host, profile) for profile in sorted(host.profiles)},
    }


def _free(host: Host, profile: str) -> int:
    """Machines with one vGPU of the profile that still fit; 0 when the host takes none."""
    wish = Wish(SharedProfile(mode="vgpu", profile=profile, count=1), 1, 1)
    (slots,) = place(Inventory((host,)), wish).slots
    return slots.free if slots.certain else 0


def pool_row(pool: Pool, inventory: Inventory, name_prefix: str) -> dict[str, Any]:
    """How many of a pool's machines are there or find a place now, next to what already runs.

    A machine that carries our marks and the name of one of the pool's is the pool's.
    """
    options = options_of(pool)
    machines = pool_machines(name_prefix, pool)
    running = {
        held.name: host.name for host in inventory.hosts for held in host.holdings if held.group
    }
    there = {item.name: running[item.name] for item in machines if item.name in running}
    kinds: dict[tuple[GpuAttachment, tuple[str, ...]], int] = {}
    for item in machines:
        if item.name not in there:
            gpu = own_inputs(item, pool).get("gpu") or gpu_attachment(pool)
            kind = (ATTACHMENT.validate_python(gpu), item.hosts or options.hosts)
            kinds[kind] = kinds.get(kind, 0) + 1
    placements = [
        place(
            inventory,
            Wish(
                gpu,
                options.memory_gib * 1024,
                count,
                hosts,
                options.deny_hosts,
                at_most_per_host=options.max_per_host,
                group=_group_of(inventory, there),
                nics=options.nics,
            ),
        )
        for (gpu, hosts), count in kinds.items()
    ]
    return {
        "pool": pool.name,
        "wanted": len(machines),
        "running": len(there),
        "fit": len(there) + sum(len(placement.hosts) for placement in placements),
        "hosts": [*there.values(), *(host for p in placements for host in p.hosts)],
        "refusal": "; ".join(p.refusal() for p in placements if not p.complete),
        "upperBound": any(not slots.certain for p in placements for slots in p.slots),
    }


def _group_of(inventory: Inventory, there: Mapping[str, str]) -> str:
    """Owner of the group that the pool's machines are in; empty before there is one."""
    groups = {
        held.group
        for host in inventory.hosts
        for held in host.holdings
        if held.group and held.name in there
    }
    return min(groups, default="")


def vgpu_rows(
    inventory: Inventory, setups: Mapping[str, HostSetup], wanted: Sequence[str]
) -> list[dict[str, Any]]:
    """Each host with every condition of vGPUs, and what is known of it."""
    return [
        {
            "host": host.name,
            "checks": [
                {"check": one.check, "state": one.state.value, "found": one.found, "fix": one.fix}
                for one in vgpu_readiness(host, setups[host.id], wanted)
            ],
        }
        for host in inventory.hosts
        if host.id in setups
    ]


def report(inventory: Inventory, pools: Iterable[Pool], name_prefix: str) -> dict[str, Any]:
    """`{"hosts": [...], "pools": [...]}`. Each pool is validated alone: two may want the same
    GPU."""
    return {
        "hosts": [host_row(host) for host in inventory.hosts],
        "pools": [
            pool_row(pool, inventory, name_prefix)
            for pool in pools
            if pool.spec.vsphere is not None
        ],
    }


def ask_inventory(
    endpoint: Mapping[str, Any],
    datacenter: str,
    cluster: str,
    pools: Iterable[Pool],
    name_prefix: str = "gpu",
) -> dict[str, Any]:
    """Hosts of the cluster and which pools fit now; only reads.

    Args:
        endpoint: Fields of `Endpoint`, camelCase.
        datacenter: Name or inventory path.
        cluster: Name or inventory path of a cluster or standalone host.
        pools: Pools to validate, each alone.
        name_prefix: First part of the names of their machines, by which those that exist are known.

    Raises:
        VsphereError: the vCenter cannot be asked, or a name is not found.
    """
    with asked(endpoint, datacenter, f"reading {cluster}") as (session, center):
        compute = by_name(session, center, vim.ComputeResource, cluster, "cluster")
        found, declared = read_inventory(session, center, compute), tuple(pools)
        answer = report(found, declared, name_prefix)
        wanted = [
            pool.partition.vgpu.type.vcenter for pool in declared if pool.partition.vgpu is not None
        ]
        if wanted:
            answer["vgpu"] = vgpu_rows(found, read_setups(session, compute), wanted)
        return answer
