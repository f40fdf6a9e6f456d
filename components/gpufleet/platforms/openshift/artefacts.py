"""Files of a fleet on OpenShift, for sites that apply them with another tool."""

from collections.abc import Iterator

from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, Fleet, Pool
from gpufleet.platforms.openshift.cluster_autoscaler_manifest import cluster_autoscaler
from gpufleet.platforms.openshift.machine_cloud import MANIFEST
from gpufleet.platforms.openshift.machine_clouds import CLOUDS, zones_of
from gpufleet.platforms.openshift.machine_config import (
    kubelet_config,
    machine_config,
    machine_config_pool,
)
from gpufleet.platforms.openshift.machine_set_manifest import (
    health_check,
    machine_autoscaler,
    machine_set,
)
from gpufleet.platforms.openshift.olm import (
    NODE_FEATURE_DISCOVERY,
    fleet_cluster_policy,
    namespace,
    node_feature_discovery,
    operator_group,
    subscription,
)
from gpufleet.platforms.openshift.shape import openshift_shape
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.platform_files import PlatformFiles

_FOLDERS = {
    NODE_FEATURE_DISCOVERY: "node-feature-discovery",
    GPU_OPERATOR: "gpu-operator",
    NETWORK_OPERATOR: "network-operator",
}


_file = files_in(__file__)


class OpenShiftFiles(PlatformFiles):
    """Subscriptions, the autoscaler, and MachineSets."""

    def cluster_files(self, fleet: Fleet) -> Iterator[Artefact]:
        """Subscriptions, the operators' settings without ConfigMaps and NicClusterPolicy, and the
        ClusterAutoscaler if a pool is scaled."""
        for operator in fleet.addons.subscriptions:
            objects = [namespace(operator), operator_group(operator), subscription(operator)]
            names = {"operator": _FOLDERS[operator.name], "package": operator.package}
            yield from _file("manifests/{operator}/subscription.yaml", objects, **names)
            if operator.name == NODE_FEATURE_DISCOVERY:
                discovery = node_feature_discovery(fleet, operator)
                yield from _file("manifests/node-feature-discovery/discovery.yaml", discovery)
            if operator.name == GPU_OPERATOR:
                policy = fleet_cluster_policy(fleet)
                yield from _file("manifests/gpu-operator/cluster-policy.yaml", policy)
        addon = fleet.spec.addons.cluster_autoscaler
        if addon.rendered:
            scaler = cluster_autoscaler(fleet.pools, addon)
            yield from _file("manifests/openshift/cluster-autoscaler.yaml", scaler)

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
        """MachineSet, health check, autoscaler and configuration of a pool's machines."""
        prefix = fleet.spec.resource_prefix
        zones = sorted(zones_of(pool), key=str)
        documents = (
            machine_config_pool(pool),
            machine_config(pool),
            kubelet_config(pool),
            *(open_machine_set(fleet, pool, prefix, zone) for zone in zones),
            health_check(pool, prefix),
            *(machine_autoscaler(pool, prefix, zone) for zone in zones),
        )
        made = [one for one in documents if one is not None]
        yield from _file("manifests/openshift/{pool}.yaml", made, pool=pool.name)


def open_machine_set(fleet: Fleet, pool: Pool, prefix: str, zone: str | None) -> MANIFEST:
    """A MachineSet as far as the declaration determines it, without the size, which the autoscaler
    changes: a tool that applies it again would reset it."""
    cloud = CLOUDS[pool.platform.name]
    place = cloud.place(cloud.placeholders(fleet.spec), fleet.spec)
    machines = machine_set(pool, prefix, place, zone)
    if openshift_shape(pool).scaled:
        del machines["spec"]["replicas"]
    return machines


FILES = OpenShiftFiles()
