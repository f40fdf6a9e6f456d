"""Findings about the pools of a fleet on GKE, before the API refuses them. Most are rows of
`findings.jsonl`; raw arguments are in `raw_arguments.jsonl`, TPUs in `tpu`.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 01a7a3e, 1047080
`modules/compute/gke-node-pool/main.tf`), the discovery document container.v1 of 2026-10-27, and the
pages of Google Kubernetes Engine read 2026-11-21; node pools that GKE creates: about node pool
auto-creation (no minimum size; limits are those of the cluster; no surge settings), 2026-11-23.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpufleet.catalogue import InstanceType, load
from gpufleet.catalogue.provider_shapes import inputs_of
from gpufleet.contract.contract_fact import ContractFact, chain
from gpufleet.contract.dra import OPERATOR_ROOT, driver_root
from gpufleet.contract.operator_values import VALUES
from gpufleet.contract.tolerations import GPU_KEY
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.autoscaler_rules import WHOLE_GPU, has_whole_gpus
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.clouds.gcp_labels import validate_tags
from gpufleet.platforms.clouds.gcp_machines import (
    ASSUMED_BOOT_DISKS,
    boot_disks,
    validate_host,
    validate_zone_names,
)
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.daemon_sets import needs_installer
from gpufleet.platforms.gke.facts import FACTS, fabric_of
from gpufleet.platforms.gke.gpu_networks import validate_gpu_networks
from gpufleet.platforms.gke.gpudirect import validate_release
from gpufleet.platforms.gke.names import NODE_POOL, imported_place, node_pool_name
from gpufleet.platforms.gke.shape import (
    GkeShape,
    bundled_ssds,
    gke_shape,
    nodes_of_domain,
    upgrade_strategy,
    wanted_repair,
)
from gpufleet.platforms.gke.tpu import validate_tpu
from gpufleet.platforms.gke.version_floors import validate_floors
from gpufleet.platforms.unused_options import unused_options
from gpufleet.spec.base import Ownership
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec

_finding, _rules = findings_in(__file__), rules_in(__file__)

COMPACT_NODES = {"a2": 150, "a3": 96, "a4": 1500, "g2": 150, "g4": 1500}
"""Machine family -> maximum nodes of a node pool with compact placement. N1 has none
(k8s.io/gke-autoscaling `machinetypes`, maxCompactPlacementNodes; read 2026-11-23)."""

N1_SSD_COUNTS = (*range(1, 9), 16, 24)
"""Numbers of local SSDs that may be added to every N1 machine with attached GPUs
(k8s.io/gke-autoscaling `machinetypes`, withAllowedEphemeralLocalSsdCounts; read 2026-11-23)."""

_BLOCK = re.compile(
    r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?(/reservationSubBlocks/[a-z]([-a-z0-9]{0,61}[a-z0-9])?)?$"
)


def validate_place(
    pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec
) -> Iterable[Finding]:
    """Machine type, zones and compact placement of one pool."""
    yield from validate_host(pool, row)
    named = [(f"{pool.path}.zones[{i}]", zone) for i, zone in enumerate(shape.zones)]
    named += [
        (f"{pool.path}.capacity[{i}].reserved.zone", step.zone)
        for i, step in enumerate(shape.steps)
        if step.zone is not None
    ]
    yield from validate_zone_names(named, spec.cluster.region)
    reserved = sorted({step.zone for step in shape.steps if step.zone is not None})
    known = {
        "domain": nodes_of_domain(pool),
        "compact": COMPACT_NODES.get(row.family),
        "strategies": [upgrade_strategy(shape.options, step).value for step in shape.steps],
        "reserved": reserved,
        "outside": shape.zones and set(reserved) - set(shape.zones),
    }
    yield from _rules("place", pool.path, pool=pool, shape=shape, row=row, **known)


def validate_gke(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All GKE findings about the pools that gpufleet creates."""
    yield from _operated(spec, pools)
    yield from _names(spec, pools)
    yield from _rules("fleet", spec=spec, pools=pools)
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
    google, enabled = by_root.get(FACTS.driver_root, []), spec.addons.driver_installer.enabled
    known: dict[str, object] = {
        "folders": sorted(by_root),
        "own": by_root.get(OPERATOR_ROOT),
        "google": google,
        "named": [one for one in google if not enabled or one.ownership is Ownership.EXISTING],
    }
    yield from _rules("operated", "", **known)


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
                yield from _rules("names", pool.path, pool=pool, name=name, other=other)


def validate_auto_class(pool: Pool, shape: GkeShape, *, autopilot: bool) -> Iterable[Finding]:
    """All findings about a pool whose node pools GKE creates, for a ComputeClass, except its
    sharing; empty for other pools."""
    if not auto_created(pool):
        return
    yield from _rules("class", pool.path, pool=pool, shape=shape, autopilot=autopilot)
    for _, name, because in unused_options(pool, Path(__file__).parent):
        place = f"{pool.path}.gke.{name}"
        yield _finding("compute-class-decides", place, found=name, reason=because)


