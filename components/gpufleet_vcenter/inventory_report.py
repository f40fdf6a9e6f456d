# pyright: standard
"""Capacity of a cluster, pools that fit now, and whether its hosts can assign vGPUs, as rows for
people and programs, read outside a deployment.

Sources of what vGPUs need, read 2026-11-23: NVIDIA AI Enterprise User Guide, prerequisites (SR-IOV
and VT-d or IOMMU in the BIOS) and vGPU Manager; NVIDIA Virtual GPU Software User Guide (graphics
type Shared Direct, MIG mode of the host); vSphere API (`HostGraphicsConfig`, `HostSriovInfo`,
`SoftwarePackage`, `LicenseAssignmentManager`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet.partition.vgpu import parse_type
from gpufleet_vcenter.errors import holding
from gpufleet_vcenter.inventory import Host, Inventory, PassthroughState, read_inventory
from gpufleet_vcenter.lookup import by_name
from gpufleet_vcenter.outputs import read_settings
from gpufleet_vcenter.owned import asked
from gpufleet_vcenter.placement import Wish, places
from gpufleet_vcenter.reading import children
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings, SharedProfile
from gpufleet_vcenter.slots import profile_slots, uses

Machines = Sequence[Mapping[str, Any]]
"""Inputs of each machine of a pool, in the spelling of `VsphereGpuNode`."""


def host_row(host: Host) -> dict[str, Any]:
    """One host: its state, its GPUs, and how many more machines with one of each kind fit.

    Memory is not counted: the pool decides how much a machine reserves.
    """
    held, able = uses(host).passthrough, host.connected and not host.maintenance
    slots = {profile: profile_slots(host, profile, 1) for profile in sorted(host.profiles)}
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
        # 0 also if it is unknown.
        "profiles": {name: row.free * (able and row.certain) for name, row in slots.items()},
    }


def pool_row(pool: str, machines: Sequence[NodeSettings], inventory: Inventory) -> dict[str, Any]:
    """Number of a pool's machines that exist or fit now, next to the running ones.

    A machine with our marks and the name of a machine of the pool belongs to the pool.
    """
    running = {
        held.name: (host.name, held.life)
        for host in inventory.hosts
        for held in host.holdings
        if held.life
    }
    there = [running[one.name] for one in machines if one.name in running]
    life = min((life for _, life in there), default="none")
    absent = [one.model_copy(update={"life": life}) for one in machines if one.name not in running]
    found = list(places(inventory, absent, Wish(machines[0]))) if absent else []
    return {
        "pool": pool,
        "wanted": len(machines),
        "running": len(there),
        "fit": len(there) + sum(len(placement.hosts) for placement in found),
        "hosts": [*(host for host, _ in there), *(host for row in found for host in row.hosts)],
        "refusal": "; ".join(row.refusal() for row in found if not row.complete),
        "upperBound": any(not slots.certain for row in found for slots in row.slots.values()),
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
        VsphereError: the vCenter cannot be reached, or a name is not found.
    """
    with asked(endpoint, datacenter, f"reading {cluster}") as (session, center):
        compute = by_name(session, center, "cluster", cluster)
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
            hosts = children(session, compute, vim.HostSystem, _PATHS)
            setups = {str(host._moId): _setup(session, host, about) for host, about in hosts}
            answer["vgpu"] = [
                {"host": host.name, "checks": vgpu_readiness(host, setups[host.id], shared)}
                for host in found.hosts
                if host.id in setups
            ]
        return answer


@dataclass(frozen=True, slots=True)
class HostSetup:
    """Settings of a host, without its devices."""

    version: str
    """Version of ESXi."""
    default_graphics: str
    """Graphics type that new GPUs get; empty: unknown."""
    licence: str | None
    """Name of the licence that is assigned to the host; None: unknown."""
    packages: tuple[str, ...] | None
    """Installed packages of NVIDIA, name and version; None: unknown."""
    without_sriov: tuple[str, ...]
    """Addresses of the devices that report no SR-IOV although they have a report of it."""


Check = dict[str, str]
"""One condition of a host: its name (`check`), what is known (`state`), what was `found`, and the
`fix`. States: `ok`; `wrong`, vGPUs do not start with it; `hint`, a possible cause if they do not
start; `notKnown`, the API did not answer, or shows no such setting."""


def vgpu_readiness(host: Host, setup: HostSetup, wanted: Iterable[str]) -> list[Check]:
    """Every condition of one host (rows of `vgpu_readiness.jsonl`); `wanted` are the vGPU types
    that pools request.

    MIG mode is not shown by itself: which types are offered follows from it. BIOS settings are not
    in the API; their effects on the devices are.
    """
    offered, asked_for = (
        {one for name in names if (one := parse_type(name)) is not None}
        for names in (host.profiles, wanted)
    )
    lacking = asked_for - offered if host.profiles else ()
    rows = holding(
        "vgpu",
        "vgpu_readiness",
        host=host,
        setup=setup,
        packages=setup.packages or (),
        names=sorted(host.profiles),
        offered=list(offered),
        lacking=sorted(lacking, key=lambda one: one.name),
        other=[
            f"{gpu.address} is {gpu.graphics_type or 'no graphics device'}"
            for gpu in host.gpus
            if gpu.graphics_type != "sharedDirect"
        ],
        idle=[gpu.address for gpu in host.gpus if gpu.passthrough is PassthroughState.NONE],
        without_sriov=sorted({gpu.address for gpu in host.gpus} & set(setup.without_sriov)),
    )
    return [{name: row[name] for name in ("check", "state", "found", "fix")} for row in rows]


_PATHS = (
    "config.product.version",
    "config.graphicsConfig",
    "config.pciPassthruInfo",
    "configManager.imageConfigManager",
)
_REFUSED = (
    vim.fault.NoPermission,
    vmodl.fault.NotSupported,
    vmodl.fault.MethodNotFound,
    vmodl.fault.ManagedObjectNotFound,
    vmodl.fault.InvalidRequest,
)


def _setup(session: Session, host: Any, found: Any) -> HostSetup:
    graphics = found.get("config.graphicsConfig")
    images = found.get("configManager.imageConfigManager")
    packages = None if images is None else _answered(session, images.FetchSoftwarePackages)
    licences = session.content.licenseManager

    def assigned() -> Any:
        manager = licences and licences.licenseAssignmentManager
        return manager and manager.QueryAssignedLicenses(str(host._moId))

    names = {str(one.assignedLicense.name) for one in _answered(session, assigned) or ()}
    return HostSetup(
        version=str(found.get("config.product.version") or ""),
        default_graphics="" if graphics is None else str(graphics.hostDefaultGraphicsType),
        licence=", ".join(sorted(names)) or None,
        packages=None if packages is None else nvidia_packages(packages),
        without_sriov=tuple(
            str(entry.id)
            for entry in found.get("config.pciPassthruInfo") or ()
            if isinstance(entry, vim.host.SriovInfo) and not entry.sriovCapable
        ),
    )


def nvidia_packages(packages: Iterable[Any]) -> tuple[str, ...]:
    """Name and version of each package that NVIDIA made."""
    return tuple(
        sorted(
            f"{one.name} {one.version}"
            for one in packages
            if str(one.vendor).lower().startswith(("nvidia", "nvd"))
        )
    )


def _answered(session: Session, ask: Callable[[], Any]) -> Any | None:
    """The answer; None: vCenter refuses this user, or has no such method."""
    try:
        return session.call(ask)
    except _REFUSED:
        return None
