"""A MachineConfigPool of a pool's own, the kernel arguments its nodes boot with, and settings of
their kubelet.

Formats, read 2026-11-22: openshift/api `machineconfiguration/v1`. A pool of one's own inherits the
workers' configuration by naming both roles; a node belongs to one such pool at most.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.kubelet import kubelet_configuration
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_clouds import makes_machines, options_of
from gpufleet.platforms.openshift.shape import ROLE_PREFIX

API_VERSION = "machineconfiguration.openshift.io/v1"
ROLE_LABEL = "machineconfiguration.openshift.io/role"
IGNITION = "3.4.0"
"""Version of Ignition that a MachineConfig names: read by OpenShift 4.14 and later."""


def machine_config_pool(pool: Pool) -> dict[str, Any] | None:
    """The MachineConfigPool, called as the pool; None where none is declared."""
    declared = options_of(pool).machine_config
    if declared is None:
        return None
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineConfigPool",
        "metadata": {"name": pool.name, "labels": _labels(pool)},
        "spec": {
            "machineConfigSelector": {
                "matchExpressions": [
                    {"key": ROLE_LABEL, "operator": "In", "values": ["worker", pool.name]}
                ]
            },
            "nodeSelector": {"matchLabels": {f"{ROLE_PREFIX}{pool.name}": ""}},
            "maxUnavailable": declared.max_unavailable,
        },
    }


def machine_config(pool: Pool) -> dict[str, Any] | None:
    """The MachineConfig with the kernel arguments; None where there are none."""
    declared = options_of(pool).machine_config
    if declared is None or not declared.kernel_arguments:
        return None
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineConfig",
        "metadata": {
            "name": f"99-{pool.name}-kernel-arguments",
            "labels": {ROLE_LABEL: pool.name, **_labels(pool)},
        },
        "spec": {
            "config": {"ignition": {"version": IGNITION}},
            "kernelArguments": list(declared.kernel_arguments),
        },
    }


def _labels(pool: Pool) -> dict[str, str]:
    return {POOL_LABEL: pool.name, "app.kubernetes.io/managed-by": "gpufleet"}


def kubelet_config(pool: Pool) -> dict[str, Any] | None:
    """The KubeletConfig, called as the pool; None where nothing is declared.

    It selects MachineConfigPools by their labels, and its `kubeletConfig` is a KubeletConfiguration
    (openshift/api `machineconfiguration/v1`). A change of one reboots the nodes of the pool, one
    after another. Read 2026-11-23.
    """
    fields = kubelet_configuration(pool)
    if not fields:
        return None
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeletConfig",
        "metadata": {
            "name": pool.name,
            "labels": {POOL_LABEL: pool.name, "app.kubernetes.io/managed-by": "gpufleet"},
        },
        "spec": {
            "machineConfigPoolSelector": {"matchLabels": {POOL_LABEL: pool.name}},
            "kubeletConfig": fields,
        },
    }


def refused_kubelet_settings(pool: Pool) -> Mapping[str, str] | str:
    """Field of `kubelet` -> why nodes of the pool do not get it."""
    if makes_machines(pool) and options_of(pool).machine_config is not None:
        return {}
    return (
        "a KubeletConfig is for the nodes of a MachineConfigPool, and the pool has none of its own "
        f"(`{pool.platform.name.value}: {{machineConfig: {{}}}}`)"
    )
