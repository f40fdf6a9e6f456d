"""Findings about pools of EKS Auto Mode: settings of AWS, unsupported settings, fees.

Sources in addition to those of `auto_mode`: Amazon EKS user guide `ml/device-management-nvidia-mig`
80436be and `ml/device-management-nvidia-time-slicing` 4aea692 (neither works on Auto Mode, whose
device plugin has no configuration), `ml/device-management-efa` 43d79bd and `ml/node-efa`
(interfaces, huge pages), `automode/auto-migrate-karpenter` (one Karpenter). Read 2026-11-23.
"""

import re
from collections.abc import Iterator, Sequence

from gpufleet.catalogue import AWS, load
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.eks.auto_mode import LIFETIME_HOURS
from gpufleet.platforms.eks.karpenter_objects import disruption
from gpufleet.platforms.eks.shape import EksShape, eks_shape
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Provisioner

_rules = rules_in(__file__)

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


def validate_auto_mode(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All findings about these pools except their sharing."""
    autos = auto_pools(pools)
    machines = (one for pool in autos for one in pool.machines)
    unknown = sorted({one.name for one in machines if one.fee_micro_usd is None})
    names = ", ".join(pool.name for pool in autos)
    known: dict[str, object] = {"autos": autos, "unknown": unknown, "names": names}
    addon = spec.addons.karpenter
    yield from _rules("auto-fleet", "", spec=spec, pools=pools, addon=addon, **known)
    for pool in autos:
        yield from _validate(pool, eks_shape(pool))


def _validate(pool: Pool, shape: EksShape) -> Iterator[Finding]:
    """AWS joins local disks if the declared size is below theirs, and otherwise does not."""
    families = sorted(load().clouds[AWS].managed)
    wrong = [one.name for one in pool.machines if one.name.split(".")[0] not in families]
    local = min(machine.local_nvme_bytes or 0 for machine in pool.machines) // 1024**3
    options = pool.spec.karpenter or KarpenterPoolOptions()
    rules, life = disruption(pool.intent, options, auto_mode=True)
    age, grace = (life[key] for key in ("expireAfter", "terminationGracePeriod"))
    known = {"families": families, "wrong": wrong, "local": local, "smaller": local - 1}
    yield from _rules(
        "auto",
        pool.path,
        pool=pool,
        shape=shape,
        age=age,
        grace=grace,
        endless=age == "Never" or _hours(age) + _hours(grace) > LIFETIME_HOURS,
        policy=rules["consolidationPolicy"],
        **known,
    )


def _hours(text: str) -> float:
    return sum(int(n) * _HOUR[unit] for n, unit in re.findall(r"([0-9]+)([smh])", text))
