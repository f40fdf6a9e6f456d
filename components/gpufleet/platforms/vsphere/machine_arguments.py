"""Inputs of the machines of a vSphere pool that follow from the declaration.

The component adds values of other resources (the vCenter, the location in its inventory, the join
configuration).
"""

import itertools
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from gpufleet.catalogue.gpu import Gpu
from gpufleet.fleet.layout_waves import labels_of
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import SpecModel
from gpufleet.spec.platforms.vsphere import (
    Attachment,
    VsphereMachineOptions,
    VsphereOptions,
    VspherePlaceOptions,
)
from gpufleet.spec.platforms.vsphere_devices import VsphereAdapter, VsphereAddresses

MODE_LABEL = "gpufleet.dev/gpu-attachment"
"""How a node's GPU is attached: `passthrough`, `dynamicDirectPath` or `vgpu`. Drivers differ: a
guest with a vGPU needs the licensed one, all others the standard one."""

MAX_NAME = 63
"""Longest name: of the machine, the guest's host name and the Kubernetes node."""


@dataclass(frozen=True, slots=True)
class PoolMachine:
    """One machine that a pool declares."""

    key: str
    """Its identity in the pool: its number, or its given name."""
    name: str
    """Name of the machine, the guest's host name and the Kubernetes node."""
    position: int
    """Position in the order of changes, from 0."""
    hosts: tuple[str, ...] = ()
    """Allowed hosts, if the pool's do not apply."""
    pci_addresses: tuple[str, ...] = ()
    """Its devices, if the pool's do not apply."""
    addresses: tuple[str, ...] = ()
    """Its addresses, if the machine is named: one for each network with addresses."""


def options_of(pool: Pool) -> VsphereOptions:
    """The pool's `vsphere` section, which every compiled pool of vSphere has."""
    assert pool.spec.vsphere is not None
    return pool.spec.vsphere


def pool_machines(prefix: str, pool: Pool) -> tuple[PoolMachine, ...]:
    """`nodes.min` machines, `<prefix>-<pool>-<key>`: the named ones, else the first numbers that
    are not excluded. No machine is ever renumbered: fewer remove the highest, and `exclude` any.

    Raises:
        ValueError: the longest name is too long; the text states the excess.
    """
    found = machines_of(f"{prefix}-{pool.name}", pool)
    longest = max((machine.name for machine in found), key=len, default="")
    if len(longest) > MAX_NAME:
        raise ValueError(
            f"{longest!r} has {len(longest)} characters, and a machine's name at most {MAX_NAME}: "
            f"shorten namePrefix or the pool's name by {len(longest) - MAX_NAME}"
        )
    return found


def machines_of(stem: str, pool: Pool) -> tuple[PoolMachine, ...]:
    """The machines of `pool_machines`, with a prefix of their names, of any length."""
    options = options_of(pool)
    if options.machines:
        return tuple(
            PoolMachine(
                item.name,
                f"{stem}-{item.name}",
                position,
                item.hosts,
                tuple(address.lower() for address in item.pci_addresses),
                item.addresses,
            )
            for position, item in enumerate(options.machines)
        )
    numbers = (number for number in itertools.count() if number not in options.exclude)
    return tuple(
        PoolMachine(str(number), f"{stem}-{number}", position)
        for position, number in enumerate(itertools.islice(numbers, pool.nodes.minimum))
    )


def machine_inputs(pool: Pool) -> dict[str, Any]:
    """Common inputs of every machine of the pool, in the spelling of `VsphereGpuNode`."""
    options = options_of(pool)
    shared = _written(options, VsphereMachineOptions)
    tags: list[dict[str, str]] = shared.pop("tags", [])
    return {
        **shared,
        **({"tags": sorted(tags, key=lambda tag: (tag["category"], tag["name"]))} if tags else {}),
        "memoryMib": options.memory_gib * 1024,
        "diskGib": pool.spec.disk.size_gib,
        "gpu": gpu_attachment(pool),
        "gpuMemoryGib": pool.gpu.nominal_gb or 1,
        "updatePolicy": options.update_policy.value,
    }


def placed_machines(prefix: str, pool: Pool) -> dict[str, dict[str, Any]]:
    """The inputs of each machine by its key, as far as the pool decides them.

    Raises:
        ValueError: the longest name is too long.
    """
    common, place = machine_inputs(pool), place_inputs(options_of(pool))
    return {
        machine.key: {
            **common,
            "place": {**place, **own_hosts(machine)},
            **own_inputs(machine, pool),
        }
        for machine in pool_machines(prefix, pool)
    }


