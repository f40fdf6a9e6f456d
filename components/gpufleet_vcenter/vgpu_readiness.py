# pyright: standard
"""Whether a host can hand out vGPUs, as far as the API of vCenter shows it.

Sources, read 2026-11-23: NVIDIA AI Enterprise User Guide, prerequisites (SR-IOV and VT-d or IOMMU
in the BIOS) and vGPU Manager; NVIDIA Virtual GPU Software User Guide (graphics type Shared Direct,
MIG mode of the host); vSphere API (`HostGraphicsConfig`, `HostSriovInfo`, `SoftwarePackage`,
`LicenseAssignmentManager`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from pyVmomi import vim, vmodl

from gpufleet.partition.vgpu import parse_type
from gpufleet_vcenter.inventory import Host, PassthroughState
from gpufleet_vcenter.reading import children
from gpufleet_vcenter.session import Session

SHARED_DIRECT = "sharedDirect"


class ReadinessState(StrEnum):
    """What is known of one condition."""

    OK = "ok"
    WRONG = "wrong"
    """vGPUs do not start like this."""
    HINT = "hint"
    """A possible cause where vGPUs do not start."""
    UNKNOWN = "notKnown"
    """The API did not answer, or shows no such setting."""


@dataclass(frozen=True, slots=True)
class HostSetup:
    """What a host is set to, next to its devices."""

    version: str
    """Of ESXi."""
    default_graphics: str
    """Graphics type that new GPUs get; empty: not known."""
    licence: str | None
    """Name of the licence that is assigned to the host; None: not known."""
    packages: tuple[str, ...] | None
    """Installed packages of NVIDIA, name and version; None: not known."""
    without_sriov: tuple[str, ...]
    """Addresses of the devices that report no SR-IOV although they have a report of it."""


@dataclass(frozen=True, slots=True)
class ReadinessCheck:
    """One condition of a host."""

    check: str
    state: ReadinessState
    found: str
    fix: str = ""


def vgpu_readiness(
    host: Host, setup: HostSetup, wanted: Iterable[str]
) -> tuple[ReadinessCheck, ...]:
    """Every condition of one host; `wanted` are the vGPU types that pools ask for."""
    return (
        _graphics(host),
        _default_graphics(setup),
        _manager(setup),
        *_types(host, wanted),
        *_bios(host, setup),
        _licence(setup),
        ReadinessCheck(
            "scheduler",
            ReadinessState.UNKNOWN,
            "the API of vCenter does not show the scheduler of a host",
            "`esxcli system module parameters list -m nvidia` on the host",
        ),
    )


def _graphics(host: Host) -> ReadinessCheck:
    other = [
        f"{gpu.address} is {gpu.graphics_type or 'no graphics device'}"
        for gpu in host.gpus
        if gpu.graphics_type != SHARED_DIRECT
    ]
    if not host.gpus:
        return ReadinessCheck("graphicsType", ReadinessState.WRONG, "the host has no NVIDIA GPU")
    if not other:
        return ReadinessCheck("graphicsType", ReadinessState.OK, SHARED_DIRECT)
    return ReadinessCheck(
        "graphicsType",
        ReadinessState.WRONG,
        ", ".join(other),
        "set Shared Direct (host, Configure, Graphics), then restart the host",
    )


def _default_graphics(setup: HostSetup) -> ReadinessCheck:
    found = setup.default_graphics
    if not found:
        return ReadinessCheck("defaultGraphicsType", ReadinessState.UNKNOWN, "not reported")
    state = ReadinessState.OK if found == SHARED_DIRECT else ReadinessState.HINT
    fix = "" if state is ReadinessState.OK else "a GPU that is added gets it: set Shared Direct"
    return ReadinessCheck("defaultGraphicsType", state, found, fix)


def _manager(setup: HostSetup) -> ReadinessCheck:
    """The vGPU Manager is a package (VIB) of NVIDIA."""
    if setup.packages is None:
        return ReadinessCheck(
            "vgpuManager",
            ReadinessState.UNKNOWN,
            "the packages of the host may not be read",
            "`esxcli software vib list` on the host",
        )
    if not setup.packages:
        return ReadinessCheck(
            "vgpuManager",
            ReadinessState.WRONG,
            f"no package of NVIDIA is installed on ESXi {setup.version}",
            "install the vGPU Manager of your NVIDIA AI Enterprise branch",
        )
    return ReadinessCheck("vgpuManager", ReadinessState.OK, ", ".join(setup.packages))


def _types(host: Host, wanted: Iterable[str]) -> Iterator[ReadinessCheck]:
    """MIG mode is not shown by itself: which types are offered follows from it."""
    if not host.profiles:
        yield ReadinessCheck(
            "types",
            ReadinessState.WRONG,
            "the host offers no vGPU type",
            "look at the vGPU Manager and the graphics type",
        )
        return
    offered = {one for name in host.profiles if (one := parse_type(name)) is not None}
    backed = any(one.slices is not None for one in offered)
    sliced = any(one.slices is None for one in offered)
    asked_for = {one for name in wanted if (one := parse_type(name)) is not None}
    for asked in sorted(asked_for - offered, key=lambda one: one.name):
        name = asked.name
        if asked.slices is not None and not backed:
            yield ReadinessCheck(
                "migMode",
                ReadinessState.WRONG,
                f"{name} is MIG-backed, and only time-sliced types are offered: MIG mode is off",
                "`nvidia-smi -i <gpu> -mig 1` on the host, without machines on the GPU",
            )
        elif asked.slices is None and not sliced:
            yield ReadinessCheck(
                "migMode",
                ReadinessState.WRONG,
                f"{name} is time-sliced, and only MIG-backed types are offered: MIG mode is on",
                "`nvidia-smi -i <gpu> -mig 0` on the host, without machines on the GPU",
            )
        else:
            yield ReadinessCheck(
                "types",
                ReadinessState.WRONG,
                f"{name} is not offered; offered: {', '.join(sorted(host.profiles))}",
            )


def _bios(host: Host, setup: HostSetup) -> Iterator[ReadinessCheck]:
    """Settings of the BIOS are not in the API: what devices report of their effect is."""
    without = [gpu.address for gpu in host.gpus if gpu.passthrough is PassthroughState.NONE]
    if without:
        yield ReadinessCheck(
            "iommu",
            ReadinessState.HINT,
            f"{', '.join(without)} cannot be passed through",
            "enable VT-d or AMD-Vi (IOMMU) in the BIOS",
        )
    gpus = {gpu.address for gpu in host.gpus}
    if lacking := sorted(gpus & set(setup.without_sriov)):
        yield ReadinessCheck(
            "sriov",
            ReadinessState.HINT,
            f"{', '.join(lacking)} reports no SR-IOV, which vGPUs need from Ampere on",
            "enable SR-IOV in the BIOS",
        )


def _licence(setup: HostSetup) -> ReadinessCheck:
    """Which editions include vGPU is the vendor's word, and is not judged."""
    if setup.licence is None:
        return ReadinessCheck("licence", ReadinessState.UNKNOWN, "licences may not be read")
    return ReadinessCheck("licence", ReadinessState.OK, setup.licence)


