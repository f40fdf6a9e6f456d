"""What a cluster offers and which pools fit now, as rows for people and programs, asked outside a
deployment."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyVmomi import vim

from gpufleet.spec.platforms.vsphere import VsphereNics
from gpufleet_vcenter.inventory import Host, Inventory, read_inventory
from gpufleet_vcenter.lookup import by_name
from gpufleet_vcenter.opened import asked
from gpufleet_vcenter.placement import Wish, place
from gpufleet_vcenter.settings import ATTACHMENT, GpuAttachment, SharedProfile
from gpufleet_vcenter.slots import uses
from gpufleet_vcenter.vgpu_readiness import HostSetup, read_setups, vgpu_readiness

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
    wish = Wish(SharedProfile(mode="vgpu", profile=profile, count=1), 1, 1)
    (slots,) = place(Inventory((host,)), wish).slots
    return slots.free if slots.certain else 0


def pool_row(pool: str, machines: Machines, inventory: Inventory) -> dict[str, Any]:
    """How many of a pool's machines are there or find a place now, next to what already runs.

    A machine that carries our marks and the name of one of the pool's is the pool's.
    """
    running = {
        held.name: host.name for host in inventory.hosts for held in host.holdings if held.group
    }
    there = {one["name"]: running[one["name"]] for one in machines if one["name"] in running}
    kinds: dict[tuple[GpuAttachment, tuple[str, ...]], int] = {}
    for one in machines:
        if one["name"] not in there:
            hosts = tuple(one["place"].get("hosts", ()))
            kind = (ATTACHMENT.validate_python(one["gpu"]), hosts)
            kinds[kind] = kinds.get(kind, 0) + 1
    placements = [
        place(
            inventory,
            Wish(
                gpu,
                machines[0]["memoryMib"],
                count,
                hosts,
                tuple(machines[0]["place"].get("denyHosts", ())),
                at_most_per_host=machines[0].get("maxPerHost"),
                group=_group_of(inventory, there),
                nics=_nics(machines[0].get("nics")),
            ),
        )
        for (gpu, hosts), count in kinds.items()
    ]
    return {
        "pool": pool,
        "wanted": len(machines),
        "running": len(there),
        "fit": len(there) + sum(len(placement.hosts) for placement in placements),
        "hosts": [*there.values(), *(host for p in placements for host in p.hosts)],
        "refusal": "; ".join(p.refusal() for p in placements if not p.complete),
        "upperBound": any(not slots.certain for p in placements for slots in p.slots),
    }


def _nics(given: Mapping[str, Any] | None) -> VsphereNics | None:
    return None if given is None else VsphereNics.model_validate(given)


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
        answer: dict[str, Any] = {
            "hosts": [host_row(host) for host in found.hosts],
            "pools": [pool_row(pool, machines, found) for pool, machines in pools.items()],
        }
        shared = {
            machines[0]["gpu"]["profile"]: None
            for machines in pools.values()
            if machines and "profile" in machines[0]["gpu"]
        }
        if shared:
            answer["vgpu"] = vgpu_rows(found, read_setups(session, compute), list(shared))
        return answer