def validate_purchase(pool: Pool, shape: GkeShape, project: str | None) -> Iterable[Finding]:
    """Reservations, repair and upgrades of the capacity types, several capacity types, imports.
    `project` is the cluster's."""
    place = pool.spec.import_id and imported_place(pool.spec.import_id)
    seen: list[object] = []
    ways: list[dict[str, object]] = []
    wrong: list[dict[str, str]] = []
    for index, one in enumerate(one.reserved for one in pool.capacity):
        same = one and (one.id, one.zone, one.blocks)
        owner = None if one is None else next(iter(one.id.split("/")[1:2]), None)
        ways.append({"reserved": one, "owner": owner, "again": one is not None and same in seen})
        seen.append(same)
        where = f"{pool.path}.capacity[{index}].reserved"
        blocks = () if one is None else one.blocks
        wrong += [{"block": text, "place": where} for text in blocks if not _BLOCK.match(text)]
    known = {"place": place, "project": project, "ways": ways, "wrong": wrong}
    yield from _rules("purchase", pool.path, pool=pool, **known)
    if auto_created(pool):
        return
    modes = [step.capacity.mode for step in shape.steps]
    steps = [
        {
            "mode": step.capacity.mode,
            "dynamic": step.flex_start or step.queued,
            "what": "queued capacity" if step.queued else "flex start",
            "strategy": upgrade_strategy(shape.options, step).value,
            "type": step.reservation_type,
        }
        for step in shape.steps
    ]
    known = {
        "modes": modes,
        "steps": steps,
        "repair": bool(wanted_repair(pool, shape.options)),
        "together": len(steps) * pool.nodes.maximum,
        "early": "spot" in modes[:-1],
    }
    yield from _rules("operations", pool.path, pool=pool, shape=shape, **known)


def validate_node(
    pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec
) -> Iterable[Finding]:
    """Disks, networks and image of one pool's nodes. GKE's autoscaler plans with `nvidia.com/gpu`
    even if the GPU Operator uses other names: sources are the public code it is built on
    (kubernetes/autoscaler 00fcc0d `cloudprovider/gce/templates.go`, 1447925
    `processors/customresources/gpu_processor.go`)."""
    options, fixed = shape.options, pool.nodes.minimum == pool.nodes.maximum
    planned = shape.operator and not fixed and pool.spec.sharing.dra is None
    free = N1_SSD_COUNTS if row.attachable else row.local_ssd_counts
    rows = load().instances.values() if options.confidential else ()
    known = {
        "free": free,
        "counts": ", ".join(map(str, free or ())) or "no",
        "bundled": bundled_ssds(row),
        "taken": boot_disks(row),
        "assumed": row.family in ASSUMED_BOOT_DISKS,
        "kubernetes": spec.cluster.kubernetes_version,
        "minor": minor_of(spec.cluster.kubernetes_version),
        "fabric": fabric_of(row).value,
        "renamed": sorted(set(pool.advertised) - {WHOLE_GPU}) if planned else [],
        "whole": has_whole_gpus(pool),
        "able": [one.name for one in rows if one.confidential],
        "installer": needs_installer(pool),
        "region": spec.cluster.region or pool.platform.facts.example_region,
    }
    yield from _rules("pool", pool.path, pool=pool, shape=shape, row=row, **known)


def validate_taints(pools: Sequence[Pool]) -> Iterable[Finding]:
    """GKE taints GPU nodes only if a pool without GPUs existed before."""
    for pool in pools:
        existing = pool.ownership is Ownership.EXISTING
        declared = any(taint.key == GPU_KEY for taint in pool.taints)
        if pool.gpu.vendor == "nvidia" and (existing or not declared):
            if existing:
                yield _finding("gke-taint-depends-on-order/lacks", pool.path, pool=pool.name)
            else:
                yield _finding("gke-taint-depends-on-order", pool.path, pool=pool.name)


def validate_plugins(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """GKE's plugin also completes GKE's driver: the label that stops one stops the other."""
    if value_at(spec.addons.gpu_operator.values, "devicePlugin.enabled") is not True:
        return
    for pool in pools:
        if not pool.served_by_platform:
            continue
        serves = ContractFact(f"GKE's plugin serves {pool.name}", f"{pool.path}.gke.driver")
        names, facts = [pool.name], chain(serves)
        yield _finding("two-advertisers", VALUES, pool=pool.name, pools=names, facts=facts)


def validate_raw(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """Raw arguments of one pool."""
    raw = shape.options.node_pool
    place = f"{pool.path}.gke.nodePool"
    yield from validate_raw_arguments(pool, Path(__file__).parent, "gke.nodePool", raw)
    shapes = inputs_of(NODE_POOL)
    for key, value in raw.items():
        if is_mapping(shapes.get(key)) and not is_mapping(value):
            yield _finding("raw-argument-no-object", f"{place}.{key}", key=key, value=value)
