"""vGPU: what the host's device manager makes, and what the guests' operator is told.

Formats: NVIDIA vGPU device manager `version: v1`; NVIDIA gpu-operator v26.7.0 values
`driver.licensingConfig`.
"""

from collections.abc import Mapping
from typing import Any

import yaml

from gpufleet.fleet.model import Fleet, Pool

DEVICE_MANAGER_LABEL = "nvidia.com/vgpu.config"
"""Host label that chooses a configuration of the device manager's file."""
LICENSE_FILES = ("gridd.conf", "client_configuration_token.tok")
"""Keys the licence Secret must have, exactly so: the driver's pods mount each by its name."""


def vgpu_config_name(pool: Pool) -> str:
    """Configuration of the device manager's file for a pool's hosts: the type, in lower case."""
    assert pool.partition.vgpu is not None
    return pool.partition.vgpu.type.name.lower()


def vgpu_device_config(fleet: Fleet) -> dict[str, Any]:
    """The vGPU device manager's document: for each type of the fleet, every GPU filled with it.

    For hosts that run Kubernetes themselves (KubeVirt, OpenShift Virtualization); vCenter makes
    vGPUs by itself. Types no table has a number for are left out. Empty without vGPU pools.
    """
    configs: dict[str, list[dict[str, Any]]] = {}
    for pool in fleet.pools:
        made = pool.partition.vgpu
        if made is None or made.per_gpu is None:
            continue
        configs[vgpu_config_name(pool)] = [
            {"devices": "all", "vgpu-devices": {made.type.name: made.per_gpu}}
        ]
    return {"version": "v1", "vgpu-configs": dict(sorted(configs.items()))} if configs else {}


def vgpu_device_file(fleet: Fleet) -> str:
    """The document as the text of its ConfigMap; empty without vGPU pools."""
    document = vgpu_device_config(fleet)
    return yaml.safe_dump(document, sort_keys=False, width=100) if document else ""


def guest_values(pools: Mapping[str, Pool] | tuple[Pool, ...]) -> dict[str, Any]:
    """Values of the GPU Operator for vGPU guests, to be merged with the others.

    `nlsEnabled` is written out: the chart's default is true, the operator's code reads an absent
    value as false. Empty without a pool that names a licence.
    """
    found = pools.values() if isinstance(pools, Mapping) else pools
    secrets = {
        pool.partition.vgpu.license_secret for pool in found if pool.partition.vgpu is not None
    } - {None}
    if not secrets:
        return {}
    return {
        "driver": {"licensingConfig": {"secretName": min(secrets, key=str), "nlsEnabled": True}}
    }
