# pyright: standard
"""Settings of hosts on which vGPUs depend: graphics, packages, licence. Each may be refused to the
user who asks, and is then not known."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyVmomi import vim, vmodl

from gpufleet.platforms.vsphere.vcenter.reading import children
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.vgpu_readiness import HostSetup

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
        licence=_licence(session, host),
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


def _licence(session: Session, host: Any) -> str | None:
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
