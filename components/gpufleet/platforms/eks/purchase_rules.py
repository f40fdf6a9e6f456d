"""Findings about capacity of a pool on EKS: reservations, Capacity Blocks, spot, UltraServers."""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, findings_in, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.aws_capacity import reservation_group_region, validate_block
from gpufleet.platforms.eks.shape import EksShape, existing_group, is_reserved
from gpufleet.spec.capacity import Capacity

_finding = findings_in(__file__)

_RESERVATION = re.compile(r"^cr-[0-9a-f]+$")


def validate_purchase(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Findings about reservations, blocks and spot, in addition to those of `capacity_rules`."""
    yield from _reservations(pool, shape)
    yield from validate_block(pool)
    yield from _placement(pool, shape)
    yield from _spot(pool)


def _reservations(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    modes = [entry.mode for entry in pool.capacity if not _of_group(entry)]
    group = not pool.provisioner.by_node_pool
    if "reserved" in modes and group and len(pool.machines) > 1:
        yield _finding(
            "reservation-one-type",
            pool.path,
            count=len(pool.machines),
            found=[machine.name for machine in pool.machines],
        )
    if "reserved" in modes and group and len(shape.zones) != 1:
        yield _finding(
            "reservation-zone-missing", f"{pool.path}.capacity[{_place(pool)}]", found=shape.zones
        )
    for index, entry in enumerate(pool.capacity):
        if entry.reserved is not None:
            yield from _reservation_id(pool, f"{pool.path}.capacity[{index}].reserved.id", entry)


def _placement(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    group = not pool.provisioner.by_node_pool
    if group and "placement" in shape.options.launch_template:
        return  # an existing group
    named = existing_group(pool)
    if named is not None and shape.options.placement_group:
        yield _finding("placement-group-twice", pool.path, found=named)
    if shape.placement_group and is_reserved(pool):
        yield _finding(
            "reservation-placement-group",
            pool.path,
            fix=(
                "remove `placementGroup`"
                "; an existing group is named in "
                + ("`eks.launchTemplate.placement`" if group else "`karpenter.placementGroup`")
            ),
            found=True,
        )


def _place(pool: Pool) -> int:
    """Index of the first reservation with its own id among the capacity types."""
    ways = enumerate(pool.capacity)
    return next(i for i, one in ways if one.reserved is not None and not _of_group(one))


def _of_group(entry: Capacity) -> bool:
    """Whether it is a resource group of reservations, which may have several types and zones."""
    return entry.reserved is not None and reservation_group_region(entry.reserved.id) is not None


def _reservation_id(pool: Pool, place: str, entry: Capacity) -> Iterable[Finding]:
    assert entry.reserved is not None
    identifier = entry.reserved.id
    if not _of_group(entry):
        if not _RESERVATION.match(identifier):
            yield _finding("reservation-id", place, found=identifier)
        return
    if pool.provisioner.by_node_pool:
        yield _finding("reservation-group-with-karpenter", place, found=identifier)


def _spot(pool: Pool) -> Iterable[Finding]:
    modes = {entry.mode for entry in pool.capacity}
    if "spot" in modes and "onDemand" not in modes and len(pool.machines) == 1:
        yield _finding("spot-one-type", pool.path, found=pool.machines[0].name)


_MACHINES = {"p6e-gb200": 9, "trn2u": 4}
"""Family -> machines of the smallest UltraServer."""
_SINCE = (1, 33)
"""First Kubernetes minor with P6e UltraServers on EKS."""


def validate_ultraserver(pool: Pool, kubernetes_version: str) -> Iterable[Finding]:
    """Machines that are sold and connected as one unit (Amazon EKS user guide
    `ml/ml-eks-nvidia-ultraserver` 00e3293, P6e-GB200: 9 or 18 machines, Kubernetes 1.33, claims, no
    MIG with the driver of the AMI; Amazon EC2, Trn2 UltraServers: 4 machines; read 2026-11-23)."""
    row = pool.machines[0].instance
    size = None if row is None else _MACHINES.get(row.family)
    if row is None or size is None:
        return
    if pool.nodes.maximum % size:
        yield warning(
            "ultraserver-in-part",
            f"{pool.path}.nodes.max",
            f"a block of {row.name} has whole UltraServers of {size} machines"
            + (" or 18" if row.family == "p6e-gb200" else "")
            + f", and {pool.nodes.maximum} are declared: the rest is paid and not used",
            f"write a multiple of {size}",
            found=pool.nodes.maximum,
            limit=size,
        )
    if row.family != "p6e-gb200":
        return
    if tuple(int(part) for part in kubernetes_version.split(".")[:2]) < _SINCE:
        yield _finding("ultraserver-kubernetes-too-old", found=kubernetes_version, limit="1.33")
    if pool.provisioner.by_node_pool:
        yield _finding("ultraserver-claims-with-karpenter", pool.path, found=pool.provisioner.value)
    if pool.partition.mig_enabled:
        yield _finding("ultraserver-without-mig", pool.path)