T = TypeVar("T")

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


def read_setups(session: Session, compute: Any) -> dict[str, HostSetup]:
    """Id of each host of a cluster -> what it is set to."""
    return {
        str(host._moId): _setup(session, host, found)
        for host, found in children(session, compute, vim.HostSystem, _PATHS)
    }


def _setup(session: Session, host: Any, found: Any) -> HostSetup:
    graphics = found.get("config.graphicsConfig")
    images = found.get("configManager.imageConfigManager")
    packages = None if images is None else _answered(session, images.FetchSoftwarePackages)
    return HostSetup(
        version=str(found.get("config.product.version") or ""),
        default_graphics="" if graphics is None else str(graphics.hostDefaultGraphicsType),
        licence=_assigned_licence(session, host),
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


def _assigned_licence(session: Session, host: Any) -> str | None:
    licences = session.content.licenseManager
    if licences is None:
        return None

    def assigned() -> Any:
        manager = licences.licenseAssignmentManager
        return None if manager is None else manager.QueryAssignedLicenses(str(host._moId))

    names = {str(one.assignedLicense.name) for one in _answered(session, assigned) or ()}
    return ", ".join(sorted(names)) or None


def _answered(session: Session, ask: Callable[[], T]) -> T | None:
    """The answer, or None where vCenter refuses it to this user or has no such method."""
    try:
        return session.call(ask)
    except _REFUSED:
        return None
