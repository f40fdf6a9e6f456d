"""Findings about pools of EKS Auto Mode: settings of AWS, unsupported settings, fees.

Sources in addition to those of `auto_mode`: Amazon EKS user guide `ml/device-management-nvidia-mig`
80436be and `ml/device-management-nvidia-time-slicing` 4aea692 (neither works on Auto Mode, whose
device plugin has no configuration), `ml/device-management-efa` 43d79bd and `ml/node-efa`
(interfaces, huge pages), `automode/auto-migrate-karpenter` (one Karpenter). Read 2026-11-23.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from gpufleet.catalogue import AWS, load
from gpufleet.findings import Finding, findings_in, warning
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.eks.auto_mode import IMAGE, LIFETIME_HOURS
from gpufleet.platforms.eks.karpenter_objects import disruption
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.platforms.eks import EksOptions, LocalStorage
from gpufleet.spec.pool import GpuPool, Provisioner

_finding = findings_in(__file__)

_HOUR = {"h": 1.0, "m": 1 / 60, "s": 1 / 3600}


def auto_pools(pools: Sequence[Pool]) -> list[Pool]:
    """Pools whose nodes Auto Mode creates, for us or for a GitOps tool."""
    return [
        pool
        for pool in pools
        if pool.provisioner is Provisioner.AUTO_MODE and pool.ownership is not Ownership.EXISTING
    ]


def makes_auto_entry(fleet: Fleet) -> bool:
    """Whether the fleet creates it. EKS has created one for the node role of the cluster's own
    pools, and refuses a second one."""
    return bool(auto_pools(fleet.pools)) and fleet.spec.addons.karpenter.access_entry is True


def validate_auto_sharing(pool: GpuPool, path: str) -> Iterator[Finding]:
    """Auto Mode's device plugin only assigns whole GPUs."""
    mode = pool.sharing.mode
    if pool.provisioner is not Provisioner.AUTO_MODE or mode == "exclusive":
        return
    what = (
        "Dynamic Resource Allocation is not supported on EKS Auto Mode"
        if pool.sharing.dra is not None
        else "AWS runs the device plugin of EKS Auto Mode and exposes no configuration of it"
    )
    yield _finding("auto-mode-sharing", f"{path}.sharing.{mode}", what=what, found=mode)


def validate_auto_mode(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """All findings about these pools except their sharing."""
    return [
        *_foreign_image(pools),
        *_second_karpenter(spec, pools),
        *_fleet(spec, auto_pools(pools)),
        *(finding for pool in auto_pools(pools) for finding in _validate(pool)),
    ]


def _foreign_image(pools: Sequence[Pool]) -> Iterable[Finding]:
    for pool in pools:
        key, auto = None if pool.image is None else pool.image.key, pool.provisioner
        if (key == IMAGE) is not (auto is Provisioner.AUTO_MODE) and key is not None:
            yield _finding("auto-mode-image", pool.path, found=key, auto=auto.value)


def _second_karpenter(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    addon = spec.addons.karpenter
    ours = [one for one in pools if one.provisioner is Provisioner.KARPENTER]
    if not auto_pools(pools) or not ours or not addon.rendered:
        return
    yield _finding(
        "karpenter-beside-auto-mode",
        ours[0].path,
        ours=[one.name for one in ours],
        found=Provisioner.KARPENTER.value,
    )


def _fleet(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    if not pools:
        return
    names = ", ".join(pool.name for pool in pools)
    unknown = [one.name for p in pools for one in p.machines if one.fee_micro_usd is None]
    if unknown:
        yield _finding("auto-mode-fee/unknown", names=names, unknown=unknown)
    else:
        yield _finding("auto-mode-fee", names=names)
    if spec.tags:
        yield _finding("auto-mode-tags-need-permission", names=names)


def _validate(pool: Pool) -> Iterable[Finding]:
    options, families = pool.spec.eks or EksOptions(), load().clouds[AWS].managed
    wrong = [one.name for one in pool.machines if one.name.split(".")[0] not in families]
    if wrong:
        yield _finding("auto-mode-instance-type", pool.path, found=wrong, families=sorted(families))
    yield from _disks(pool, options)
    yield from _lifetime(pool)


def _disks(pool: Pool, options: EksOptions) -> Iterable[Finding]:
    """AWS joins the local disks if the declared size is below theirs, and otherwise does not."""
    if not eks_shape(pool).nvme or "local_storage" not in options.model_fields_set:
        return
    local = min(machine.local_nvme_bytes or 0 for machine in pool.machines) // 1024**3
    joined = pool.spec.disk.size_gib < local
    if joined is (options.local_storage is LocalStorage.RAID0):
        return
    yield warning(
        "auto-mode-local-disks",
        f"{pool.path}.disk.sizeGib",
        f"EKS Auto Mode {'joins' if joined else 'leaves'} the NVMe disks ({local} GiB) of machines "
        f"whose disk is {'smaller' if joined else 'at least as large'}, and the pool declares "
        f"localStorage {options.local_storage.value}",
        f"write `disk: {{sizeGib: {local - 1}}}` or less"
        if not joined
        else "write `localStorage: raid0`, or a disk of their size",
        found=pool.spec.disk.size_gib,
        limit=local,
    )


def _lifetime(pool: Pool) -> Iterable[Finding]:
    options = pool.spec.karpenter or KarpenterPoolOptions()
    rules, life = disruption(pool.intent, options, auto_mode=True)
    expiry = life["expireAfter"]
    hours = None if expiry == "Never" else _hours(expiry) + _hours(life["terminationGracePeriod"])
    if hours is None or hours > LIFETIME_HOURS:
        yield _finding(
            "auto-mode-lifetime",
            pool.path,
            found=expiry,
            termination_grace_period=life["terminationGracePeriod"],
            limit=f"{LIFETIME_HOURS}h",
        )
    if rules["consolidationPolicy"] == "Balanced":
        yield _finding("auto-mode-policy-not-known", pool.path, found="Balanced")


def _hours(text: str) -> float:
    return sum(int(n) * _HOUR[unit] for n, unit in re.findall(r"([0-9]+)([smh])", text))
