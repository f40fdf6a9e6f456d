"""EC2NodeClass of a pool: image, disks, interfaces, reservations (karpenter.k8s.aws/v1, v1.14.1).

The component adds role, subnets, security groups and the placement group's name.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.auto_mode import auto_node_class
from gpufleet.platforms.eks.bottlerocket import image_settings
from gpufleet.platforms.eks.launch_template import NODES, disks, interfaces
from gpufleet.platforms.eks.names import pool_tags
from gpufleet.platforms.eks.rules import LATEST, release_of
from gpufleet.platforms.eks.shape import EksShape, existing_group, reservation_terms
from gpufleet.platforms.eks.user_data import image_family, node_config_part
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.platforms.eks import LocalStorage
from gpufleet.spec.pool import Provisioner

API_VERSION = "karpenter.k8s.aws/v1"
FAMILIES = {"al2023": "AL2023", "al2": "AL2", "bottlerocket": "Bottlerocket", "ubuntu": "Custom"}
"""Image family -> `amiFamily` of an image without alias."""


def node_class(
    pool: Pool, shape: EksShape, prefix: str, tags: Mapping[str, str], name: str
) -> dict[str, Any]:
    """The object, without these values: an EC2NodeClass, or the NodeClass of EKS Auto Mode."""
    raw = (pool.spec.karpenter or KarpenterPoolOptions()).node_class
    if pool.provisioner is Provisioner.AUTO_MODE:
        made = auto_node_class(pool, shape, tags, name)
        return {**made, "spec": merged(made["spec"], raw)}
    family = image_family(pool)
    options = shape.options
    joined = shape.nvme and options.local_storage is LocalStorage.RAID0
    raid = joined and family in {"al2023", "al2", "bottlerocket"}
    image = {"alias": alias(shape, family)} if options.ami_id is None else {"id": options.ami_id}
    spec = data_part(
        NODES,
        "nodeClass",
        **dict(options),
        images=[image],
        disks=[
            data_part(
                NODES,
                "nodeClassDisk",
                device=device,
                gib=gib,
                key=options.kms_key_arn,
                root=True if family == "ubuntu" else None,
            )
            for device, gib in disks(pool)
        ],
        tags=pool_tags(pool, prefix, tags),
        family=None if options.ami_id is None else FAMILIES[family],
        store="RAID0" if raid else None,
        user_data=_user_data(pool, family) or None,
        interfaces=interfaces(shape),
        group=existing_group(pool),
        reservations=reservation_terms(pool, shape) or None,
    )
    labels = {POOL_LABEL: pool.name}
    made = manifest(API_VERSION, "EC2NodeClass", name, labels=labels, spec=merged(spec, raw))
    made["metadata"] |= _shared_claims(pool)
    return made


def _shared_claims(pool: Pool) -> dict[str, Any]:
    """Devices that a DRA driver with consumable shares publishes (aws/karpenter-provider-aws
    v1.15.2 `pkg/providers/nvidiadra/consumablecapacity.go`). Static nodes do not need this field,
    which without the gate makes the class not ready."""
    dra = pool.partition.dra
    options = pool.spec.karpenter or KarpenterPoolOptions()
    if dra is None or dra.consumable_shares is None or options.static:
        return {}
    return {"annotations": {"karpenter.k8s.aws/nvidia-consumable-capacity": dra.consumable_shares}}


def _user_data(pool: Pool, family: str) -> str | None:
    if family == "al2023":
        return node_config_part(pool)
    if family != "bottlerocket":
        return None
    settings = image_settings(pool)
    return "\n".join(settings) + "\n" if settings else None


def alias(shape: EksShape, family: str) -> str:
    """`al2023@v20261101`: the image release in Karpenter's form."""
    written = shape.options.release_version
    release = None if written in {None, LATEST} else release_of(str(written))
    return f"{family}@{LATEST if release is None else release[0]}"
