"""The configuration file of NVIDIA mig-parted, which mig-manager applies on each node.

Format: NVIDIA/mig-parted v0.15.0 `api/spec/v1`. Nodes choose a configuration of the file by the
label `nvidia.com/mig.config`; its names come from `fleet.config_names` and change with the layout,
because mig-manager ignores an edit under the same name.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue.gpu import Gpu
from gpufleet.fleet.config_names import ALL_DISABLED
from gpufleet.partition import Partition


def mig_parted_config(entries: Mapping[str, tuple[Gpu, Partition]]) -> dict[str, Any]:
    """The document for all partitioned pools of a cluster, by configuration name.

    Every GPU of a node is listed by index exactly once, whole ones with `mig-enabled: false`:
    mig-parted refuses a node with a GPU that no entry matches. There is no `device-filter`, as all
    GPUs of one pool are the same model. `all-disabled` is always there, for nodes without MIG;
    pools that cut nothing use it and add no configuration.
    """
    configs: dict[str, list[dict[str, Any]]] = {
        ALL_DISABLED: [{"devices": "all", "mig-enabled": False}]
    }
    for name, (_, partition) in sorted(entries.items()):
        if partition.mig_enabled:
            configs[name] = _entries(partition)
    return {"version": "v1", "mig-configs": configs}


def mig_parted_file(entries: Mapping[str, tuple[Gpu, Partition]]) -> str:
    """`mig_parted_config` as YAML: the key `config.yaml` of mig-manager's ConfigMap.

    Written line by line: thousands of layouts take milliseconds, and the text depends on no
    library's line breaking.
    """
    document = mig_parted_config(entries)
    lines = [f"version: {document['version']}", "mig-configs:"]
    for name, config in document["mig-configs"].items():
        lines.append(f"  {name}:")
        for entry in config:
            fields = [f"{key}: {_flow(value)}" for key, value in entry.items()]
            lines += [f"  - {fields[0]}", *(f"    {field}" for field in fields[1:])]
    return "\n".join(lines) + "\n"


def _flow(value: str | bool | list[int] | dict[str, int]) -> str:
    """A value in YAML's flow style. Profile names need quotes and hold nothing to escape."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "{" + ", ".join(f'"{name}": {count}' for name, count in value.items()) + "}"


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
