"""Computations of vSphere about pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.input_differences import InputDifference
from gpufleet.fleet.kubelet import kubelet_arguments
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Machine, Pool
from gpufleet.fleet.platform_rules import DeclaredMachine, PlatformRules
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.vsphere.machine_arguments import (
    node_labels,
    options_of,
    placed_machines,
)
from gpufleet.platforms.vsphere.rules import validate_vsphere
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy
from gpufleet.spec.pool import GpuPool
from gpufleet_vcenter.properties import MachineChangeKind, changes, refused, replaces

_finding = findings_in(__file__)

_CLASSES = {
    MachineChangeKind.REPLACE: LeafClass.REPLACEMENT,
    MachineChangeKind.POWERED_OFF: LeafClass.RESTART,
    MachineChangeKind.IN_PLACE: LeafClass.LIVE,
    MachineChangeKind.SETTING: LeafClass.LIVE,
    MachineChangeKind.REFUSED: LeafClass.REFUSED,
}


class VsphereRules(PlatformRules):
    """vSphere: machines of a declared size, on hosts instead of zones."""

    node_kinds = frozenset({"machine"})

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        if pool.vsphere is None and pool.ownership is Ownership.EXISTING:
            return DeclaredMachine()  # the size of existing machines is not known
        if pool.vsphere is None:
            return _finding("vsphere-options-missing", path)
        return DeclaredMachine(pool.vsphere.cpus, pool.vsphere.memory_gib)

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        if pool.zones:
            yield _finding("zones-not-on-platform", path, found=pool.zones)

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        return validate_vsphere(pools)

    def needed_reservations(self, pool: Pool) -> Sequence[str]:
        """kubeadm, RKE2 and k3s reserve nothing."""
        return ("reservedCpus", "reservedMemoryMib")

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        """`machine/<key>` -> inputs of the machine. Labels and taints are first-boot data, which a
        guest reads once."""
        prefix = fleet.spec.resource_prefix
        placed = placed_machines(prefix, pool)
        return {
            f"machine/{key}": {**inputs, "bootSha256": str(_boot(pool, position))}
            for position, (key, inputs) in enumerate(placed.items())
        }

    def input_differences(
        self, kind: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterable[InputDifference]:
        """Every difference that the provider compares, classed by its own table of changes."""
        policy = str(new.get("updatePolicy", VsphereUpdatePolicy.REFUSE.value))
        found = changes(old, new)
        word = "`vsphere.updatePolicy:"  # the form in a pool
        reasons = {
            path: reason.replace("`updatePolicy:", word) for path, reason in refused(found, policy)
        }
        replaced = set(replaces(found, policy))
        for one in found:
            leaf_class = _CLASSES[one.kind]
            if one.path in replaced:  # with the setting that the refusal names
                leaf_class = LeafClass.REPLACEMENT
            elif one.path in reasons:
                leaf_class = LeafClass.REFUSED
            yield InputDifference(one.path, one.old, one.new, leaf_class, reasons.get(one.path, ""))

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """The first machine alone, then `rolloutWidth` lanes."""
        del replaced
        if pool.spec.vsphere is None:
            return Rollout("the engine", None)
        return Rollout("pulumi up", options_of(pool).rollout_width, 0, "the first machine alone")


def _boot(pool: Pool, position: int) -> tuple[object, ...]:
    """The first-boot data of a node, without the cluster's address."""
    taints, arguments = sorted(str(taint) for taint in pool.taints), kubelet_arguments(pool)
    return (node_labels(pool, position), taints, *([arguments] if arguments else []))


RULES = VsphereRules()
