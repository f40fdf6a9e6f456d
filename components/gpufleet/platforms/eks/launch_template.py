"""Launch template of an EKS pool: `aws:ec2/launchTemplate` in the provider's spelling.

The component adds values of other resources: security groups, the placement group's name, user data
with the cluster's address.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.aws_capacity import reservation_group_region
from gpufleet.platforms.eks.names import name_prefix, pool_tags
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.platforms.eks.user_data import image_family

NODES = Path(__file__).with_name("nodes")
"""Data file of nodes."""

ROOT_DEVICES = {"al2023": "/dev/xvda", "al2": "/dev/xvda", "ubuntu": "/dev/sda1"}
BOTTLEROCKET_OS_GIB = 4
"""Size of Bottlerocket's own volume; images and pods are on a second one."""


def launch_template(
    pool: Pool, shape: EksShape, prefix: str, tags: Mapping[str, str]
) -> dict[str, Any]:
    """The arguments, without values of other resources."""
    taken = next(iter(shape.reservations), None)
    grouped = taken is not None and reservation_group_region(taken) is not None
    arguments = data_part(
        NODES,
        "launchTemplate",
        **dict(shape.options) | {"ami_id": shape.options.ami_id if shape.custom else None},
        prefix=name_prefix(prefix, pool.name, "launch template"),
        pool=pool.name,
        disks=[
            data_part(NODES, "disk", device=device, gib=gib, key=shape.options.kms_key_arn)
            for device, gib in disks(pool)
        ],
        tags=pool_tags(pool, prefix, tags),
        interfaces=interfaces(shape, deleted="true"),
        reserved=taken,
        reservation_group=taken if grouped else None,
        reservation=None if grouped else taken,
        block_type=pool.machines[0].name if shape.capacity_type == "CAPACITY_BLOCK" else None,
    )
    return {**arguments, **shape.options.launch_template}


def interfaces(shape: EksShape, deleted: str | None = None) -> list[dict[str, Any]] | None:
    """The network interfaces; None if the machine has only the usual one."""
    return [
        data_part(
            NODES, "interface", card=one.card, device=one.device, kind=one.kind, deleted=deleted
        )
        for one in shape.interfaces
    ] or None


def disks(pool: Pool) -> list[tuple[str, int]]:
    """Device and size in GiB of the volumes: encrypted gp3, deleted with the machine."""
    size, family = pool.spec.disk.size_gib, image_family(pool)
    if family == "bottlerocket":
        return [("/dev/xvda", BOTTLEROCKET_OS_GIB), ("/dev/xvdb", size)]
    return [(ROOT_DEVICES[family], size)]
