"""Launch template of an EKS pool: `aws:ec2/launchTemplate` in the provider's spelling.

The component adds values of other resources: security groups, the placement group's name, user data
with the cluster's address.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.aws_capacity import reservation_group_region
from gpufleet.platforms.eks.names import name_prefix, pool_tags
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.platforms.eks.user_data import image_family

TAGGED = ("instance", "volume", "network-interface")
"""Resources of a launched machine: tags of a node group reach none of them."""

ROOT_DEVICES = {"al2023": "/dev/xvda", "al2": "/dev/xvda", "ubuntu": "/dev/sda1"}
BOTTLEROCKET_OS_GIB = 4
"""Size of Bottlerocket's own volume; images and pods are on a second one."""


def launch_template(
    pool: Pool, shape: EksShape, prefix: str, tags: Mapping[str, str]
) -> dict[str, Any]:
    """The arguments, without values of other resources."""
    own = pool_tags(pool, prefix, tags)
    arguments: dict[str, Any] = {
        "namePrefix": name_prefix(prefix, pool.name, "launch template"),
        "description": f"GPU nodes of pool {pool.name}",
        "updateDefaultVersion": True,
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": shape.options.metadata_hop_limit,
        },
        "blockDeviceMappings": disks(pool),
        "tagSpecifications": [{"resourceType": kind, "tags": own} for kind in TAGGED],
        "tags": own,
    }
    if shape.custom:
        arguments["imageId"] = shape.options.ami_id
    if shape.interfaces:
        arguments["networkInterfaces"] = [
            {
                "networkCardIndex": one.card,
                "deviceIndex": one.device,
                "interfaceType": one.kind,
                "deleteOnTermination": "true",
            }
            for one in shape.interfaces
        ]
    if shape.reservations:
        taken = shape.reservations[0]
        grouped = reservation_group_region(taken) is not None
        target = "capacityReservationResourceGroupArn" if grouped else "capacityReservationId"
        arguments["capacityReservationSpecification"] = {
            "capacityReservationTarget": {target: taken}
        }
    if shape.capacity_type == "CAPACITY_BLOCK":
        arguments["instanceType"] = pool.machines[0].name
        arguments["instanceMarketOptions"] = {"marketType": "capacity-block"}
    return {**arguments, **shape.options.launch_template}


def disks(pool: Pool) -> list[dict[str, Any]]:
    """The volumes: encrypted gp3, deleted with the machine."""
    size = pool.spec.disk.size_gib
    family = image_family(pool)
    key = None if pool.spec.eks is None else pool.spec.eks.kms_key_arn
    if family == "bottlerocket":
        return [_disk("/dev/xvda", BOTTLEROCKET_OS_GIB, key), _disk("/dev/xvdb", size, key)]
    return [_disk(ROOT_DEVICES[family], size, key)]


def _disk(device: str, gib: int, key: str | None) -> dict[str, Any]:
    return {
        "deviceName": device,
        "ebs": {
            "volumeSize": gib,
            "volumeType": "gp3",
            "encrypted": "true",
            "deleteOnTermination": "true",
            **({} if key is None else {"kmsKeyId": key}),
        },
    }
