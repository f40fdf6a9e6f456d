"""Pools on vSphere from machines of this package's provider and the Node objects they became."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from gpufleet.catalogue import load
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import (
    Choice,
    Declaration,
    Observations,
    ObservedResource,
    PlatformAdoption,
    ProposedPool,
)
from gpufleet.platforms.vsphere.machine_arguments import MODE_LABEL, board_ids, keys_of
from gpufleet.spec.base import Platform
from gpufleet.spec.platforms.vsphere import VsphereMachineOptions, VspherePlaceOptions

GROUP = "gpufleet:vsphere:MachineGroup"
MACHINES = ("gpufleet:vsphere:Machine", "pulumi-python:dynamic/gpufleet:VsphereGpuNode")
"""Types of a group, and of one machine in states of earlier versions."""
_MODES = {"dynamic": "dynamicDirectPath", "fixed": "passthrough", "vgpu": "vgpu"}
_SAME = [name for name in keys_of(VsphereMachineOptions) if name not in ("cpus", "updatePolicy")]
_PLACE = [*keys_of(VspherePlaceOptions), "networks"]
"""Inputs of a machine and its place that the pool has under the same name."""


class VsphereAdoption(PlatformAdoption):
    """Machines: those with one pool label, else with one beginning of their names, are one pool."""

    platform = Platform.VSPHERE
    tokens = frozenset((GROUP, *MACHINES))
    wired: ClassVar[Mapping[str, Sequence[str]]] = {
        "machine": (
            *(
                "bootSha256",
                "userData",
                "metaData",
                "vendorData",
                "place.server",
                "place.datacenter",
            ),
            *(
                "life",
                "endpoint",
                "owner",
                "generation",
                "batch",
                "preflight",
                "place.resourcePool",
                "place.cluster",
            ),
            *("credentialsKey", "userDataFormat", "place.network", "instanceUuid", "adopt"),
        )
    }
    choices = (Choice("gpuTaint", (False, True)),)

    def cluster(self, seen: Observations) -> Declaration:
        """Name and place."""
        nodes = _nodes(seen)
        for one in _machines(seen):
            name = str(one.properties.get("name"))
            pool = nodes.get(name, ({}, []))[0].get(POOL_LABEL)
            if pool is not None and f"-{pool}-" in name:
                return {"name": name.rpartition(f"-{pool}-")[0]}
        return {"name": "adopted"}

    def pools(self, seen: Observations) -> Iterator[ProposedPool]:
        """One pool for each group of nodes."""
        nodes = _nodes(seen)
        groups: dict[tuple[str, str], list[ObservedResource]] = {}
        for one in _machines(seen):
            name = str(one.properties.get("name"))
            stem = name.rpartition("-")[0]
            pool = nodes.get(name, ({}, []))[0].get(POOL_LABEL)
            if pool is not None and f"-{pool}-" in name:
                groups.setdefault((pool, name.rpartition(f"-{pool}-")[0]), []).append(one)
            else:
                groups.setdefault((stem.rpartition("-")[2], stem.rpartition("-")[0]), []).append(
                    one
                )
        for (name, prefix), members in groups.items():
            yield _pool(name, prefix, members, nodes)


def _pool(
    name: str,
    prefix: str,
    members: list[ObservedResource],
    nodes: Mapping[str, tuple[dict[str, str], list[Any]]],
) -> ProposedPool:
    inputs = members[0].properties
    gpu, place = mapping(inputs.get("gpu")), mapping(inputs.get("place"))
    keys = [str(m.properties.get("name")).removeprefix(f"{prefix}-{name}-") for m in members]
    ordered = sorted(zip(keys, members, strict=True), key=lambda one: _rank(one[0]))
    labels, taints = nodes.get(str(ordered[0][1].properties.get("name")), ({}, []))
    notes: list[str] = []
    if not labels:
        notes.append(
            "no Node object of its machines was found: sharing, labels and taints are open"
        )
    key = _gpu_key(gpu, inputs.get("gpuMemoryGib"))
    if key is None:
        notes.append("the devices do not name one GPU of the catalogue: `gpu` is a guess")
    if inputs.get("addresses"):
        notes.append("its machines have static addresses: write them into networks or machines")
    options: Declaration = {
        "cpus": inputs.get("cpus"),
        "memoryGib": (inputs.get("memoryMib") or 0) // 1024,
        "attachment": _MODES.get(str(gpu.get("mode")), "dynamicDirectPath"),
        **{key: inputs[key] for key in _SAME if inputs.get(key) is not None},
        **{key: place[key] for key in _PLACE if place.get(key) is not None},
    }
    if inputs.get("updatePolicy") not in (None, "refuse"):
        options["updatePolicy"] = inputs["updatePolicy"]
    if gpu.get("label"):
        options["hardwareLabel"] = gpu["label"]
    known = [] if key is None else _device_ids(key)
    if items(gpu.get("deviceIds")) and items(gpu["deviceIds"]) != known:
        options["deviceIds"] = items(gpu["deviceIds"])
    numbers = [int(k) for k, _ in ordered if k.isdigit()]
    if len(numbers) == len(ordered):
        missing = sorted(set(range(max(numbers) + 1)) - set(numbers))
        if missing:
            options["exclude"] = missing
    else:
        options["machines"] = [{"name": k} for k, _ in ordered]
    pool: Declaration = {
        "name": name,
        "gpu": key or "L4",
        "gpusPerNode": gpu.get("count") or len(items(gpu.get("pciAddresses"))) or 1,
        "nodes": {"min": len(ordered), "max": len(ordered)},
        "disk": {"sizeGib": inputs.get("diskGib")},
        "vsphere": options,
    }
    if gpu.get("mode") == "fixed":
        _fixed(options, ordered)
    if gpu.get("mode") == "vgpu":
        pool["sharing"] = {"vgpu": {"profile": gpu.get("profile")}}
    own = [t for t in taints if mapping(t).get("key") != "nvidia.com/gpu"]
    if own:
        pool["taints"] = own
    if labels and len(own) == len(taints):
        pool["gpuTaint"] = False
    return ProposedPool(
        pool,
        {f"machine/{k}": {**m.properties} for k, m in ordered},
        tuple(m for _, m in ordered),
        labels={k: v for k, v in labels.items() if k != MODE_LABEL},
        name_prefix=prefix,
        notes=tuple(notes),
    )


def _fixed(options: Declaration, ordered: list[tuple[str, ObservedResource]]) -> None:
    """PCI addresses: the pool's where all machines have the same, else each machine's own."""
    found = [items(mapping(m.properties.get("gpu")).get("pciAddresses")) for _, m in ordered]
    if all(one == found[0] for one in found):
        options["pciAddresses"] = found[0]
        return
    options["machines"] = [
        {"name": key, "pciAddresses": one} for (key, _), one in zip(ordered, found, strict=True)
    ]
    options.pop("exclude", None)


def _gpu_key(gpu: Mapping[str, Any], memory: Any) -> str | None:
    """The GPU of the catalogue with these PCI devices, or with this profile."""
    rows = load().gpus
    wanted = {str(one).lower() for one in items(gpu.get("deviceIds"))}
    if wanted:
        named = [k for k in rows if wanted <= set(_device_ids(k))]
        exact = [k for k in named if set(_device_ids(k)) == wanted]
        found = [k for k in (exact or named) if rows[k].nominal_gb == memory] or exact or named
        return found[0] if len(found) == 1 else None
    if gpu.get("mode") == "vgpu":
        board = str(gpu.get("profile")).split("_")[-1].split("-")[0].upper()
        found = [
            k for k, r in rows.items() if k.upper().startswith(board) and r.nominal_gb == memory
        ]
        return found[0] if len(found) == 1 else None
    found = [k for k, row in rows.items() if row.nominal_gb == memory and row.vendor == "nvidia"]
    return found[0] if len(found) == 1 else None


def _device_ids(key: str) -> list[str]:
    return list(board_ids(load().gpu(key), None))


def _rank(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdigit() else (1 << 30, key)


def _machines(seen: Observations) -> Iterator[ObservedResource]:
    """Each machine, with its inputs."""
    yield from seen.of(*MACHINES)
    for group in seen.of(GROUP):
        for node in mapping(group.properties.get("nodes")).values():
            yield replace(group, properties=mapping(node))


def _nodes(seen: Observations) -> dict[str, tuple[dict[str, str], list[Any]]]:
    """Name of each Node -> its labels and taints."""
    found: dict[str, tuple[dict[str, str], list[Any]]] = {}
    for one in seen.objects("Node"):
        found[str(one.metadata.get("name"))] = (one.labels, items(one.spec.get("taints")))
    return found


ADOPTION = VsphereAdoption()
