"""A separate MachineConfigPool of a pool, the kernel arguments of its nodes, and settings of
their kubelet.

Formats, read 2026-11-22: openshift/api `machineconfiguration/v1`. A custom pool inherits the
workers' configuration by naming both roles; a node belongs to at most one such pool.
"""

from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.kubelet import kubelet_configuration
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_clouds import options_of
from gpufleet.platforms.openshift.shape import OBJECTS, ROLE_PREFIX

API_VERSION = "machineconfiguration.openshift.io/v1"
ROLE_LABEL = "machineconfiguration.openshift.io/role"
IGNITION = "3.4.0"
"""Version of Ignition in a MachineConfig: read by OpenShift 4.14 and later."""


def machine_config_pool(pool: Pool) -> dict[str, Any] | None:
    """The MachineConfigPool, with the pool's name; None if none is declared."""
    declared = options_of(pool).machine_config
    if declared is None:
        return None
    known = {"role": ROLE_LABEL, "pool": pool.name, "most": declared.max_unavailable}
    selected = {f"{ROLE_PREFIX}{pool.name}": ""}
    spec = data_part(OBJECTS, "machineConfigPool", selected=selected, **known)
    labels = {POOL_LABEL: pool.name}
    return manifest(API_VERSION, "MachineConfigPool", pool.name, labels=labels, spec=spec)


def machine_config(pool: Pool) -> dict[str, Any] | None:
    """The MachineConfig with the kernel arguments; None if there are none."""
    declared = options_of(pool).machine_config
    if declared is None or not declared.kernel_arguments:
        return None
    spec = {
        "config": {"ignition": {"version": IGNITION}},
        "kernelArguments": list(declared.kernel_arguments),
    }
    labels = {ROLE_LABEL: pool.name, POOL_LABEL: pool.name}
    name = f"99-{pool.name}-kernel-arguments"
    return manifest(API_VERSION, "MachineConfig", name, labels=labels, spec=spec)


def kubelet_config(pool: Pool) -> dict[str, Any] | None:
    """The KubeletConfig, with the pool's name; None if nothing is declared.

    It selects MachineConfigPools by their labels, and its `kubeletConfig` is a KubeletConfiguration
    (openshift/api `machineconfiguration/v1`). A change of one reboots the nodes of the pool, one
    after another. Read 2026-11-23.
    """
    fields = kubelet_configuration(pool)
    if not fields:
        return None
    own = {POOL_LABEL: pool.name}
    spec = {"machineConfigPoolSelector": {"matchLabels": own}, "kubeletConfig": fields}
    return manifest(API_VERSION, "KubeletConfig", pool.name, labels=own, spec=spec)
