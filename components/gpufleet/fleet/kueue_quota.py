"""Quota of each team, split exactly, in the units that nodes advertise: slices, shared replicas,
claims.

A pool's capacity is the resources of its nodes times its largest size, to which its autoscaler may
also grow: quota and limit are equal because they are computed once. Outside the windows of the
pool's capacity, at the time of the compilation, it is 0. Claims of the DRA driver count under names
to which Kueue's configuration maps their classes (kubernetes-sigs/kueue v0.19.2
`apis/config/v1beta2`, `deviceClassMappings`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from gpufleet.fleet.model import Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.partition.dra import DraCut, counters
from gpufleet.partition.dra_offers import DRIVER, DraOffer
from gpufleet.partition.shares import GPU_CLASS
from gpufleet.spec.pool import Fabric
from gpufleet.spec.queues import Team

ROUNDING = Fraction(1, 10**9)
"""Tolerance of shares that should add up to 1: thirds written as decimals."""


def split(amount: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Whole units for each team: in total never more than `amount`.

    A share is the decimal that the author wrote. Every team gets the whole part of its share; the
    units left by the fractions, together the whole part of amount x all shares, go one each to the
    largest fractions, the earlier team first among equals (largest remainder method). Shares whose
    sum differs from 1 by less than `ROUNDING`, or is larger, are scaled to 1.
    """
    exact = {team: Fraction(str(share)) for team, share in shares.items()}
    written = sum(exact.values(), Fraction(0))
    whole = written if written > 1 - ROUNDING else Fraction(1)
    due = {team: amount * share / whole for team, share in exact.items()}
    units = {team: int(part) for team, part in due.items()}
    left = int(sum(due.values(), Fraction(0))) - sum(units.values())
    by_fraction = sorted(due, key=lambda team: units[team] - due[team])
    for team in by_fraction[:left]:
        units[team] += 1
    return units


