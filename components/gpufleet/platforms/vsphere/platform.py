"""What vSphere computes from pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.findings import Finding, error
from gpufleet.fleet.input_differences import InputDifference
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Machine, Pool
from gpufleet.fleet.platform_rules import OwnMachine, PlatformRules
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.vsphere.leaf_classes import LEAF_CLASSES
from gpufleet.platforms.vsphere.registered import input_differences, registered
from gpufleet.platforms.vsphere.rules import validate_vsphere
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool


class VsphereRules(PlatformRules):
    """vSphere: machines of a declared size, on hosts instead of zones."""

    node_kinds = frozenset({"machine"})

    def own_machine(self, pool: GpuPool, path: str) -> OwnMachine | Finding:
        if pool.vsphere is None:
            return error(
                "vsphere-options-missing",
                f"{path}.vsphere",
                "a vSphere pool needs the shape of its machines",
                "add `vsphere: {cpus: 16, memoryGib: 128, template: ...}`",
            )
        return OwnMachine(pool.vsphere.cpus, pool.vsphere.memory_gib)

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        if pool.zones:
            yield error(
                "zones-not-on-platform",
                f"{path}.zones",
                "vSphere has no zones",
                "name the hosts under `vsphere: {hosts: [...]}`",
                found=list(pool.zones),
            )

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        return validate_vsphere(pools)

    def needed_reservations(self, pool: Pool) -> Sequence[str]:
        """kubeadm, RKE2 and k3s reserve nothing."""
        return ("reservedCpus", "reservedMemoryMib")

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        return registered(fleet, pool)

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        """A machine that comes or goes leaves the others alone; `input_differences` classes the
        rest."""
        return LeafClass.LIVE

    def input_differences(
        self, kind: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterable[InputDifference]:
        return input_differences(old, new)

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """The first machine alone, then `rolloutWidth` lanes."""
        del replaced
        width = 1 if pool.spec.vsphere is None else pool.spec.vsphere.rollout_width
        return Rollout("pulumi up", width, 0, "the first machine alone")

    def leaf_classes(self, pool: Pool) -> Mapping[str, LeafClass]:
        return LEAF_CLASSES


RULES = VsphereRules()
