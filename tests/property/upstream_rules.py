"""NVIDIA's reading of the files we render, written from the rules its parsers apply.

Sources: NVIDIA/mig-parted v0.15.0 `api/spec/v1`, NVIDIA/k8s-device-plugin v0.20.0 `api/config/v1`
and `internal/rm`. Shares no code with the renderers.
"""

import re
from typing import Any

from tests.reading import yaml_data

PROFILE = re.compile(
    r"([1-9][0-9]*c\.)?[1-9][0-9]*g\.[0-9]+gb([+-][A-Za-z][A-Za-z0-9.]*(,[a-z.]+)*)?"
)
RESOURCE = re.compile(r"nvidia\.com/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
Entry = dict[str, Any]


def read_mig_parted(text: str) -> dict[str, list[Entry]]:
    """The configurations of a mig-parted file; AssertionError where mig-parted would refuse."""
    document = yaml_data(text)
    assert set(document) == {"version", "mig-configs"}, "unexpected field"
    assert document["version"] == "v1", "unknown version"
    configs = document["mig-configs"]
    assert configs, "at least one entry in 'mig-configs' is required"
    for name, entries in configs.items():
        assert entries, f"at least one entry in {name} is required"
        assert len(name) <= 63
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)
        for entry in entries:
            _check_entry(entry)
    return configs


def _check_entry(entry: Entry) -> None:
    assert set(entry) <= {"device-filter", "devices", "mig-enabled", "mig-devices"}
    assert {"devices", "mig-enabled"} <= set(entry), "missing required field"
    devices = entry["devices"]
    assert devices == "all" or (
        isinstance(devices, list) and devices and all(type(i) is int and i >= 0 for i in devices)
    )
    assert type(entry["mig-enabled"]) is bool
    if entry["mig-enabled"]:
        wanted = entry["mig-devices"]
        assert wanted
        assert all(PROFILE.fullmatch(name) for name in wanted)
        assert all(type(count) is int and count > 0 for count in wanted.values())
    else:
        assert not entry.get("mig-devices")


def layouts_of(entries: list[Entry], gpus: int) -> list[dict[str, int] | None]:
    """Devices of each GPU of a node; None: MIG off. Every GPU must be matched exactly once."""
    layouts: dict[int, dict[str, int] | None] = {}
    for entry in entries:
        devices = range(gpus) if entry["devices"] == "all" else entry["devices"]
        for index in devices:
            assert index < gpus, "GPU beyond the node"
            assert index not in layouts, "GPU matched twice"
            layouts[index] = dict(entry["mig-devices"]) if entry["mig-enabled"] else None
    assert sorted(layouts) == list(range(gpus)), "a GPU of the node is matched by no entry"
    return [layouts[index] for index in range(gpus)]


def allocatable(
    layouts: list[dict[str, int] | None], config: dict[str, Any], strategy: str
) -> dict[str, int]:
    """Resources that the device plugin publishes for these GPUs under this configuration."""
    assert set(config) <= {"version", "flags", "sharing"}
    assert config.get("version", "v1") == "v1"
    flags = config.get("flags", {})
    assert set(flags) <= {"migStrategy", "mpsRoot"}
    assert flags.get("migStrategy", strategy) == strategy, "the file contradicts the cluster"
    sharing = config.get("sharing", {})
    assert len(sharing) <= 1, "time-slicing is ignored next to MPS"
    if "mps" in sharing:
        assert strategy != "mixed", "using --mig-strategy=mixed is not supported with MPS"
        assert flags.get("mpsRoot"), "MPS without a root"
        assert all(layout is None for layout in layouts), "MPS is not supported for MIG devices"
    counts = _devices(layouts, strategy)
    for block in sharing.values():
        assert set(block) == {"renameByDefault", "failRequestsGreaterThanOne", "resources"}
        assert block["resources"], "no resources specified"
        names = [resource["name"] for resource in block["resources"]]
        assert len(set(names)) == len(names)
        for resource in block["resources"]:
            assert set(resource) == {"name", "replicas"}
            name, replicas = resource["name"], resource["replicas"]
            assert RESOURCE.fullmatch(name), name
            assert len(name) <= 63
            assert type(replicas) is int
            assert replicas >= 2
            assert name in counts, f"{name} would be skipped silently"
            shared = f"{name}.shared" if block["renameByDefault"] else name
            counts[shared] = counts.pop(name) * replicas
    return counts


def _devices(layouts: list[dict[str, int] | None], strategy: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    cut = [layout for layout in layouts if layout is not None]
    if strategy == "single" and cut:
        assert len(cut) == len(layouts), "all devices must have the same migEnabled value"
        assert all(layout for layout in cut), "a device has no MIG devices configured"
        profiles = {name for layout in cut for name in layout}
        assert len(profiles) == 1, "more than one MIG device type present on node"
    else:
        assert not cut or strategy == "mixed", "MIG devices would be ignored"
    for layout in layouts:
        if layout is None:
            counts["nvidia.com/gpu"] = counts.get("nvidia.com/gpu", 0) + 1
            continue
        for profile, count in layout.items():
            name = "nvidia.com/gpu"
            if strategy == "mixed":
                name = "nvidia.com/mig-" + profile.replace("+", ".").replace(",", ".")
            counts[name] = counts.get(name, 0) + count
    return counts
