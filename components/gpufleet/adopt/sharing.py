"""Sharing of GPUs, from the configurations that nodes select by their labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.catalogue import Gpu
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL
from gpufleet.fleet.observed import Declaration, Observations, ObservedResource
from gpufleet.fleet.reported_gpus import reported_gpus
from gpufleet.partition.placement import Refusal, place
from gpufleet.spec.document import UnreadableDocumentError

MIG_KEY = "mig-configs"


def configurations(seen: Observations) -> tuple[dict[str, Any], dict[str, Any]]:
    """mig-parted configurations and device-plugin documents of all ConfigMaps, by name."""
    partitions: dict[str, Any] = {}
    plugins: dict[str, Any] = {}
    for one in seen.objects("ConfigMap"):
        for name, text in mapping(one.properties.get("data")).items():
            try:
                document = read_go(text).data if isinstance(text, str) else None
            except UnreadableDocumentError:
                continue  # data of another program
            if not is_mapping(document) or "version" not in document:
                continue
            if MIG_KEY in document:
                partitions |= mapping(document[MIG_KEY])
            else:
                plugins[name] = document
    return partitions, plugins


def sharing_of(
    labels: Mapping[str, str],
    seen: Observations,
    nodes: Sequence[ObservedResource],
    gpu: Gpu | None,
    gpus: int | None,
) -> tuple[Declaration | None, list[str]]:
    """`sharing` of nodes with these labels, and missing configurations. Slices that the nodes
    report are used if no configuration describes the partitions."""
    partitions, plugins = configurations(seen)
    notes: list[str] = []
    cut = labels.get(MIG_CONFIG_LABEL, "all-disabled")
    shared = labels.get(DEVICE_PLUGIN_CONFIG_LABEL, "default")
    layouts: list[Declaration] = []
    if cut != "all-disabled":
        if cut in partitions:
            layouts = _layouts(items(partitions[cut]), gpus)
        elif cut.startswith("all-"):
            return {"mig": {"layout": cut, **_strategy(labels)}}, notes
        else:
            notes.append(f"the MIG configuration {cut} was not found among the ConfigMaps")
    if shared not in plugins and shared != "default":
        notes.append(f"the device-plugin configuration {shared} was not found")
    seen_gpus = reported_gpus(nodes[0].properties if nodes else {})
    slices = seen_gpus.slices
    if slices and not layouts:
        found = _cut(slices, seen_gpus.whole, gpu, gpus)
        if found is None:
            text = ", ".join(f"{n} x {name}" for name, n in sorted(slices.items()))
            notes.append(
                f"a node offers {text}, and no object says which of its GPUs holds what: add the "
                "ConfigMap of the MIG manager to the input, or write `sharing.mig.layouts`"
            )
        # A pool of whole GPUs would remove them: without layouts it is left out.
        return {"mig": {"layouts": found or [], **_strategy(labels)}}, notes
    found = mapping(plugins.get(shared))
    turns = _turns(mapping(found.get("sharing")))
    if layouts:
        mig: Declaration = {"layouts": layouts}
        if mapping(found.get("flags")).get("migStrategy") == "single":
            mig["strategy"] = "single"
        return {"mig": {**mig, **turns}}, notes
    return (turns or None), notes


def _strategy(labels: Mapping[str, str]) -> Declaration:
    single = labels.get("nvidia.com/mig.strategy") == "single"
    return {"strategy": "single"} if single else {}


def _cut(
    slices: Mapping[str, int], whole: int, gpu: Gpu | None, gpus: int | None
) -> list[Declaration] | None:
    """The layout of the partitioned GPUs, if one layout fits all of them; else None."""
    cut = (gpus or 0) - whole
    if gpu is None or gpu.mig is None or cut < 1 or any(n % cut for n in slices.values()):
        return None
    devices = {name: count // cut for name, count in slices.items()}
    if isinstance(place(gpu.mig, devices), Refusal):
        return None
    return [{"devices": devices} if not whole else {"gpus": cut, "devices": devices}]


def _layouts(entries: list[Any], gpus: int | None) -> list[Declaration]:
    """One layout for each entry; whole GPUs at the end need none."""
    found: list[tuple[int, int, Declaration]] = []
    for entry in entries:
        indices = mapping(entry).get("devices")
        devices = dict(mapping(mapping(entry).get("mig-devices")))
        if indices == "all":
            found.append((0, gpus or 0, devices))
        else:
            listed = [i for i in items(indices) if isinstance(i, int)]
            found.append((min(listed, default=0), len(listed), devices))
    ordered = sorted(found, key=lambda one: one[0])
    while ordered and not ordered[-1][2]:
        ordered.pop()
    whole = len(ordered) == 1 and ordered[0][1] in (gpus, 0)
    return [
        {"devices": devices} if whole else {"gpus": count, "devices": devices}
        for _, count, devices in ordered
    ]


def _turns(sharing: Mapping[str, Any]) -> Declaration:
    for mode in ("timeSlicing", "mps"):
        written = mapping(sharing.get(mode))
        resources = [mapping(one) for one in items(written.get("resources"))]
        if not resources:
            continue
        turns: Declaration = {"replicas": resources[0].get("replicas")}
        if written.get("renameByDefault") is not True:
            turns["rename"] = False
        if mode == "timeSlicing" and written.get("failRequestsGreaterThanOne") is not True:
            turns["failRequestsGreaterThanOne"] = False
        return {mode: turns}
    return {}
