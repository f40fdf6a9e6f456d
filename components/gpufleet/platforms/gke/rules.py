"""Findings about the pools of a fleet on GKE, before the API refuses them.

A pool's capacity types are in `purchase_rules`, parts of its nodes in `node_rules`, raw arguments
in `raw_arguments.jsonl`, TPUs in `tpu`. Sources for machine, zones and placement: preconditions of
Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`) and the pages of Google Kubernetes Engine read 2026-11-21.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpufleet.catalogue import InstanceType
from gpufleet.catalogue.provider_shapes import inputs_of
from gpufleet.contract.contract_fact import ContractFact, chain
from gpufleet.contract.dra import OPERATOR_ROOT, driver_root
from gpufleet.contract.operator_values import VALUES
from gpufleet.contract.tolerations import GPU_KEY
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.clouds.gcp_labels import validate_tags
from gpufleet.platforms.clouds.gcp_machines import validate_host, validate_zone_names
from gpufleet.platforms.gke.auto_class_rules import validate_auto_class
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.facts import FACTS
from gpufleet.platforms.gke.gpu_networks import validate_gpu_networks
from gpufleet.platforms.gke.gpudirect import validate_release
from gpufleet.platforms.gke.names import NODE_POOL, node_pool_name
from gpufleet.platforms.gke.node_rules import validate_node
from gpufleet.platforms.gke.purchase_rules import validate_purchase
from gpufleet.platforms.gke.shape import GkeShape, gke_shape, nodes_of_domain, upgrade_strategy
from gpufleet.platforms.gke.tpu import validate_tpu
from gpufleet.platforms.gke.version_floors import validate_floors
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.gke import CLUSTER_NAME, LONGEST_NAME, UpgradeStrategy

_finding, _rules = findings_in(__file__), rules_in(__file__)

COMPACT_NODES = {"a2": 150, "a3": 96, "a4": 1500, "g2": 150, "g4": 1500}
"""Machine family -> maximum nodes of a node pool with compact placement. N1 has none
(k8s.io/gke-autoscaling `machinetypes`, maxCompactPlacementNodes; read 2026-11-23)."""


def validate_place(
    pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec
) -> Iterable[Finding]:
    """Machine type, zones and compact placement of one pool."""
    yield from validate_host(pool, row)
    yield from _zones(pool, shape, spec)
    domain, compact = nodes_of_domain(pool), COMPACT_NODES.get(row.family)
    known = {"pool": pool, "shape": shape, "row": row, "domain": domain, "compact": compact}
    yield from _rules("place", pool.path, **known)
    if shape.options.compact_placement:
        for step in shape.steps:
            if upgrade_strategy(shape.options, step) is UpgradeStrategy.BLUE_GREEN:
                yield _finding("gke-compact-with-blue-green", pool.path)


def _zones(pool: Pool, shape: GkeShape, spec: FleetSpec) -> Iterable[Finding]:
    named = [(f"{pool.path}.zones[{i}]", zone) for i, zone in enumerate(shape.zones)]
    named += [
        (f"{pool.path}.capacity[{i}].reserved.zone", step.zone)
        for i, step in enumerate(shape.steps)
        if step.zone is not None
    ]
    yield from validate_zone_names(named, spec.cluster.region)
    reserved = {step.zone for step in shape.steps if step.zone is not None}
    if reserved and shape.zones and not reserved <= set(shape.zones):
        yield _finding(
            "gke-reservation-in-other-zone",
            pool.path,
            reserved=sorted(reserved),
            found=shape.zones,
            first_reserved=min(reserved),
        )


def validate_gke(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All GKE findings about the pools that gpufleet creates."""
    yield from _operated(spec, pools)
    yield from _names(spec, pools)
    yield from _queued(spec, pools)
    yield from _cluster_name(spec.cluster.name)
    yield from (one for pool in pools for one in validate_release(pool))
    yield from validate_tags(spec.tags)
    yield from validate_gpu_networks(spec, pools)
    for pool in pools:
        row = pool.machines[0].instance
        if pool.ownership is Ownership.EXISTING or row is None:
            continue
        shape = gke_shape(pool)
        yield from validate_place(pool, shape, row, spec)
        yield from validate_auto_class(pool, shape, autopilot=spec.cluster.autopilot)
        yield from _class_name(pool, shape)
        yield from validate_purchase(pool, shape, spec.cluster.project)
        yield from validate_node(pool, shape, row, spec)
        yield from validate_tpu(pool)
        yield from validate_floors(pool, spec.cluster.kubernetes_version)
        yield from validate_raw(pool, shape)


