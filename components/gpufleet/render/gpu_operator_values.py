"""Values of the GPU Operator chart, and the ConfigMaps they name.

Keys and defaults: NVIDIA/gpu-operator v26.7.0 `deployments/gpu-operator/values.yaml`. The chart has
no values schema: a misspelt key passes silently, so only what is typed here should be set.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import Field

from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEFAULT_PLUGIN_CONFIG,
    device_plugin_config_name,
    mig_config_name,
)
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.partition import Partition
from gpufleet.render.device_plugin import device_plugin_files
from gpufleet.render.mig_parted import mig_parted_file
from gpufleet.spec.base import SecretName, SpecModel
from gpufleet.spec.sharing import MigStrategy

MIG_PARTED_KEY = "config.yaml"
"""Key mig-manager reads in its ConfigMap."""

_PULL_SECRET_PLACES = (
    "operator",
    "validator",
    "driver",
    "toolkit",
    "devicePlugin",
    "dcgm",
    "dcgmExporter",
    "gfd",
    "migManager",
    "nodeStatusExporter",
)
"""Sections of the values whose images come from NVIDIA's registry on a container node."""


_GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_CONTROL_PLANE_TOLERATION = {
    "key": "node-role.kubernetes.io/control-plane",
    "operator": "Equal",
    "value": "",
    "effect": "NoSchedule",
}


class OperandToleration(SpecModel):
    """A taint, with any value, that does not keep the operands away."""

    key: str
    """Key of the taint."""
    effect: str
    """Effect of the taint, `NoSchedule` or `NoExecute`."""


class OperatorSettings(SpecModel):
    """What the GPU Operator is told, in typed form."""

    driver: bool = True
    """Install the GPU driver. Default true; false where the node image brings it."""
    driver_version: str | None = None
    """Driver version. Default: the chart's own."""
    toolkit: bool = True
    """Install the container toolkit. Default true; false where the node image brings it."""
    device_plugin: bool = True
    """Run the device plugin. Default true."""
    device_plugin_default: str = ""
    """Key of the device-plugin ConfigMap for nodes that choose none. Default: none is applied."""
    mig_manager: bool = True
    """Run mig-manager. Default true."""
    mig_manager_env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment of mig-manager, such as `WITH_REBOOT`. Default: none."""
    mig_strategy: MigStrategy | None = None
    """How MIG devices are named, for the whole cluster. Default: `none`."""
    dcgm_exporter: bool = True
    """Export GPU metrics. Default true."""
    node_feature_discovery: bool = True
    """Run Node Feature Discovery. Default true; false where the cluster already has it."""
    image_pull_secret: SecretName | None = None
    """Secret for NVIDIA's registry, in the operator's namespace. Default: none."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints that operands and Node Feature Discovery tolerate with any value, beside
    `nvidia.com/gpu`. Default: none."""


def operator_values(
    settings: OperatorSettings, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The values, without the names of ConfigMaps; `extra` is merged last, mapping by mapping.

    Every switch is written out, also where it equals the chart's default: a default that moves in
    a later chart must not move a fleet.
    """
    driver: dict[str, Any] = {"enabled": settings.driver}
    if settings.driver_version is not None:
        driver["version"] = settings.driver_version
    manager: dict[str, Any] = {
        "enabled": settings.mig_manager,
        # The CRD allows this word or nothing: nodes without a layout get MIG switched off.
        "config": {"default": ALL_DISABLED},
    }
    if settings.mig_manager_env:
        manager["env"] = [
            {"name": name, "value": value}
            for name, value in sorted(settings.mig_manager_env.items())
        ]
    values: dict[str, Any] = {
        "nfd": {"enabled": settings.node_feature_discovery},
        "mig": {"strategy": settings.mig_strategy.value if settings.mig_strategy else "none"},
        "driver": driver,
        "toolkit": {"enabled": settings.toolkit},
        "devicePlugin": {
            "enabled": settings.device_plugin,
            "config": {"default": settings.device_plugin_default},
        },
        "migManager": manager,
        "dcgmExporter": {"enabled": settings.dcgm_exporter},
    }
    if settings.tolerations:
        # Lists replace the chart's: its own entries are written again.
        ours = [{"operator": "Exists", **t.model_dump()} for t in settings.tolerations]
        values["daemonsets"] = {"tolerations": [_GPU_TOLERATION, *ours]}
        values["node-feature-discovery"] = {
            "worker": {"tolerations": [_CONTROL_PLANE_TOLERATION, _GPU_TOLERATION, *ours]}
        }
    if settings.image_pull_secret is not None:
        pull = {"imagePullSecrets": [settings.image_pull_secret]}
        values = merged(values, dict.fromkeys(_PULL_SECRET_PLACES, pull))
    return merged(values, extra or {})


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Helm's own merge: mappings key by key, everything else replaced, null removes a key."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(below, Mapping):
            result[key] = merged(cast("Mapping[str, Any]", below), cast("Mapping[str, Any]", value))
        else:
            result[key] = value
    return result


def fleet_operator_settings(fleet: Fleet) -> OperatorSettings:
    """What the pools of a fleet and its overrides ask of the operator."""
    plan, options = fleet.addons.gpu_operator, fleet.spec.addons.gpu_operator
    data: dict[str, Any] = {
        "driver": plan.driver,
        "driverVersion": options.driver.version,
        "toolkit": plan.toolkit,
        "devicePlugin": plan.device_plugin,
        "devicePluginDefault": DEFAULT_PLUGIN_CONFIG,
        "migManager": plan.mig_manager,
        "migManagerEnv": dict(options.mig_manager.env),
        "migStrategy": None if plan.mig_strategy == "none" else plan.mig_strategy,
        "dcgmExporter": plan.dcgm_exporter,
        "nodeFeatureDiscovery": plan.node_feature_discovery,
        "imagePullSecret": options.image_pull_secret,
        "tolerations": [{"key": t.key, "effect": t.effect} for t in plan.tolerations],
    }
    return OperatorSettings.model_validate(data)


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """One ConfigMap of the operator's namespace."""

    name: str
    """Ends in a digest of the data. The operands read their file when they start; a new name makes
    the operator roll them out again, an edit under the old name would change nothing (NVIDIA GPU
    Operator documentation, sharing and MIG pages)."""
    data: Mapping[str, str]


def mig_parted_files(fleet: Fleet) -> ConfigFiles:
    """What mig-manager can apply: every layout of the fleet's pools, and `all-disabled`.

    Also the layouts that nodes still have while a change goes through in waves.
    """
    entries = {
        mig_config_name(pool.name, partition): (pool.gpu, partition)
        for pool, partition in _partitions(fleet)
    }
    return _named("gpufleet-mig-parted", {MIG_PARTED_KEY: mig_parted_file(entries)})


def plugin_files(fleet: Fleet) -> ConfigFiles:
    """What the device plugin can apply: every way of sharing of the pools, and `default`."""
    entries = {
        device_plugin_config_name(pool.name, partition): partition
        for pool, partition in _partitions(fleet)
    }
    return _named("gpufleet-device-plugin", device_plugin_files(entries))


def _partitions(fleet: Fleet) -> Iterator[tuple[Pool, Partition]]:
    """What nodes are or become: a plugin that finds no entry for its node's label advertises
    nothing, and mig-manager fails."""
    for pool in fleet.pools:
        yield pool, pool.partition
        if pool.previous is not None:
            yield pool, pool.previous.partition


def _named(stem: str, data: Mapping[str, str]) -> ConfigFiles:
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]
    return ConfigFiles(f"{stem}-{digest}", data)
