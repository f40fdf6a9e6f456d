"""Values of the GPU Operator chart for a fleet, and the ConfigMaps that the values name."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.catalogue.gpu import Gpu
from gpufleet.documents.writing import ListOnOneLine, OnOneLine, yaml_text
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEFAULT_PLUGIN_CONFIG,
    device_plugin_config_name,
    mig_config_name,
)
from gpufleet.fleet.cut_over import claim_cuts, claim_gates
from gpufleet.fleet.gpu_operator_chart import OperatorSettings, planned_settings
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.partition.partition import Partition
from gpufleet.partition.shares import SHARED_SUFFIX
from gpufleet.render.dcgm_metrics import CSV_KEY, exporter_csv, exporter_settings
from gpufleet.spec.gpu_operator import DcgmExporter

MIG_PARTED_KEY = "config.yaml"
"""Key mig-manager reads in its ConfigMap."""


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """One ConfigMap of the operator's namespace."""

    name: str
    """Ends in a digest of the data. The operands read their file when they start; a new name makes
    the operator roll them out again, an edit under the old name would change nothing (NVIDIA GPU
    Operator documentation, sharing and MIG pages)."""
    data: Mapping[str, str]


def fleet_operator_settings(fleet: Fleet) -> OperatorSettings:
    """Settings of the operator from a fleet's pools, overrides and monitoring."""
    planned = planned_settings(fleet.spec.addons, fleet.addons.gpu_operator)
    claims = {"claims": any(True for _ in claim_cuts(fleet)), "claim_gates": claim_gates(fleet)}
    asked = planned.model_copy(update=claims)
    files = exporter_files(fleet)
    if fleet.spec.monitoring is None:
        return asked
    implied = exporter_settings(fleet.spec.monitoring, None if files is None else files.name)
    declared = asked.settings.dcgm_exporter.model_dump(by_alias=True, exclude_unset=True)
    exporter = DcgmExporter.model_validate(merged(implied, declared))
    settings = asked.settings.model_copy(update={"dcgm_exporter": exporter})
    # Copied settings count as declared.
    settings.model_fields_set.add("dcgm_exporter")
    return asked.model_copy(update={"settings": settings})


def exporter_files(fleet: Fleet) -> ConfigFiles | None:
    """Counters of the operator's DCGM exporter; None: no monitoring, or the declaration names its
    own ConfigMap."""
    own = fleet.spec.addons.gpu_operator.dcgm_exporter.metrics
    if fleet.spec.monitoring is None or own is not None or not fleet.addons.gpu_operator.enabled:
        return None
    return _named("gpufleet-dcgm-metrics", {CSV_KEY: exporter_csv(fleet.spec.monitoring)})


def mig_parted_files(fleet: Fleet) -> ConfigFiles:
    """Configurations of mig-manager: every layout of the fleet's pools, and `all-disabled`.

    Also the layouts that nodes still have during a change in waves.
    """
    entries = {
        mig_config_name(pool.name, partition): (pool.gpu, partition)
        for pool, partition in _partitions(fleet)
    }
    return _named("gpufleet-mig-parted", {MIG_PARTED_KEY: mig_parted_file(entries)})


def plugin_files(fleet: Fleet) -> ConfigFiles:
    """Configurations of the device plugin: every sharing mode of the pools, and `default`."""
    entries = {
        device_plugin_config_name(pool.name, partition): partition
        for pool, partition in _partitions(fleet)
    }
    return _named("gpufleet-device-plugin", device_plugin_files(entries))


def configuration_names(fleet: Fleet) -> list[str]:
    """All values of a node's configuration labels: MIG layouts and sharing modes."""
    names = {ALL_DISABLED, DEFAULT_PLUGIN_CONFIG}
    for pool, partition in _partitions(fleet):
        names |= {
            mig_config_name(pool.name, partition),
            device_plugin_config_name(pool.name, partition),
        }
    return sorted(names)


def _partitions(fleet: Fleet) -> Iterator[tuple[Pool, Partition]]:
    """Current and planned partitions of nodes. Without an entry for its node's label, a plugin
    advertises nothing, and mig-manager fails."""
    for pool in fleet.pools:
        yield pool, pool.partition
        if pool.previous is not None:
            yield pool, pool.previous.partition


def _named(stem: str, data: Mapping[str, str]) -> ConfigFiles:
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]
    return ConfigFiles(f"{stem}-{digest}", data)


# The configuration file of NVIDIA mig-parted, which mig-manager applies on each node.
#
# Format: NVIDIA/mig-parted v0.15.0 `api/spec/v1`. Nodes choose a configuration of the file by the
# label `nvidia.com/mig.config`; its names come from `fleet.config_names` and change with the
# layout, because mig-manager ignores an edit under the same name.