def _operated(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Pools of the GPU Operator: one directory of the driver, a single setting of the operator."""
    operated = [pool for pool in pools if not pool.served_by_platform]
    by_root: dict[str, list[Pool]] = {}
    for pool in operated:
        by_root.setdefault(driver_root(pool.image, pool.platform), []).append(pool)
    if len(by_root) > 1:
        google, own = by_root[FACTS.driver_root], by_root[OPERATOR_ROOT]
        yield _finding(
            "gke-operator-two-drivers",
            own[0].path,
            own=[pool.name for pool in own],
            google=[pool.name for pool in google],
            folders=sorted(by_root),
        )
        return
    named = by_root.get(FACTS.driver_root, [])
    if spec.addons.driver_installer.enabled:
        named = [pool for pool in named if pool.ownership is Ownership.EXISTING]
    if named:
        yield _finding(
            "gke-driver-installer-needed", named[0].path, pools=[pool.name for pool in named]
        )


def _names(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Node pools of one cluster cannot share a name; the capacity type is part of it."""
    prefix = spec.resource_prefix
    owners: dict[str, Pool] = {}
    for pool in pools:
        made = pool.ownership is not Ownership.EXISTING and not auto_created(pool)
        if not made or pool.machines[0].instance is None:
            continue
        for step in gke_shape(pool).steps:
            name = node_pool_name(pool, step, prefix)
            other = owners.setdefault(name, pool)
            if other is not pool:
                yield _finding(
                    "gke-node-pool-name-twice",
                    pool.path,
                    pool=pool.name,
                    found=name,
                    other=other.name,
                )


def _cluster_name(name: str) -> Iterable[Finding]:
    if re.fullmatch(CLUSTER_NAME, name) is None or len(name) > LONGEST_NAME:
        yield _finding("gke-cluster-name", found=name, longest_name=LONGEST_NAME)


def _class_name(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """A ComputeClass has its pool's name (GKE documentation, about ComputeClasses, Limitations:
    two reserved prefixes; read 2026-11-23)."""
    reserved = next((one for one in ("gke", "autopilot") if pool.name.startswith(one)), None)
    if reserved is not None and (shape.fallback_order or auto_created(pool)):
        yield _finding("gke-compute-class-name", pool.path, found=pool.name, reserved=reserved)


def _queued(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Nodes of queued pools start only by ProvisioningRequests."""
    waiting = [pool for pool in pools if any(entry.queued for entry in pool.capacity)]
    if waiting and spec.queues is None:
        yield _finding(
            "gke-queued-without-queues", waiting[0].path, pools=[pool.name for pool in waiting]
        )


def validate_taints(pools: Sequence[Pool]) -> Iterable[Finding]:
    """GKE taints GPU nodes only if a pool without GPUs existed before."""
    for pool in pools:
        existing = pool.ownership is Ownership.EXISTING
        declared = any(taint.key == GPU_KEY for taint in pool.taints)
        if pool.gpu.vendor == "nvidia" and (existing or not declared):
            yield _taint_depends_on_order(pool, existing=existing)


def _taint_depends_on_order(pool: Pool, *, existing: bool) -> Finding:
    facts = chain(
        ContractFact(
            f"{pool.name} was not created by gpufleet"
            if existing
            else "the pool does not declare the GPU taint",
            f"{pool.path}.{'ownership' if existing else 'gpuTaint'}",
        ),
        ContractFact(
            "GKE adds nvidia.com/gpu=present:NoSchedule only if a pool without GPUs exists when "
            "the GPU pool is made, and never afterwards",
            "Google Kubernetes Engine documentation, GPUs in Standard node pools",
        ),
        ContractFact(
            "with the default pool removed in the same run, it depends on which call comes first",
            "terraform-google-modules/terraform-google-kubernetes-engine#703",
        ),
    )
    if existing:
        return _finding("gke-taint-depends-on-order/lacks", pool.path, pool=pool.name, facts=facts)
    return _finding("gke-taint-depends-on-order", pool.path, pool=pool.name, facts=facts)


def validate_plugins(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """GKE's plugin also completes GKE's driver: the label that stops one stops the other."""
    if value_at(spec.addons.gpu_operator.values, "devicePlugin.enabled") is not True:
        return
    for pool in pools:
        if not pool.served_by_platform:
            continue
        yield _finding(
            "two-advertisers",
            VALUES,
            pool=pool.name,
            pools=[pool.name],
            facts=chain(
                ContractFact(f"GKE's plugin serves {pool.name}", f"{pool.path}.gke.driver"),
                ContractFact("the operator's plugin is on", f"{VALUES}.devicePlugin.enabled"),
                ContractFact(
                    "their device ids differ, and one plugin gets requests for the other's",
                    "NVIDIA/aicr#1998",
                ),
            ),
        )


def validate_raw(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """Raw arguments of one pool."""
    raw = shape.options.node_pool
    place = f"{pool.path}.gke.nodePool"
    yield from validate_raw_arguments(pool, Path(__file__).parent, "gke.nodePool", raw)
    shapes = inputs_of(NODE_POOL)
    for key, value in raw.items():
        if is_mapping(shapes.get(key)) and not is_mapping(value):
            yield _finding("raw-argument-no-object", f"{place}.{key}", key=key, value=value)
