"""A KubeletConfig of a pool's own machines.

Format: openshift/api `machineconfiguration/v1` KubeletConfig, whose `kubeletConfig` is a
KubeletConfiguration; it selects MachineConfigPools by their labels. A change of one reboots the
nodes of the pool, one after another. Read 2026-11-23.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.kubelet import kubelet_configuration
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_clouds import makes_machines, options_of
from gpufleet.platforms.openshift.machine_config import API_VERSION


def kubelet_config(pool: Pool) -> dict[str, Any] | None:
    """The object, called as the pool; None where nothing is declared."""
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
