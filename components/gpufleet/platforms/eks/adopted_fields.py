"""Common fields of node groups and Karpenter's objects, read from existing resources."""

import tomllib
from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue import AWS, load
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.observed import Declaration, Observations

SUBNET = "aws:ec2/subnet:Subnet"
GPU_TAINTS = ("nvidia.com/gpu", "aws.amazon.com/neuron")


def zones_of_subnets(seen: Observations) -> dict[str, str]:
    """Id of each subnet whose zone is known -> its zone."""
    return {
        one.id: str(zone)
        for one in seen.of(SUBNET)
        if one.id is not None and (zone := one.properties.get("availabilityZone")) is not None
    }


def sorted_taints(written: Any) -> list[Any]:
    """Taints in the order for comparison."""
    order = ("key", "value", "effect")
    ordered = [{k: mapping(t)[k] for k in order if k in mapping(t)} for t in items(written)]
    return sorted(ordered, key=str)


def disk_size(mappings: Any) -> int | None:
    """Size of the last volume, which holds images and pods."""
    sizes = [mapping(mapping(one).get("ebs")).get("volumeSize") for one in items(mappings)]
    digits = [str(size).removesuffix("Gi") for size in sizes if size is not None]
    return int(digits[-1]) if digits and digits[-1].isdigit() else None


def kms_key(mappings: Any) -> Any:
    """Key of the last volume, which holds images and pods."""
    volumes = [mapping(mapping(one).get("ebs")) for one in items(mappings)]
    return next((one.get("kmsKeyId") or one.get("kmsKeyID") for one in volumes[-1:]), None)


def has_accelerator(name: str) -> bool:
    """Whether the catalogue knows an AWS machine of that name."""
    row = load().instances.get(name)
    return row is not None and row.cloud == AWS


def gpus_of(name: str) -> int:
    """Accelerators of a machine of the catalogue; 1 if their number is not known."""
    return load().instances[name].accelerator.count or 1


def is_neuron(name: str) -> bool:
    """Whether the machine has Trainium or Inferentia."""
    row = load().instances.get(name)
    return row is not None and load().gpu(row.accelerator.gpu).vendor == "aws"


def prefix_of(tags: Mapping[str, str], name: str) -> str | None:
    """Prefix of the tag `Name`, before the pool's name."""
    found = tags.get("Name", "")
    return found.removesuffix(f"-{name}") if found.endswith(f"-{name}") and found != name else None


def bottlerocket_sharing(user_data: Any, machine: str) -> Declaration | None:
    """`sharing` of the image's own device plugin in Bottlerocket's settings; None: none."""
    try:
        settings = tomllib.loads(user_data) if isinstance(user_data, str) else {}
    except tomllib.TOMLDecodeError:
        return None  # settings of another image
    plugin = mapping(value_at(settings, "settings.kubelet-device-plugins.nvidia"))
    written = mapping(plugin.get("time-slicing"))
    turns: Declaration = {}
    if plugin.get("device-sharing-strategy") == "time-slicing":
        turns = {"replicas": written.get("replicas")}
        if written.get("rename-by-default") is not True:
            turns["rename"] = False
        if written.get("fail-requests-greater-than-one") is not True:
            turns["failRequestsGreaterThanOne"] = False
    nested = {"timeSlicing": turns} if turns else {}
    profiles = list(mapping(value_at(plugin, "mig.profile")).values())
    row = load().instances.get(machine)
    geometry = None if row is None else load().gpu(row.accelerator.gpu).mig
    if not profiles or geometry is None:
        return nested or None
    most = geometry.profiles[profiles[0]].max_instances if profiles[0] in geometry.profiles else 1
    return {"mig": {"strategy": "single", "layouts": [{"devices": {profiles[0]: most}}], **nested}}
