"""NVIDIADriver objects where vGPU guests and whole GPUs are in one cluster: two kinds of driver.

Format: NVIDIA/gpu-operator 06faaf0 `api/nvidia/v1alpha1/nvidiadriver_types.go` and its chart's
template of the default object. Selectors of two objects must not share a node: each pool has one.
"""

from typing import Any

from gpufleet.contract.owners import Owner
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.cut_over import pool_claims
from gpufleet.fleet.gpu_operator_chart import EVICTS_CLAIMS, GPU_TOLERATION
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.render.gpu_operator_values import fleet_operator_settings
from gpufleet.spec.gpu_operator import DataCenterDriver, Driver

API_VERSION = "nvidia.com/v1alpha1"
NVIDIA = "nvcr.io/nvidia"
"""Repository of the data-centre driver."""


def nvidia_drivers(fleet: Fleet) -> list[dict[str, Any]]:
    """One object for each pool whose driver the GPU Operator installs; empty if one kind of driver
    is enough."""
    if not fleet.addons.gpu_operator.separate_drivers:
        return []
    settings = fleet_operator_settings(fleet).settings
    secret = settings.image_pull_secret
    found: list[dict[str, Any]] = []
    for pool in fleet.pools:
        if pool.owners.driver is not Owner.GPU_OPERATOR:
            continue
        own = settings.driver.data_center
        if pool.partition.vgpu is not None:
            spec = _guest(settings.driver)
        elif own is not None:
            spec = _data_center(own)
        else:
            continue
        if secret is not None:
            spec["imagePullSecrets"] = [secret]
        found.append(_object(fleet, pool, settings.driver, spec))
    return found


def _guest(driver: Driver) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "driverType": "vgpu",
        "repository": driver.repository,
        "image": driver.image or "driver",
        "version": driver.version,
    }
    if driver.licensing is not None:
        spec["licensingConfig"] = {"secretName": driver.licensing.secret, "nlsEnabled": True}
    if driver.virtual_topology is not None:
        spec["virtualTopologyConfig"] = {"name": driver.virtual_topology}
    return spec


def _data_center(driver: DataCenterDriver) -> dict[str, Any]:
    return {
        "driverType": "gpu",
        "repository": driver.repository or NVIDIA,
        "image": driver.image or "driver",
        "version": driver.version,
    }


def _object(fleet: Fleet, pool: Pool, driver: Driver, spec: dict[str, Any]) -> dict[str, Any]:
    if driver.kernel_module_type is not None:
        spec["kernelModuleType"] = driver.kernel_module_type.value
    if driver.rdma.enabled:
        spec["rdma"] = {"enabled": True, "useHostMofed": bool(driver.rdma.use_host_mofed)}
    if pool_claims(pool) is not None:
        spec["manager"] = {"env": [dict(one) for one in EVICTS_CLAIMS]}
    tolerations = [
        {"key": one.key, "operator": "Exists", "effect": one.effect}
        for one in fleet.addons.gpu_operator.tolerations
    ]
    spec["nodeSelector"] = label = {POOL_LABEL: pool.name}
    spec["tolerations"] = [GPU_TOLERATION.as_dict(), *tolerations]
    return manifest(API_VERSION, "NVIDIADriver", pool.name, labels=label, spec=spec)
