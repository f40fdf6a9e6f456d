"""Files of EKS pools for GitOps and other tools: the resources that components would register."""

from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.chart_values import Values, merged
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.eks.cluster_autoscaler_values import CHART as AUTOSCALER
from gpufleet.platforms.eks.cluster_autoscaler_values import (
    cluster_autoscaler_values,
    scaled_pools,
)
from gpufleet.platforms.eks.efa import CHART as EFA
from gpufleet.platforms.eks.efa import efa_fleet_values, efa_pools
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import (
    capacity_buffer,
    karpenter_name,
    node_overlay,
    node_pool,
)
from gpufleet.platforms.eks.karpenter_values import CHART as KARPENTER
from gpufleet.platforms.eks.karpenter_values import (
    DEFINITIONS,
    KEPT,
    karpenter_pools,
    karpenter_values,
    needed_gates,
)
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import group_labels, node_group
from gpufleet.platforms.eks.scheduled_actions import scheduled_actions
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.user_data import user_data
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.fleet_release import FleetRelease, fleet_release
from gpufleet.render.platform_files import PlatformFiles
from gpufleet.spec.addons import Addon
from gpufleet.spec.pool import Provisioner

_file = files_in(__file__)

DISCOVERY = "karpenter.sh/discovery"
"""Tag of subnets and security groups in Karpenter's installation guide."""


class EksFiles(PlatformFiles):
    """Node groups, or Karpenter's objects."""

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
        prefix = fleet.spec.resource_prefix
        karpenter = pool.provisioner.by_node_pool
        return (_karpenter if karpenter else _node_group)(fleet, pool, prefix)

    def releases(self, fleet: Fleet) -> Iterator[FleetRelease]:
        addons, cluster = fleet.spec.addons, fleet.spec.cluster
        if karpenter_pools(fleet.pools) and addons.karpenter.rendered:
            if addons.karpenter.upgrade_definitions:
                yield fleet_release(fleet, DEFINITIONS, dict(KEPT), addons.karpenter)
            values = karpenter_values(needed_gates(fleet.pools, addons.karpenter.node_overlay))
            named = merged(values, {"settings": {"clusterName": cluster.name}})
            wired = ("settings.interruptionQueue",)
            yield _release(fleet, KARPENTER, named, addons.karpenter, wired)
        if scaled_pools(fleet.pools) and addons.cluster_autoscaler.rendered:
            queues = fleet.spec.queues
            values = cluster_autoscaler_values(
                addons.cluster_autoscaler,
                fleet.pools,
                fleet.spec.resource_prefix,
                cluster.region or "",
                cluster.kubernetes_version,
                provisioning_requests=queues is not None and bool(queues.atomic_scale_up),
            )
            named = merged(values, {"autoDiscovery": {"clusterName": cluster.name}})
            yield _release(fleet, AUTOSCALER, named, addons.cluster_autoscaler)
        if efa_pools(fleet.pools) and addons.efa_device_plugin.rendered:
            values = efa_fleet_values(fleet.pools)
            yield _release(fleet, EFA, values, addons.efa_device_plugin)


def _release(
    fleet: Fleet, chart: str, values: Values, addon: Addon, wired: tuple[str, ...] = ()
) -> FleetRelease:
    """A release with the declared values merged last."""
    return fleet_release(fleet, chart, merged(values, addon.values), addon, wired=wired)


def _node_group(fleet: Fleet, pool: Pool, prefix: str) -> Iterator[Artefact]:
    shape, tags = eks_shape(pool), fleet.spec.tags
    version = fleet.spec.cluster.kubernetes_version
    template = launch_template(pool, shape, prefix, tags)
    grouped = shape.placement_group and "placement" not in template
    arguments = {
        "nodeGroup": node_group(pool, shape, prefix, tags, version),
        "launchTemplate": template,
        "placementGroup": {"strategy": "cluster"} if grouped else None,
        "userData": None if shape.custom else user_data(pool, shape, group_labels(pool), None),
        "schedules": scheduled_actions(pool),
    }
    written = {key: value for key, value in arguments.items() if value}
    yield from _file("clouds/aws/{pool}.yaml", written, pool=pool.name)


def _karpenter(fleet: Fleet, pool: Pool, prefix: str) -> Iterator[Artefact]:
    folder, shape, cluster = "manifests/karpenter", eks_shape(pool), fleet.spec.cluster.name
    made = node_class(pool, shape, prefix, fleet.spec.tags, karpenter_name(pool))
    found = {**made, "spec": {**made["spec"], **_found_by_tag(cluster, pool)}}
    names = {"pool": pool.name, "cluster": cluster}
    yield from _file(f"{folder}/node-overlay-{{pool}}.yaml", node_overlay(pool), **names)
    yield from _file(f"{folder}/node-pool-{{pool}}.yaml", node_pool(pool, shape), **names)
    yield from _file(f"{folder}/capacity-buffer-{{pool}}.yaml", capacity_buffer(pool), **names)
    yield from _file(f"{folder}/node-class-{{pool}}.yaml", found, **names)


def _found_by_tag(cluster: str, pool: Pool) -> dict[str, Any]:
    terms = [{"tags": {DISCOVERY: cluster}}]
    auto = pool.provisioner is Provisioner.AUTO_MODE
    return {
        "role": "AmazonEKSAutoNodeRole" if auto else f"KarpenterNodeRole-{cluster}",
        "subnetSelectorTerms": terms,
        "securityGroupSelectorTerms": [dict(term) for term in terms],
    }


FILES = EksFiles()
