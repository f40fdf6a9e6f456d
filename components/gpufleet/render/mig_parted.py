"""The configuration file of NVIDIA mig-parted, which mig-manager applies on each node.

Format: NVIDIA/mig-parted v0.15.0 `api/spec/v1`. Nodes choose a configuration of the file by the
label `nvidia.com/mig.config`; its names come from `fleet.config_names` and change with the layout,
because mig-manager ignores an edit under the same name.
"""

from collections.abc import Mapping
from typing import Any, cast

from gpufleet.catalogue.gpu import Gpu
from gpufleet.documents.writing import ListOnOneLine, OnOneLine, yaml_text
from gpufleet.fleet.config_names import ALL_DISABLED
from gpufleet.partition.partition import Partition


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
