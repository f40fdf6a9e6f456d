"""NVIDIADriver objects where vGPU guests and whole GPUs are in one cluster: two kinds of driver.

Selectors of two objects must not share a node: each pool has one (`objects/nvidia_drivers.yaml`).
"""

from typing import Any

from gpufleet.contract.owners import Owner
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.cut_over import pool_claims
from gpufleet.fleet.gpu_operator_chart import EVICTS_CLAIMS, GPU_TOLERATION
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.render.data_files import data_part
from gpufleet.render.gpu_operator_values import fleet_operator_settings
from gpufleet.spec.gpu_operator import DataCenterDriver, Driver, GpuOperatorSettings

API_VERSION = "nvidia.com/v1alpha1"
NVIDIA = "nvcr.io/nvidia"
"""Repository of the data-centre driver."""


def nvidia_drivers(fleet: Fleet) -> list[dict[str, Any]]:
    """One object for each pool whose driver the GPU Operator installs; empty if one kind of driver
    is enough."""
    if not fleet.addons.gpu_operator.separate_drivers:
        return []
    settings = fleet_operator_settings(fleet).settings
    driver, whole = settings.driver, settings.driver.data_center
    return [
        _object(fleet, pool, settings, driver if guest else whole)
        for pool in fleet.pools
        if pool.owners.driver is Owner.GPU_OPERATOR
        for guest in [pool.partition.vgpu is not None]
        if guest or whole is not None
    ]


def _object(
    fleet: Fleet, pool: Pool, settings: GpuOperatorSettings, own: Driver | DataCenterDriver | None
) -> dict[str, Any]:
    assert own is not None
    driver, guest, secret = settings.driver, isinstance(own, Driver), settings.image_pull_secret
    modules, licence = driver.kernel_module_type, driver.licensing
    tolerations = [
        {"key": one.key, "operator": "Exists", "effect": one.effect}
        for one in fleet.addons.gpu_operator.tolerations
    ]
    label = {POOL_LABEL: pool.name}
    spec = data_part(
        "nvidia_drivers",
        "driver",
        type="vgpu" if guest else "gpu",
        repository=own.repository or (None if guest else NVIDIA),
        image=own.image or "driver",
        version=own.version,
        licence=licence.secret if guest and licence is not None else None,
        topology=driver.virtual_topology if guest else None,
        secrets=None if secret is None else [secret],
        modules=None if modules is None else modules.value,
        rdma=driver.rdma.enabled,
        host=bool(driver.rdma.use_host_mofed),
        manager=None if pool_claims(pool) is None else [dict(one) for one in EVICTS_CLAIMS],
        nodes=label,
        tolerations=[GPU_TOLERATION.as_dict(), *tolerations],
    )
    return manifest(API_VERSION, "NVIDIADriver", pool.name, labels=label, spec=spec)
