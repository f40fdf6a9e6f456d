# pyright: standard
"""Whether a host can hand out vGPUs, as far as the API of vCenter shows it.

Sources, read 2026-11-23: NVIDIA AI Enterprise User Guide, prerequisites (SR-IOV and VT-d or IOMMU
in the BIOS) and vGPU Manager; NVIDIA Virtual GPU Software User Guide (graphics type Shared Direct,
MIG mode of the host); vSphere API (`HostGraphicsConfig`, `HostSriovInfo`, `SoftwarePackage`,
`LicenseAssignmentManager`).
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pyVmomi import vim, vmodl

from gpufleet.partition.vgpu import parse_type
from gpufleet_vcenter.inventory import Host, PassthroughState
from gpufleet_vcenter.reading import children
from gpufleet_vcenter.session import Session

SHARED_DIRECT = "sharedDirect"


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


Check = dict[str, str]
"""One condition of a host: its name (`check`), what is known (`state`), what was `found`, and the
`fix`. States: `ok`; `wrong`, vGPUs do not start like this; `hint`, a possible cause where they do
not; `notKnown`, the API did not answer, or shows no such setting."""


@cache
def _rows() -> dict[str, dict[str, str]]:
    text = Path(__file__).with_name("vgpu_readiness.jsonl").read_text(encoding="utf-8")
    return {row["check"]: row for row in map(json.loads, text.splitlines())}


def _check(row: str, **facts: object) -> Check:
    """What a row of `vgpu_readiness.jsonl` says; after `/` is what distinguishes its answers."""
    known = _rows()[row]
    found, fix = (known.get(name, "").format_map(facts) for name in ("found", "fix"))
    check = row.partition("/")[0]
    return {"check": check, "state": known["state"], "found": found, "fix": fix}


def vgpu_readiness(host: Host, setup: HostSetup, wanted: Iterable[str]) -> list[Check]:
    """Every condition of one host; `wanted` are the vGPU types that pools ask for."""
    default = {"": "/unknown", SHARED_DIRECT: ""}.get(setup.default_graphics, "/other")
    packages = {None: "/unknown", (): "/none"}.get(setup.packages, "")
    return [
        _graphics(host),
        _check(f"defaultGraphicsType{default}", setup=setup),
        _check(f"vgpuManager{packages}", setup=setup, packages=", ".join(setup.packages or ())),
        *_types(host, wanted),
        *_bios(host, setup),
        _check("licence" if setup.licence is not None else "licence/unknown", setup=setup),
        _check("scheduler"),
    ]


def _graphics(host: Host) -> Check:
    other = [
        f"{gpu.address} is {gpu.graphics_type or 'no graphics device'}"
        for gpu in host.gpus
        if gpu.graphics_type != SHARED_DIRECT
    ]
    if not host.gpus:
        return _check("graphicsType/none")
    return _check("graphicsType/other" if other else "graphicsType", other=", ".join(other))


def _types(host: Host, wanted: Iterable[str]) -> Iterator[Check]:
    """MIG mode is not shown by itself: which types are offered follows from it."""
    if not host.profiles:
        yield _check("types/none")
        return
    offered = {one for name in host.profiles if (one := parse_type(name)) is not None}
    kinds = {one.slices is None for one in offered}
    asked_for = {one for name in wanted if (one := parse_type(name)) is not None}
    for asked in sorted(asked_for - offered, key=lambda one: one.name):
        sliced = asked.slices is None
        row = "types/other" if sliced in kinds else "migMode/on" if sliced else "migMode/off"
        yield _check(row, name=asked.name, offered=", ".join(sorted(host.profiles)))


def _bios(host: Host, setup: HostSetup) -> Iterator[Check]:
    """Settings of the BIOS are not in the API: what devices report of their effect is."""
    without = [gpu.address for gpu in host.gpus if gpu.passthrough is PassthroughState.NONE]
    if without:
        yield _check("iommu", gpus=", ".join(without))
    if lacking := sorted({gpu.address for gpu in host.gpus} & set(setup.without_sriov)):
        yield _check("sriov", gpus=", ".join(lacking))


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
