"""Findings about the pools of a fleet on GKE, before the API says no.

What one pool is and where it stands is in `gke_place_rules`, how it is bought in
`gke_purchase_rules`, what is on its nodes in `gke_node_rules`, raw arguments in `gke_raw_rules`,
TPUs in `tpu`; here are the rules between pools, and between pools and the rest of the fleet.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from gpufleet.contract.dra import OPERATOR_ROOT, driver_root
from gpufleet.findings import Finding, error, info, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_labels import validate_tags
from gpufleet.platforms.gke.auto_class import auto_created
from gpufleet.platforms.gke.auto_class_rules import validate_auto_class
from gpufleet.platforms.gke.facts import FACTS
from gpufleet.platforms.gke.gpu_networks import validate_gpu_networks
from gpufleet.platforms.gke.gpudirect_releases import validate_release
from gpufleet.platforms.gke.names import CLUSTER_NAME, LONGEST_NAME, node_pool_name
from gpufleet.platforms.gke.node_rules import validate_node
from gpufleet.platforms.gke.place_rules import validate_place
from gpufleet.platforms.gke.purchase_rules import validate_purchase
from gpufleet.platforms.gke.raw_rules import validate_raw
from gpufleet.platforms.gke.shape import GkeShape, gke_shape
from gpufleet.platforms.gke.tpu import validate_tpu
from gpufleet.platforms.gke.version_floors import validate_floors
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec


def validate_gke(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """Everything of this kind about the pools that gpufleet makes."""
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
    """Pools of the GPU Operator: one folder of the driver, which is the operator's one setting."""
    operated = [pool for pool in pools if not pool.served_by_platform]
    by_root: dict[str, list[Pool]] = {}
    for pool in operated:
        by_root.setdefault(driver_root(pool.image, pool.platform), []).append(pool)
    if len(by_root) > 1:
        google, own = by_root[FACTS.driver_root], by_root[OPERATOR_ROOT]
        yield error(
            "gke-operator-two-drivers",
            f"{own[0].path}.image",
            f"{', '.join(pool.name for pool in own)} gets its driver from the GPU Operator and "
            f"{', '.join(pool.name for pool in google)} from Google's installer: the operator "
            "looks for drivers in one folder of all nodes",
            "give all pools of the operator one image",
            folders=sorted(by_root),
        )
        return
    named = by_root.get(FACTS.driver_root, [])
    if spec.addons.driver_installer.enabled:
        named = [pool for pool in named if pool.ownership is Ownership.EXISTING]
    if named:
        yield info(
            "gke-driver-installer-needed",
            f"{named[0].path}.gke.driver",
            f"GKE installs no driver for {', '.join(pool.name for pool in named)}, and the "
            "operator's does not run on Container-Optimized OS: Google's driver installer must run "
            "there",
            "apply GoogleCloudPlatform/container-engine-accelerators "
            "nvidia-driver-installer/cos/daemonset-preloaded.yaml",
            pools=[pool.name for pool in named],
        )


def _names(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Node pools of one cluster cannot share a name; a way of buying is part of it."""
    prefix = spec.name_prefix or spec.cluster.name
    owners: dict[str, Pool] = {}
    for pool in pools:
        made = pool.ownership is not Ownership.EXISTING and not auto_created(pool)
        if not made or pool.machines[0].instance is None:
            continue
        for step in gke_shape(pool).steps:
            name = node_pool_name(pool, step, prefix)
            other = owners.setdefault(name, pool)
            if other is not pool:
                yield error(
                    "gke-node-pool-name-twice",
                    f"{pool.path}.name",
                    f"a node pool of {pool.name} would be called {name}, as one of {other.name}",
                    "call one of the two something else",
                    found=name,
                )


def _cluster_name(name: str) -> Iterable[Finding]:
    if re.fullmatch(CLUSTER_NAME, name) is None or len(name) > LONGEST_NAME:
        yield error(
            "gke-cluster-name",
            "cluster.name",
            f"no cluster of GKE is called {name}: such a name has lowercase letters, digits and "
            f"hyphens, begins with a letter, ends with a letter or digit, and has at most "
            f"{LONGEST_NAME} characters",
            "write the cluster's name, which `gcloud container clusters list` shows",
            found=name,
        )


def _class_name(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """A ComputeClass is called as its pool (GKE documentation, about ComputeClasses, Limitations:
    two reserved beginnings; read 2026-11-23)."""
    reserved = next((one for one in ("gke", "autopilot") if pool.name.startswith(one)), None)
    if reserved is not None and (shape.fallback_order or auto_created(pool)):
        yield error(
            "gke-compute-class-name",
            f"{pool.path}.name",
            f"the pool's ComputeClass would be called {pool.name}, and GKE keeps names that begin "
            f"with {reserved} for itself",
            "give the pool a name with another beginning",
            found=pool.name,
        )


def _queued(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Nodes of queued pools come by ProvisioningRequests alone."""
    waiting = [pool for pool in pools if any(entry.queued for entry in pool.capacity)]
    if waiting and spec.queues is None:
        yield warning(
            "gke-queued-without-queues",
            f"{waiting[0].path}.capacity",
            f"nodes of {', '.join(pool.name for pool in waiting)} come by ProvisioningRequests "
            "alone, and the fleet has no queues that would make any",
            "write `queues`, or make the requests yourself",
            pools=[pool.name for pool in waiting],
        )
