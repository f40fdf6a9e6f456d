"""Properties of an EKS pool's machines from its declaration: purchase, zones, image, interfaces."""

from dataclasses import dataclass
from typing import Any

from gpufleet.fleet.model import Machine, Pool
from gpufleet.spec.base import Platform
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.platforms.eks import EksOptions
from gpufleet.spec.pool import Fabric, Provisioner

CUSTOM = "CUSTOM"
"""`amiType` of an image that EKS does not publish."""
CHOSEN_BY_AWS = ""
"""Replaces `amiType` with EKS Auto Mode."""
_CAPACITY_TYPES = {"spot": "SPOT", "capacityBlock": "CAPACITY_BLOCK"}


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface of a machine."""

    card: int
    device: int
    kind: str
    """`interface` (IP traffic) or `efa-only`."""


@dataclass(frozen=True, slots=True)
class EksShape:
    """Common decisions of node group, launch template and Karpenter's objects."""

    options: EksOptions
    capacity_type: str
    """`ON_DEMAND`, `SPOT` or `CAPACITY_BLOCK`: capacity type of a managed node group."""
    reservations: tuple[str, ...]
    """Capacity reservations, by id, or by the ARN of a resource group of them."""
    zones: tuple[str, ...]
    """Zones that the declaration allows; empty: every zone with a subnet."""
    one_zone: str | None
    """Why all nodes must be in one zone; None if they need not."""
    ami_type: str
    """`amiType`; CUSTOM for a custom image."""
    interfaces: tuple[Interface, ...]
    """All network interfaces of a pool with EFA; empty: one plain interface, EC2's default."""
    placement_group: bool
    nvme: bool
    """Whether every machine has NVMe disks."""

    @property
    def efa(self) -> bool:
        """Whether nodes have EFA interfaces."""
        return bool(self.interfaces)

    @property
    def custom(self) -> bool:
        """Whether EKS does not publish the image, so that nodes join by user data."""
        return self.ami_type == CUSTOM

    @property
    def bottlerocket(self) -> bool:
        """Whether the image is Bottlerocket, with settings for user data and a data disk."""
        return self.ami_type.startswith("BOTTLEROCKET")


def runs_bottlerocket(pool: Pool) -> bool:
    """Whether the pool's image is a Bottlerocket image, including custom ones."""
    return pool.image is not None and pool.image.key.startswith("bottlerocket")


def interfaces(machine: Machine) -> tuple[Interface, ...]:
    """The interfaces of a machine that uses all its EFAs.

    Card 0 device 0 has the IP traffic, since a primary interface cannot be efa-only. If every card
    has an EFA, that of card 0 is device 1; if one card has none, it is card 0 (p6-b300: 17 cards,
    16 EFAs). The others have their EFA on device 0 (EC2 user guide `efa-acc-inst-types`). If cards
    share a GPU, the row of the catalogue names the cards to use (p6e-gb200).
    """
    count, row = machine.efa_interfaces, machine.instance
    first = Interface(0, 0, "interface")
    if count == 0:
        return (first,)
    if row is not None and row.efa_cards is not None:
        return (first, *(Interface(card, 0, "efa-only") for card in row.efa_cards))
    total = max((row.network_cards if row is not None else None) or count, count)
    if total == count:
        rest = [
            Interface(0, 1, "efa-only"),
            *(Interface(c, 0, "efa-only") for c in range(1, total)),
        ]
    else:
        rest = [Interface(c, 0, "efa-only") for c in range(1, count + 1)]
    return (first, *rest)


def eks_shape(pool: Pool) -> EksShape:
    """The shape of a pool on EKS. Raises ValueError for another platform's pool."""
    if pool.platform.name is not Platform.EKS:
        raise ValueError(f"{pool.name} is a pool of {pool.platform.name.value}, not of eks")
    options = pool.spec.eks or EksOptions()
    blocks = [entry.capacity_block for entry in pool.capacity if entry.capacity_block is not None]
    reserved = [entry.reserved for entry in pool.capacity if entry.reserved is not None]
    bought = {one.zone for one in (*blocks, *reserved) if one.zone is not None}
    zones = tuple(sorted(bought)) or pool.spec.zones
    efa = pool.fabric is Fabric.EFA
    # One template serves all machines of a pool.
    fewest = min(pool.machines, key=lambda machine: machine.efa_interfaces)
    placement = efa and not is_reserved(pool)
    if options.placement_group is not None:
        placement = options.placement_group
    if existing_group(pool) is not None:
        placement = False
    return EksShape(
        options=options,
        capacity_type=_CAPACITY_TYPES.get(pool.capacity[0].mode, "ON_DEMAND"),
        reservations=tuple(one.id for one in (*blocks, *reserved)),
        zones=zones,
        one_zone=_one_zone(
            efa=efa, block=bool(blocks) and not pool.provisioner.by_node_pool, placement=placement
        ),
        ami_type=_ami_type(pool, options),
        interfaces=interfaces(fewest) if efa else (),
        placement_group=placement,
        nvme=all((machine.local_nvme_bytes or 0) > 0 for machine in pool.machines),
    )


def existing_group(pool: Pool) -> str | None:
    """Name of an existing placement group that the pool's NodeClass selects."""
    return None if pool.spec.karpenter is None else pool.spec.karpenter.placement_group


def is_reserved(pool: Pool) -> bool:
    """Whether machines come from Capacity Blocks or reservations, which have fixed placements.

    A new placement group is never that of the reservation: EC2 then provides only part of it
    (eksctl-io/eksctl#7949, 11 of 16, and PR 8220, which creates no group there).
    """
    found = pool.spec.karpenter is not None and bool(pool.spec.karpenter.reservations)
    return found or any(entry.capacity_block or entry.reserved for entry in pool.capacity)


def reservation_terms(pool: Pool, shape: EksShape) -> list[dict[str, Any]]:
    """`capacityReservationSelectorTerms` of a node class."""
    options = pool.spec.karpenter or KarpenterPoolOptions()
    found = [
        {"tags": dict(one.tags), "ownerID": one.owner_id, "instanceMatchCriteria": one.match}
        for one in options.reservations
    ]
    selected = [{key: value for key, value in one.items() if value} for one in found]
    return [*({"id": one} for one in shape.reservations), *selected]


def _one_zone(*, efa: bool, block: bool, placement: bool) -> str | None:
    if block:
        return "a Capacity Block is in one zone"
    if efa:
        return "EFA traffic does not leave its zone"
    return "a cluster placement group is in one zone" if placement else None


def _ami_type(pool: Pool, options: EksOptions) -> str:
    if pool.provisioner is Provisioner.AUTO_MODE:
        return CHOSEN_BY_AWS
    if options.ami_id is not None or pool.image is None:
        return CUSTOM
    return pool.image.ami_types.get(pool.machines[0].architecture, CUSTOM)
