"""EC2NodeClass of a pool: image, disks, interfaces, reservations (karpenter.k8s.aws/v1, v1.14.1).

The component adds role, subnets, security groups and the placement group's name.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.auto_mode import auto_node_class
from gpufleet.platforms.eks.bottlerocket import (
    KUBERNETES,
    bottlerocket_settings,
    kubelet_settings,
)
from gpufleet.platforms.eks.launch_template import disks
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
    spec: dict[str, Any] = {
        "amiSelectorTerms": _images(shape, family),
        "blockDeviceMappings": _disks(pool, family),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": shape.options.metadata_hop_limit,
            "httpTokens": "required",
        },
        "tags": pool_tags(pool, prefix, tags),
    }
    if shape.options.ami_id is not None:
        spec["amiFamily"] = FAMILIES[family]
    raid = shape.nvme and shape.options.local_storage is LocalStorage.RAID0
    if raid and family in {"al2023", "al2", "bottlerocket"}:
        spec["instanceStorePolicy"] = "RAID0"
    # Karpenter merges its own settings into these.
    if user_data := _user_data(pool, family):
        spec["userData"] = user_data
    if shape.interfaces:
        spec["networkInterfaces"] = [
            {
                "networkCardIndex": one.card,
                "deviceIndex": one.device,
                "interfaceType": one.kind,
            }
            for one in shape.interfaces
        ]
    if (group := existing_group(pool)) is not None:
        spec["placementGroupSelector"] = {"name": group}
    reservations = reservation_terms(pool, shape)
    if reservations:
        spec["capacityReservationSelectorTerms"] = reservations
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
    settings, kubelet = bottlerocket_settings(pool), kubelet_settings(pool)
    if kubelet:
        settings = [*settings, *([""] if settings else []), KUBERNETES, *kubelet]
    return "\n".join(settings) + "\n" if settings else None


def alias(shape: EksShape, family: str) -> str:
    """`al2023@v20261101`: the image release in Karpenter's form."""
    written = shape.options.release_version
    release = None if written in {None, LATEST} else release_of(str(written))
    return f"{family}@{LATEST if release is None else release[0]}"


def _images(shape: EksShape, family: str) -> list[dict[str, Any]]:
    if shape.options.ami_id is not None:
        return [{"id": shape.options.ami_id}]
    return [{"alias": alias(shape, family)}]


def _disks(pool: Pool, family: str) -> list[dict[str, Any]]:
    mappings: list[dict[str, Any]] = []
    for one in disks(pool):
        ebs = one["ebs"]
        mappings.append(
            {
                "deviceName": one["deviceName"],
                "ebs": {
                    "volumeSize": f"{ebs['volumeSize']}Gi",
                    "volumeType": ebs["volumeType"],
                    "encrypted": True,
                    "deleteOnTermination": True,
                    **({"kmsKeyID": ebs["kmsKeyId"]} if "kmsKeyId" in ebs else {}),
                },
            }
        )
    if family == "ubuntu":
        mappings[0]["rootVolume"] = True
    return mappings
