"""Which value of the GPU Operator's chart each typed setting is.

One table serves rendering, the contract check and the comparison with raw values. Keys:
NVIDIA/gpu-operator v26.7.0 `deployments/gpu-operator/values.yaml` (read 2026-11-21).
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from gpufleet.spec.gpu_operator import GpuOperatorSettings

_SWITCHES = {
    "driver": "driver",
    "toolkit": "toolkit",
    "device_plugin": "devicePlugin",
    "gpu_feature_discovery": "gfd",
    "mig_manager": "migManager",
    "dcgm": "dcgm",
    "dcgm_exporter": "dcgmExporter",
    "node_feature_discovery": "nfd",
    "cdi": "cdi",
    "gds": "gds",
    "gdrcopy": "gdrcopy",
}

CHART_KEYS: Mapping[str, str] = {
    **{f"{field}.enabled": f"{key}.enabled" for field, key in _SWITCHES.items()},
    "driver.version": "driver.version",
    "driver.repository": "driver.repository",
    "driver.image": "driver.image",
    "driver.kernel_module_type": "driver.kernelModuleType",
    "driver.precompiled": "driver.usePrecompiled",
    "driver.rdma.enabled": "driver.rdma.enabled",
    "driver.rdma.use_host_mofed": "driver.rdma.useHostMofed",
    "driver.licensing.secret": "driver.licensingConfig.secretName",
    "driver.install_dir": "hostPaths.driverInstallDir",
    "driver.env": "driver.env",
    "driver.repo_config": "driver.repoConfig.configMapName",
    "driver.cert_config": "driver.certConfig.name",
    "driver.kernel_module_config": "driver.kernelModuleConfig.name",
    "driver.virtual_topology": "driver.virtualTopology.config",
    "driver.secret_env": "driver.secretEnv",
    "driver.upgrade_policy.auto_upgrade": "driver.upgradePolicy.autoUpgrade",
    "driver.upgrade_policy.max_parallel_upgrades": "driver.upgradePolicy.maxParallelUpgrades",
    "driver.upgrade_policy.max_unavailable": "driver.upgradePolicy.maxUnavailable",
    "driver.upgrade_policy.wait_for_completion_seconds": (
        "driver.upgradePolicy.waitForCompletion.timeoutSeconds"
    ),
    "driver.upgrade_policy.wait_for_pods": "driver.upgradePolicy.waitForCompletion.podSelector",
    **{
        f"driver.upgrade_policy.{field}.{key}": f"driver.upgradePolicy.{section}.{to_camel(key)}"
        for field, section in (("pod_deletion", "gpuPodDeletion"), ("drain", "drain"))
        for key in ("force", "timeout_seconds", "delete_empty_dir")
    },
    "driver.upgrade_policy.drain.enabled": "driver.upgradePolicy.drain.enable",
    "driver.upgrade_policy.drain.pod_selector": "driver.upgradePolicy.drain.podSelector",
    "toolkit.install_dir": "toolkit.installDir",
    "toolkit.env": "toolkit.env",
    "mig_manager.env": "migManager.env",
    "mig_manager.gpu_clients": "migManager.gpuClientsConfig.name",
    "cdi.nri": "cdi.nriPluginEnabled",
    "dcgm_exporter.metrics": "dcgmExporter.config.name",
    "dcgm_exporter.pod_labels": "dcgmExporter.enablePodLabels",
    "dcgm_exporter.env": "dcgmExporter.env",
    **{
        f"dcgm_exporter.service_monitor.{field}": f"dcgmExporter.serviceMonitor.{to_camel(field)}"
        for field in (
            "enabled",
            "interval",
            "scrape_timeout",
            "honor_labels",
            "additional_labels",
        )
    },
    "vgpu_host.enabled": "vgpuManager.enabled",
    "vgpu_host.default_workload": "sandboxWorkloads.defaultWorkload",
    "vgpu_host.manager_repository": "vgpuManager.repository",
    "vgpu_host.manager_version": "vgpuManager.version",
    "vgpu_host.device_config": "vgpuDeviceManager.config.name",
    "vgpu_host.device_default": "vgpuDeviceManager.config.default",
}
"""Field of `GpuOperatorSettings` -> dotted key of the values."""

_FIELDS = {key: field for field, key in CHART_KEYS.items()}


def typed_settings(
    settings: GpuOperatorSettings, *, written: bool = False
) -> Iterator[tuple[str, str, Any]]:
    """Each setting that has a value: its field, its key in the chart, the value as YAML has it.

    `written` leaves out what the author did not write, defaults that is.
    """
    for field, key in CHART_KEYS.items():
        value = _at(settings, field, written)
        if value is not None and value not in ("", {}):
            yield field, key, _plain(value)


def typed_value(settings: GpuOperatorSettings, key: str) -> object:
    """What the typed settings say about a key of the chart; None where they say nothing."""
    field = _FIELDS.get(key)
    value = None if field is None else _at(settings, field, written=False)
    return None if value is None else _plain(value)


def declared_field(key: str) -> str:
    """The typed setting of a key, in the spelling of the file. KeyError: no setting has it."""
    return declared_path(_FIELDS[key])


def declared_path(field: str) -> str:
    """A field in the spelling of the file: `driver.kernelModuleType`."""
    return ".".join(to_camel(part) for part in field.split("."))


def _at(settings: BaseModel, field: str, written: bool) -> Any:
    at: Any = settings
    for part in field.split("."):
        if at is None or (written and part not in at.model_fields_set):
            return None
        at = getattr(at, part)
    return at


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
