"""Findings about how a pool on EKS is bought: reservations, Capacity Blocks, spot."""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.aws_capacity import reservation_group_region, validate_block
from gpufleet.platforms.eks.shape import EksShape, existing_group, is_reserved
from gpufleet.spec.capacity import Capacity

_RESERVATION = re.compile(r"^cr-[0-9a-f]+$")


def validate_purchase(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Everything about reservations, blocks and spot, next to what `capacity_rules` says."""
    yield from _reservations(pool, shape)
    yield from validate_block(pool)
    yield from _placement(pool, shape)
    yield from _spot(pool)


def _reservations(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    modes = [entry.mode for entry in pool.capacity if not _of_group(entry)]
    group = not pool.provisioner.by_node_pool
    if "reserved" in modes and group and len(pool.machines) > 1:
        yield error(
            "reservation-one-type",
            f"{pool.path}.instanceTypes",
            f"a reservation is of one instance type, and {len(pool.machines)} are possible",
            "name the reservation's type alone in instanceTypes",
            found=[machine.name for machine in pool.machines],
        )
    if "reserved" in modes and group and len(shape.zones) != 1:
        yield error(
            "reservation-zone-missing",
            f"{pool.path}.capacity[{_place(pool)}].reserved.zone",
            "a reservation is in one zone, and the group would launch in every zone with a subnet",
            "add `zone: us-east-1a`, the reservation's own",
            found=list(shape.zones),
        )
    for index, entry in enumerate(pool.capacity):
        if entry.reserved is not None:
            yield from _reservation_id(pool, f"{pool.path}.capacity[{index}].reserved.id", entry)


def _placement(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    group = not pool.provisioner.by_node_pool
    if group and "placement" in shape.options.launch_template:
        return  # a group that exists
    named = existing_group(pool)
    if named is not None and shape.options.placement_group:
        yield error(
            "placement-group-twice",
            f"{pool.path}.eks.placementGroup",
            f"a new placement group is asked for, and {named} under karpenter.placementGroup",
            "keep one of the two",
            found=named,
        )
    if shape.placement_group and is_reserved(pool):
        yield warning(
            "reservation-placement-group",
            f"{pool.path}.eks.placementGroup",
            "a new placement group is not the one that reserved machines are in: part of what is "
            "paid may not start in it",
            "remove `placementGroup`"
            "; a group that exists is named in "
            + ("`eks.launchTemplate.placement`" if group else "`karpenter.placementGroup`"),
            found=True,
        )


def _place(pool: Pool) -> int:
    """Which way of buying is the first reservation by its own id."""
    ways = enumerate(pool.capacity)
    return next(i for i, one in ways if one.reserved is not None and not _of_group(one))


def _of_group(entry: Capacity) -> bool:
    """Whether a resource group of reservations is meant, which may hold several types and zones."""
    return entry.reserved is not None and reservation_group_region(entry.reserved.id) is not None


def _reservation_id(pool: Pool, place: str, entry: Capacity) -> Iterable[Finding]:
    assert entry.reserved is not None
    identifier = entry.reserved.id
    if not _of_group(entry):
        if not _RESERVATION.match(identifier):
            yield error(
                "reservation-id",
                place,
                f"{identifier!r} is not an EC2 capacity reservation",
                "write its id, cr- and 17 hexadecimal digits, or the ARN of a resource group of "
                "reservations",
                found=identifier,
            )
        return
    if pool.provisioner.by_node_pool:
        yield error(
            "reservation-group-with-karpenter",
            place,
            "Karpenter takes reservations by id or by tags, and no resource group",
            "name the ids, one `reserved` each, or write `karpenter: {reservations: ...}`",
            found=identifier,
        )


def _spot(pool: Pool) -> Iterable[Finding]:
    modes = {entry.mode for entry in pool.capacity}
    if "spot" in modes and "onDemand" not in modes and len(pool.machines) == 1:
        yield warning(
            "spot-one-type",
            f"{pool.path}.instanceTypes",
            f"spot capacity of {pool.machines[0].name} alone: when that type is gone, so is "
            "the pool",
            "name several types of the same GPU and count, or `provisioner: karpenter` with "
            "`onDemand` behind spot",
            found=pool.machines[0].name,
        )
