"""Inputs of the machines of a pool on vSphere, and what a difference in one does: the provider's
own table, `vcenter/changes.py`. Labels and taints are first-boot data, which a guest reads once."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet.fleet.input_differences import InputDifference
from gpufleet.fleet.kubelet import kubelet_arguments
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.vsphere.machine_arguments import (
    adopted,
    machine_inputs,
    node_labels,
    own_inputs,
    place_inputs,
    pool_machines,
)
from gpufleet.platforms.vsphere.vcenter.changes import (
    MachineChangeKind,
    changes,
    refusals,
    replaces,
)

_CLASSES = {
    MachineChangeKind.REPLACE: LeafClass.REPLACEMENT,
    MachineChangeKind.POWERED_OFF: LeafClass.RESTART,
    MachineChangeKind.IN_PLACE: LeafClass.LIVE,
    MachineChangeKind.SETTING: LeafClass.LIVE,
    MachineChangeKind.REFUSED: LeafClass.REFUSED,
}


def registered(fleet: Fleet, pool: Pool) -> dict[str, Mapping[str, Any]]:
    """`machine/<key>` -> inputs of the machine."""
    options = pool.spec.vsphere
    if options is None:
        return {}
    prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
    common = machine_inputs(pool)
    found: dict[str, Mapping[str, Any]] = {}
    for machine in pool_machines(prefix, pool):
        hosts = {"hosts": list(machine.hosts)} if machine.hosts else {}
        found[f"machine/{machine.key}"] = {
            **common,
            "place": {**place_inputs(options), **hosts},
            **own_inputs(machine, pool),
            **adopted(machine, pool),
            "bootSha256": str(_boot(pool, machine.position)),
        }
    return found


def _boot(pool: Pool, position: int) -> tuple[object, ...]:
    """What the first-boot data says of a node, apart from the way to its cluster."""
    taints, arguments = sorted(str(taint) for taint in pool.taints), kubelet_arguments(pool)
    return (node_labels(pool, position), taints, *([arguments] if arguments else []))


def input_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[InputDifference]:
    """Every difference that the provider compares, as it would answer it."""
    found, policy = changes(old, new), str(new.get("updatePolicy"))
    refused = {path for path, _ in refusals(old, new)}
    replaced = set(replaces(found, policy))
    for one in found:
        leaf_class = _CLASSES[one.kind]
        if one.path in replaced:
            leaf_class = LeafClass.REPLACEMENT
        elif one.path in refused:
            leaf_class = LeafClass.REFUSED
        yield InputDifference(one.path, one.old, one.new, leaf_class)
