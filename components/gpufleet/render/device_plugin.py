"""Configuration of the NVIDIA device plugin and GPU feature discovery, one document per sharing.

Format: NVIDIA/k8s-device-plugin v0.20.0 `api/config/v1`. Nodes choose a document by the label
`nvidia.com/device-plugin.config`; the names come from `fleet.config_names`.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.config_names import DEFAULT_PLUGIN_CONFIG
from gpufleet.partition.partition import Partition
from gpufleet.partition.shares import SHARED_SUFFIX

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
