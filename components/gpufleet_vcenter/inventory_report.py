"""What a cluster offers and which pools fit now, as rows for people and programs, asked outside a
deployment."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyVmomi import vim

from gpufleet_vcenter.inventory import Host, Inventory, read_inventory
from gpufleet_vcenter.lookup import by_name
from gpufleet_vcenter.opened import asked, read_settings
from gpufleet_vcenter.placement import places
from gpufleet_vcenter.settings import NodeSettings, SharedProfile
from gpufleet_vcenter.slots import profile_slots, uses
from gpufleet_vcenter.vgpu_readiness import read_setups, vgpu_readiness

Machines = Sequence[Mapping[str, Any]]
"""Inputs of each machine of a pool, in the spelling of `VsphereGpuNode`."""


def host_row(host: Host) -> dict[str, Any]:
    """One host: its state, its GPUs, and how many more machines with one of each kind fit.

    Memory is not counted here: how much a machine reserves is the pool's to say.
    """
    held = uses(host).passthrough
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
    free, _, certain = profile_slots(host, profile, 1)
    return free if certain and host.connected and not host.maintenance else 0


def pool_row(pool: str, machines: Sequence[NodeSettings], inventory: Inventory) -> dict[str, Any]:
    """How many of a pool's machines are there or find a place now, next to what already runs.

    A machine that carries our marks and the name of one of the pool's is the pool's.
    """
    running = {
        held.name: (host.name, held.group)
        for host in inventory.hosts
        for held in host.holdings
        if held.group
    }
    there = [running[one.name] for one in machines if one.name in running]
    life = min((group for _, group in there), default="")
    absent = [one.model_copy(update={"life": life}) for one in machines if one.name not in running]
    found = [placement for _, placement in places(inventory, absent)]
    return {
        "pool": pool,
        "wanted": len(machines),
        "running": len(there),
        "fit": len(there) + sum(len(placement.hosts) for placement in found),
        "hosts": [*(host for host, _ in there), *(host for row in found for host in row.hosts)],
        "refusal": "; ".join(row.refusal() for row in found if not row.complete),
        "upperBound": any(not slots.certain for row in found for slots in row.slots),
    }


def ask_inventory(
    endpoint: Mapping[str, Any], datacenter: str, cluster: str, pools: Mapping[str, Machines]
) -> dict[str, Any]:
    """`{"hosts": [...], "pools": [...]}`: hosts of the cluster and which pools fit now. Only reads.

    Args:
        endpoint: Fields of `Endpoint`, camelCase.
        datacenter: Name or inventory path.
        cluster: Name or inventory path of a cluster or standalone host.
        pools: Machines of each pool. Each is placed alone: two may want the same GPU.

    Raises:
        VsphereError: the vCenter cannot be asked, or a name is not found.
    """
    with asked(endpoint, datacenter, f"reading {cluster}") as (session, center):
        compute = by_name(session, center, vim.ComputeResource, cluster, "cluster")
        found = read_inventory(session, center, compute)
        common = {"endpoint": session.endpoint, "owner": "-/-", "generation": "0" * 12}
        where = {"datacenter": datacenter, "cluster": cluster}
        declared = {
            pool: [
                read_settings({**one, **common, "place": {**one["place"], **where}})
                for one in machines
            ]
            for pool, machines in pools.items()
        }
        answer: dict[str, Any] = {
            "hosts": [host_row(host) for host in found.hosts],
            "pools": [pool_row(*pool, found) for pool in declared.items()],
        }
        gpus = [machines[0].gpu for machines in declared.values() if machines]
        shared = [gpu.profile for gpu in gpus if isinstance(gpu, SharedProfile)]
        if shared:
            setups = read_setups(session, compute)
            answer["vgpu"] = [
                {"host": host.name, "checks": vgpu_readiness(host, setups[host.id], shared)}
                for host in found.hosts
                if host.id in setups
            ]
        return answer