class HasPools(Protocol):
    """A fleet, compiled or during compilation."""

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Its pools."""
        ...


MIG_MEMORY = "gpufleet.dev/mig-claim-memory"
"""Bytes of GPU memory of MIG devices that are created on demand."""
_MEMORY_COUNTER = "memory"
"""Counter of the driver that every device of a partitioned GPU consumes."""


@dataclass(frozen=True, slots=True)
class ClassMapping:
    """One entry of `deviceClassMappings`: the quota resource of these classes."""

    resource: str
    classes: tuple[str, ...]
    counter: str | None = None
    """Counter that is charged instead of the number of devices."""


def takes_whole_nodes(pool: Pool) -> bool:
    """Whether each pod of the pool takes a node with all its devices."""
    alone = platform_rules(pool.platform).whole_nodes(pool)
    together = pool.fabric is not Fabric.NONE or alone
    return together and pool.partition.mode == "exclusive"


def quota_pools(fleet: HasPools) -> tuple[Pool, ...]:
    """Pools with devices to assign, in order of the declaration, including existing pools."""
    return tuple(pool for pool in fleet.pools if pool_units(pool, fleet))


def pool_units(pool: Pool, fleet: HasPools) -> dict[str, int]:
    """Quota resource -> units of one node, by name."""
    units = dict(pool.advertised)
    made = pool.partition.dra
    if made is not None and not units and countable(pool, fleet):
        units = _claimed(pool, made)
    return dict(sorted((name, amount) for name, amount in units.items() if amount))


def pool_capacity(pool: Pool, fleet: HasPools) -> dict[str, int]:
    """Quota resource -> units of the whole pool at its largest size, by name."""
    return {name: n * pool.available_nodes for name, n in pool_units(pool, fleet).items()}


def usable_unit(pool: Pool, units: int) -> int:
    """Minimum units of a resource that a job of the pool can use: all units of a node if each pod
    takes a node, of all hosts of a TPU slice, else one. `units`: of one node."""
    if not takes_whole_nodes(pool):
        return 1
    return units * platform_rules(pool.platform).nodes_together(pool)


def nominal_quota(
    pool: Pool, fleet: HasPools, teams: Sequence[Team], nodes: int | None = None
) -> dict[str, dict[str, int]]:
    """Team -> resource -> units of this pool, with `nodes` nodes (default: at the current time).
    The sum of the teams never exceeds the pool.

    A pool with `team` belongs to that team; else commitments in force are served first, and the
    shares divide the rest. If each pod takes a whole node, nodes are divided: units that do not
    make a whole node would be of no use.
    """
    quota: dict[str, dict[str, int]] = {team.name: {} for team in teams}
    whole = takes_whole_nodes(pool)
    size = pool.available_nodes if nodes is None else nodes
    for resource, units in pool_units(pool, fleet).items():
        grain = units if whole else 1
        parts = units * size // grain
        for team, part in _split(pool, parts, Fraction(units, grain), teams).items():
            quota[team][resource] = part * grain
    return quota


def _split(pool: Pool, amount: int, per_node: Fraction, teams: Sequence[Team]) -> dict[str, int]:
    owner = pool.spec.team
    if owner is not None and owner in {team.name for team in teams}:
        return {team.name: amount if team.name == owner else 0 for team in teams}
    first: dict[str, int] = {}
    left = amount
    for name, gpus in pool.committed_gpus.items():
        first[name] = min(left, int(per_node * gpus / pool.gpus_per_node))
        left -= first[name]
    rest = split(left, {team.name: team.share for team in teams})
    return {name: part + first.get(name, 0) for name, part in rest.items()}


def borrowing_limit(team: Team, nominal: int) -> int | None:
    """Units that the team may use beyond its quota; None: all idle units. Rounded down."""
    return None if team.borrowing is None else int(nominal * Fraction(str(team.borrowing)))


def lending_limit(team: Team, nominal: int) -> int | None:
    """Units of its quota that others may use; None: all. Rounded down."""
    return None if team.lending is None else int(nominal * Fraction(str(team.lending)))


def class_mappings(fleet: HasPools) -> tuple[ClassMapping, ...]:
    """Entries of Kueue's configuration for the classes that quota counts, by resource."""
    by_resource: dict[str, set[str]] = {}
    for pool in fleet.pools:
        made = pool.partition.dra
        if made is None or pool.advertised or not countable(pool, fleet):
            continue
        for offer in made.offers:
            resource = MIG_MEMORY if made.on_demand else claim_resource(offer)
            by_resource.setdefault(resource, set()).add(offer.device_class)
        if made.on_demand:
            by_resource[MIG_MEMORY] |= {need.device_class for need in made.needs}
    return tuple(
        ClassMapping(
            resource, tuple(sorted(classes)), _MEMORY_COUNTER if resource == MIG_MEMORY else None
        )
        for resource, classes in sorted(by_resource.items())
    )


def claim_resource(offer: DraOffer) -> str:
    """Quota resource for devices of this kind: `gpufleet.dev/mig-1g-10gb-claims`."""
    if offer.profile is None:
        return "gpufleet.dev/gpu-claims"
    plain = offer.profile.replace(".", "-").replace("+", "-").replace(",", "-")
    return f"gpufleet.dev/mig-{plain}-claims"


def memory_selector() -> str:
    """Devices whose memory counter is charged: those that NVIDIA's driver creates on demand."""
    return f"device.driver == '{DRIVER}'"


def countable(pool: Pool, fleet: HasPools) -> bool:
    """Whether Kueue can count the claims of a `dra` pool.

    It reads templates, not claims that pods share. A class is counted in one way, so pools whose
    devices are created on demand, counted by memory, cannot share a class with other pools.
    """
    made = pool.partition.dra
    if made is None or made.clients > 1:
        return False
    if made.on_demand and (pool.gpu.mig is None or _MEMORY_COUNTER not in counters(pool.gpu.mig)):
        return False
    classes = {offer.device_class for offer in made.offers} | {GPU_CLASS}
    claimed = (one.partition.dra for one in fleet.pools if not one.advertised)
    return not any(
        other.on_demand != made.on_demand
        and classes & ({offer.device_class for offer in other.offers} | {GPU_CLASS})
        for other in claimed
        if other is not None
    )


def _claimed(pool: Pool, made: DraCut) -> Mapping[str, int]:
    if not made.on_demand:
        return {claim_resource(offer): offer.per_node for offer in made.offers}
    assert pool.gpu.mig is not None
    return {MIG_MEMORY: counters(pool.gpu.mig)[_MEMORY_COUNTER] * pool.gpus_per_node}
