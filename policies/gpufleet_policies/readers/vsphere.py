"""Machines on vSphere as facts: `VsphereGpuNodeGroup` makes one resource for all of a pool."""

from collections.abc import Iterator
from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, Size
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside, number, word
from gpufleet_policies.readers.cluster_api import vgpu_board
from gpufleet_policies.readers.machines import Machines


def machine_group(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`gpufleet:vsphere:MachineGroup`: its machines, which nothing scales."""
    for node in mapping(inside(document, "nodes")).values():
        yield from gpu_node({**mapping(node)}, locator)


def gpu_node(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`gpufleet:vsphere:Machine`, of states of earlier versions, or one machine of a group."""
    found = _hardware(document)
    one: Fact[int] = known(1, place="the machine")
    yield NodePool(
        locator=locator,
        name=locator.name,
        maker=Maker.VSPHERE,
        instance_types=absent("gpu"),
        instance_types_place="gpu",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=found.carries_gpus,
        size=Size(one, one, one, "the machine", "the machine", fixed=True),
        capacity=known(frozenset({"onPrem"})),
        # Its kubelet registers the node with them, from user data that is not read here.
        taints=unknown("userData"),
        labels_known=False,
        tags_known=False,
        vgpu_profile=word(document, "gpu.profile"),
    )


def _hardware(document: dict[str, Any]) -> Machines:
    mode = word(document, "gpu.mode")
    if not mode.is_known:
        nothing: Fact[Any] = unknown("gpu")
        return Machines(nothing, nothing, nothing)
    carries: Fact[bool] = known(True, place="gpu")
    if mode.value == "vgpu":
        profile = word(document, "gpu.profile")
        board = vgpu_board(profile.value) if profile.is_known else unknown("gpu.profile")
        return Machines(board, number(document, "gpu.count"), carries)
    if mode.value == "fixed":
        addresses = items(inside(document, "gpu.pciAddresses"))
        return Machines(unknown("gpu.pciAddresses"), known(len(addresses)), carries)
    devices = [one for one in items(inside(document, "gpu.deviceIds")) if isinstance(one, str)]
    return Machines(_by_device(devices), number(document, "gpu.count"), carries)


def _by_device(devices: list[str]) -> Fact[str]:
    """The only GPU with all of these PCI device ids; unknown where none, or several, have them."""
    wanted = {device.removeprefix("0x").lower()[:4] for device in devices}
    matching = [
        gpu.key
        for gpu in load().gpus.values()
        if wanted & {one.removeprefix("0x").lower()[:4] for one in gpu.pci_device_ids}
    ]
    return known(matching[0], place="gpu.deviceIds") if len(matching) == 1 else unknown("gpu")