def mig_parted_config(entries: Mapping[str, tuple[Gpu, Partition]]) -> dict[str, Any]:
    """The document for all partitioned pools of a cluster, by configuration name.

    Every GPU of a node is listed by index exactly once, whole ones with `mig-enabled: false`:
    mig-parted refuses a node with a GPU that no entry matches. There is no `device-filter`, as all
    GPUs of one pool are the same model. `all-disabled` is always there, for nodes without MIG;
    pools without MIG devices use it and add no configuration.
    """
    configs: dict[str, list[dict[str, Any]]] = {
        ALL_DISABLED: [{"devices": "all", "mig-enabled": False}]
    }
    for name, (_, partition) in sorted(entries.items()):
        if partition.mig_enabled:
            configs[name] = _entries(partition)
    return {"version": "v1", "mig-configs": configs}


def mig_parted_file(entries: Mapping[str, tuple[Gpu, Partition]]) -> str:
    """`mig_parted_config` as YAML: the key `config.yaml` of mig-manager's ConfigMap."""
    document = mig_parted_config(entries)
    configs = {
        name: [{key: _on_one_line(value) for key, value in entry.items()} for entry in config]
        for name, config in document["mig-configs"].items()
    }
    return yaml_text({**document, "mig-configs": configs})


def _on_one_line(value: Any) -> Any:
    if isinstance(value, dict):
        return OnOneLine(cast("dict[str, int]", value))
    return ListOnOneLine(cast("list[int]", value)) if isinstance(value, list) else value


def _entries(partition: Partition) -> list[dict[str, Any]]:
    """One entry per distinct layout, in order of the first GPU that has it."""
    groups: dict[frozenset[tuple[str, int]], list[int]] = {}
    for gpu in partition.gpus:
        groups.setdefault(frozenset(gpu.devices.items()), []).append(gpu.index)
    return [
        {"devices": indices, "mig-enabled": True, "mig-devices": dict(sorted(devices))}
        if devices
        else {"devices": indices, "mig-enabled": False}
        for devices, indices in groups.items()
    ]


# Configuration of the NVIDIA device plugin and GPU feature discovery, one document per sharing.
#
# Format: NVIDIA/k8s-device-plugin v0.20.0 `api/config/v1`. Nodes choose a document by the label
# `nvidia.com/device-plugin.config`; the names come from `fleet.config_names`.

MPS_ROOT = "/run/nvidia/mps"
"""Folder of the MPS control daemon's pipes: the default of the GPU Operator and the chart."""


def device_plugin_config(partition: Partition) -> dict[str, Any]:
    """The document for one pool.

    The MIG strategy is a setting of the whole cluster, and the operator's environment variable
    overrides any file; only documents that name MIG resources repeat the strategy. A resource
    is written by its plain name; `renameByDefault` adds the suffix `.shared`, and whole GPUs next
    to time-sliced MIG slices stay unshared by not being listed.
    """
    if partition.replicas == 1:
        return {"version": "v1"}
    kind = "mps" if partition.mode == "mps" else "timeSlicing"
    flags: dict[str, Any] = {}
    if partition.mig_enabled:
        flags["migStrategy"] = partition.strategy
    if kind == "mps":
        flags["mpsRoot"] = MPS_ROOT
    return {
        "version": "v1",
        **({"flags": flags} if flags else {}),
        "sharing": {
            kind: {
                "renameByDefault": partition.rename,
                "failRequestsGreaterThanOne": partition.fail_requests_greater_than_one,
                "resources": [
                    {"name": name, "replicas": partition.replicas}
                    for name in sorted(_shared_resources(partition))
                ],
            }
        },
    }


def device_plugin_files(entries: Mapping[str, Partition]) -> dict[str, str]:
    """Data of the ConfigMap: name -> YAML, for all pools of a cluster.

    `default` is always there, for nodes that share nothing.
    """
    documents: dict[str, dict[str, Any]] = {DEFAULT_PLUGIN_CONFIG: {"version": "v1"}}
    for name, partition in sorted(entries.items()):
        if name != DEFAULT_PLUGIN_CONFIG:
            documents[name] = device_plugin_config(partition)
    return {name: yaml_text(document) for name, document in documents.items()}


def _shared_resources(partition: Partition) -> set[str]:
    """The replicated resources, before any renaming."""
    return {
        share.resource.removesuffix(SHARED_SUFFIX) if partition.rename else share.resource
        for share in partition.shares
        if share.replicas > 1
    }
