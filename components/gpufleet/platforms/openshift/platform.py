"""Computations of OpenShift about pools and fleets."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import Catalogue, InstanceType
from gpufleet.documents.paths import value_at
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
from gpufleet.platforms.openshift.cluster_policy import without_a_place
from gpufleet.platforms.openshift.machine_clouds import (
    CLOUDS,
    makes_machines,
    options_of,
    sizes_of,
    zones_of,
)
from gpufleet.platforms.openshift.olm import discovery_subscription, operator_subscription
from gpufleet.platforms.openshift.registered import registered
from gpufleet.platforms.openshift.shape import MAX_NAME, machine_set_name
from gpufleet.spec.addons import ClusterAutoscaler
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
        return _validate_fleet(spec, pools, addons)

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


# Findings about what OpenShift cannot run: charts of operators that Lifecycle Manager installs,
# settings that its objects lack, drivers without an image.


def _validate_fleet(spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan) -> Iterable[Finding]:
    addons, operator = spec.addons, spec.addons.gpu_operator
    for pool in pools:
        yield from _validate_pool(pool, spec.resource_prefix, spec)
    yield from CLOUDS[spec.platform].validate_fleet(spec)
    typed, raw = operator.driver, operator.values
    driver = {
        part: _said(value_at(raw, f"driver.{part}"), getattr(typed, part))
        for part in ("repository", "image", "version")
    }
    network, olm = addons.network_operator, addons.olm
    pairs = {
        "gpuOperator": (operator.version, olm.gpu_operator.starting_csv),
        "networkOperator": (network.version, olm.network_operator.starting_csv),
    }
    yield from _rules(
        "fleet",
        spec=spec,
        threshold=ClusterAutoscaler().scale_down_gpu_utilization_threshold,
        operator_keys=list(without_a_place(raw)),
        network_keys=sorted(network.values),
        differing=[
            {"place": f"addons.olm.{name}", "section": name, "csv": csv, "version": version}
            for name, (version, csv) in pairs.items()
            if version is not None and csv is not None and version.removeprefix("v") not in csv
        ],
        driver=driver,
        parts=" and ".join(part for part, value in driver.items() if value),
        precompiled=_said(value_at(raw, "driver.usePrecompiled"), typed.precompiled),
        approved=[one.name for one in plan.subscriptions if one.ownership is Ownership.MANAGED],
    )


def _said(written: Any, typed: Any) -> Any:
    return typed if written is None else written


_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def _validate_pool(pool: Pool, prefix: str, spec: FleetSpec) -> Iterable[Finding]:
    """Findings on one pool. `prefix` is the prefix of its MachineSet's name."""
    options = options_of(pool) if makes_machines(pool) else None
    place = f"{pool.path}.{pool.platform.name.value}"
    yield from _rules("pool", pool.path, pool=pool, options=options, place=place)
    yield from CLOUDS[pool.platform.name].validate_pool(pool, spec)
    if options is None:
        return
    yield from _from_zero(pool)
    if pool.ownership is not Ownership.EXISTING:
        yield from _pool_name(pool, prefix)


def _from_zero(pool: Pool) -> Iterable[Finding]:
    """Annotations describe an empty group, and hold one extended resource."""
    offered = sorted(name for name, count in pool.advertised.items() if count > 0)
    zones = zones_of(pool)
    fewest = min((sizes_of(pool, zone)[0] for zone in zones), default=1)
    known = {"offered": offered, "fewest": fewest, "least": max(1, len(zones))}
    yield from _rules("empty", pool.path, pool=pool, **known)


def _pool_name(pool: Pool, prefix: str) -> Iterable[Finding]:
    if _NAME.fullmatch(prefix) is None:
        yield _finding("openshift-name-illegal", found=prefix, lowered=_lowered(prefix))
        return
    for zone in pool.spec.zones:
        if _NAME.fullmatch(zone) is None:
            yield _finding(
                "openshift-name-illegal/zone", pool.path, found=zone, lowered=_lowered(zone)
            )
    try:
        for zone in zones_of(pool):
            machine_set_name(prefix, pool, zone)
    except ValueError as problem:
        text = str(problem)
        yield _finding("openshift-name-too-long", pool.path, problem=text, limit=MAX_NAME)


def _lowered(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "gpu"


RULES = OpenShiftRules()
