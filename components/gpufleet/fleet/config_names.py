"""Names of the node-side configurations of a pool, and the labels that select them.

The names contain a digest of the content: mig-manager acts on a changed label and ignores an edit
under the same name (NVIDIA mig-parted v0.15.0), so a changed layout must change the name.
"""

import hashlib
import json

from gpufleet.catalogue import Gpu
from gpufleet.cluster import pool
from gpufleet.partition.partition import Partition

MIG_CONFIG_LABEL = "nvidia.com/mig.config"
MIG_STATE_LABEL = "nvidia.com/mig.config.state"
DEVICE_PLUGIN_CONFIG_LABEL = "nvidia.com/device-plugin.config"
POOL_LABEL = pool.POOL_LABEL
DRA_LABEL = "gpufleet.dev/dra"
"""Label of nodes that the DRA driver serves: its kubelet plugin selects them."""
DEPLOY_DEVICE_PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
DEPLOY_MIG_MANAGER_LABEL = "nvidia.com/gpu.deploy.mig-manager"
"""Labels that, set to `false`, keep an operand of the GPU Operator off a node (NVIDIA gpu-operator
v26.7.0 `controllers/state_manager.go`)."""

ALL_DISABLED = "all-disabled"
"""mig-parted configuration that turns MIG off on every GPU; every configuration file has it."""

DEFAULT_PLUGIN_CONFIG = "default"
"""Key of the device-plugin configuration for nodes whose GPUs are not shared."""


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def _digest(document: object) -> str:
    return hashlib.sha256(_CANONICAL.encode(document).encode()).hexdigest()[:8]


def mig_config_name(pool: str, partition: Partition) -> str:
    """Configuration of the pool's mig-parted file: `<pool>-<digest of the layout>`.

    At most 49 characters and legal as a label value, as pool names have at most 40.
    """
    if not partition.mig_enabled:
        return ALL_DISABLED
    return f"{pool}-{_digest([partition.gpu, [dict(gpu.devices) for gpu in partition.gpus]])}"


def device_plugin_config_name(pool: str, partition: Partition) -> str:
    """Key of the pool's device-plugin configuration: `<pool>-<digest of the sharing>`."""
    if partition.replicas == 1:
        return DEFAULT_PLUGIN_CONFIG
    return f"{pool}-" + _digest(
        [
            partition.mode,
            partition.strategy,
            partition.replicas,
            partition.rename,
            partition.fail_requests_greater_than_one,
            sorted(partition.advertised),
        ]
    )


def registration_labels(pool: str, gpu: Gpu, partition: Partition) -> dict[str, str]:
    """Registration labels with which the operands partition and share the GPUs as declared."""
    labels = {POOL_LABEL: pool}
    if partition.dra is None:
        labels[DEVICE_PLUGIN_CONFIG_LABEL] = device_plugin_config_name(pool, partition)
    else:
        # Exactly one of the two serves a node: the labels exclude the plugin and select the driver.
        labels |= {DRA_LABEL: "true", DEPLOY_DEVICE_PLUGIN_LABEL: "false"}
    on_demand = partition.dra is not None and partition.dra.on_demand
    if on_demand or partition.vgpu is not None:
        # The DRA driver partitions by itself; a vGPU guest cannot be partitioned.
        labels[DEPLOY_MIG_MANAGER_LABEL] = "false"
    elif gpu.mig is not None:
        labels[MIG_CONFIG_LABEL] = mig_config_name(pool, partition)
    return labels
