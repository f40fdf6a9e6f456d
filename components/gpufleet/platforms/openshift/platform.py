"""Computations of OpenShift about pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import Catalogue, InstanceType
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import (
    GPU_OPERATOR,
    NETWORK_OPERATOR,
    AddonPlan,
    Fleet,
    NetworkPlan,
    OperatorPlan,
    OperatorSubscription,
    Pool,
)
from gpufleet.fleet.platform_rules import DeclaredMachine, PlatformRules
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.openshift.machine_clouds import makes_machines, options_of
from gpufleet.platforms.openshift.olm import discovery_subscription, operator_subscription
from gpufleet.platforms.openshift.registered import registered
from gpufleet.platforms.openshift.rules import validate_openshift
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift import MachineRollout
from gpufleet.spec.pool import GpuPool, Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)


class OpenShiftRules(PlatformRules):
    """OpenShift: machines of a declared size, operators from Lifecycle Manager."""

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        """Existing nodes need no size."""
        if pool.openshift is not None:
            return DeclaredMachine(pool.openshift.cpus, pool.openshift.memory_gib)
        if pool.ownership is Ownership.EXISTING:
            return DeclaredMachine()
        return _finding("openshift-options-missing", path)

    def planned_zones(self, zones: Sequence[str], nodes: int, *, joined: bool) -> Sequence[str]:
        """`nodes` is divided among the zones: at most as many zones as nodes."""
        return super().planned_zones(zones, nodes, joined=joined)[:nodes]

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str] | str:
        if makes_machines(pool) and options_of(pool).machine_config is not None:
            return {}
        return (
            "a KubeletConfig is for the nodes of a MachineConfigPool, and the pool has none of its "
            f"own (`{pool.platform.name.value}: {{machineConfig: {{}}}}`)"
        )

    def needed_reservations(self, pool: Pool) -> Sequence[str]:
        """OpenShift reserves CPU of each node, but does not report its reserved memory to the
        memory manager."""
        return ("reservedMemoryMib",)

    def validate_addons(
        self, spec: FleetSpec, pools: Sequence[Pool], addons: AddonPlan
    ) -> Iterable[Finding]:
        return validate_openshift(spec, pools, addons)

    def operator_namespace(self, operator: str, usual: str, catalogue: Catalogue) -> str:
        """The vendor's namespace, as monitoring expects."""
        return catalogue.package(operator).namespace

    def subscriptions(
        self,
        spec: FleetSpec,
        operator: OperatorPlan,
        network: NetworkPlan,
        discovery: bool,
        catalogue: Catalogue,
    ) -> Iterable[OperatorSubscription]:
        """Node Feature Discovery first: the others do nothing before nodes are labelled."""
        ours = [
            (name, plan.ownership)
            for name, plan in ((NETWORK_OPERATOR, network), (GPU_OPERATOR, operator))
            if plan.rendered
        ]
        if ours and discovery:
            made = any(ownership is Ownership.MANAGED for _, ownership in ours)
            ownership = Ownership.MANAGED if made else Ownership.GITOPS
            yield discovery_subscription(spec.addons, catalogue, ownership)
        for name, _ in ours:
            yield operator_subscription(name, spec.addons, catalogue)

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        return registered(fleet, pool)

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        """Another name, or none, is another MachineSet."""
        gone = kind == "machineSet" and path == "" and new is None
        return LeafClass.REPLACEMENT if gone else super().input_class(kind, path, old, new)

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """`rollout` of the pool for another MachineSet; reboots follow its MachineConfigPool."""
        if not makes_machines(pool):
            return Rollout("pulumi up", None)
        options = options_of(pool)
        if not replaced:
            made = options.machine_config
            return Rollout("OpenShift", 1 if made is None else made.max_unavailable)
        surge = options.rollout is MachineRollout.SURGE
        return Rollout("pulumi up", None, None if surge else 0)


class OpenShiftCloudRules(OpenShiftRules):
    """OpenShift on a cloud: machines of one type and capacity type, a MachineSet for each zone."""

    node_kinds = frozenset({"machineSet"})

    def offered_machines(self, rows: list[InstanceType], pool: GpuPool) -> list[InstanceType]:
        """The machine type of a MachineSet: the first that is sold as the pool's capacity type."""
        modes = {entry.mode for entry in pool.capacity} or {"onDemand"}
        sold = [row for row in rows if modes <= row.purchase_options]
        return [(sold or rows)[0]]

    def validate_capacity(
        self, pool: GpuPool, path: str, provisioner: Provisioner
    ) -> Iterable[Finding]:
        """A MachineSet has one capacity type."""
        return _rules("capacity", path, pool=pool)

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        """A set of a zone that is added or removed leaves those of other zones."""
        of_a_zone = kind == "machineSet" and path == ""
        return LeafClass.LIVE if of_a_zone else super().input_class(kind, path, old, new)


RULES = OpenShiftRules()