def place_inputs(options: VsphereOptions) -> dict[str, Any]:
    """Location of a machine from the pool, in the spelling of `VsphereGpuNode`."""
    place = _written(options, VspherePlaceOptions)
    networks = [_written(network, VsphereAdapter) for network in options.networks]
    return {**place, **({"networks": networks} if networks else {})}


def keys_of(model: type[SpecModel]) -> list[str]:
    """Its fields in the spelling of files."""
    return [to_camel(name) for name in model.model_fields]


def _written(given: SpecModel, part: type[SpecModel]) -> dict[str, Any]:
    """The values of a part of the model that differ from the defaults, in the spelling of files."""
    return given.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, include=set(part.model_fields)
    )


def own_inputs(machine: PoolMachine, pool: Pool) -> dict[str, Any]:
    """Inputs of only this machine of the pool."""
    inputs: dict[str, Any] = {"name": machine.name}
    options = options_of(pool)
    if options.attachment is Attachment.PASSTHROUGH:
        addresses = machine.pci_addresses or tuple(a.lower() for a in options.pci_addresses)
        inputs["gpu"] = {"mode": "fixed", "pciAddresses": list(addresses)}
    if found := static_addresses(machine, options):
        inputs["addresses"] = found
    if uuid := options.adopt.get(machine.key):
        inputs["adopt"] = uuid.lower()
    return inputs


def own_hosts(machine: PoolMachine) -> dict[str, Any]:
    """The part of its location of only this machine of the pool."""
    return {"hosts": list(machine.hosts)} if machine.hosts else {}


def static_addresses(machine: PoolMachine, options: VsphereOptions) -> list[dict[str, Any]]:
    """Static addresses of a machine: its own if it is named, else those of its number. Missing
    addresses are left out; `validate_vsphere` reports them."""
    found: list[dict[str, Any]] = []
    own = list(machine.addresses)
    for adapter, network in enumerate(options.networks):
        given = network.addresses
        if given is None:
            continue
        if options.machines:
            address = f"{own.pop(0)}/{given.prefix}" if own else None
        else:
            address = dict(enumerate(given.listed)).get(int(machine.key))
        if address is not None:
            more = _written(given, VsphereAddresses)
            kept = {
                key: more[key] for key in ("gateway", "nameservers", "searchDomains") if key in more
            }
            found.append({"adapter": adapter, "address": address, **kept})
    return found


def gpu_attachment(pool: Pool) -> dict[str, Any]:
    """Attachment of the GPUs of each machine."""
    options = options_of(pool)
    if options.attachment is Attachment.PASSTHROUGH:
        return {"mode": "fixed", "pciAddresses": [a.lower() for a in options.pci_addresses]}
    if options.attachment is Attachment.VGPU:
        written = "" if pool.spec.sharing.vgpu is None else pool.spec.sharing.vgpu.profile
        # Only names in the form of nvidia-smi contain spaces.
        made = pool.partition.vgpu if " " in written else None
        profile = written.lower() if made is None else made.type.vcenter
        return {"mode": "vgpu", "profile": profile, "count": pool.gpus_per_node}
    known = options.device_ids or board_ids(pool.gpu, options.board)
    attachment: dict[str, Any] = {
        "mode": "dynamic",
        "deviceIds": [device_id.lower() for device_id in known],
        "count": pool.gpus_per_node,
    }
    if options.hardware_label:
        attachment["label"] = options.hardware_label
    return attachment


def node_labels(pool: Pool, position: int) -> dict[str, str]:
    """Labels with which the machine at a position registers: while the pool's sharing changes,
    those of the new sharing from its wave on. Another label needs another machine, so a change in
    waves replaces the machines of each."""
    labels = {**labels_of(pool, position), MODE_LABEL: options_of(pool).attachment.value}
    return dict(sorted(labels.items()))


def board_ids(gpu: Gpu, board: str | None) -> tuple[str, ...]:
    """PCI device ids of a GPU, four hexadecimal digits each: of the boards whose name in the
    catalogue contains this word, or of all.

    The catalogue writes `0x20B510DE`: device and vendor.
    """
    return tuple(
        device.removeprefix("0x").lower()[:4]
        for device, name in gpu.pci_boards.items()
        if board is None or board in name.lower()
    )
