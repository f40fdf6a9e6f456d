"""Files of a fleet on OpenShift, for sites that apply them by another tool."""

from collections.abc import Iterator

from gpufleet.documents.writing import yaml_stream, yaml_text
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, Fleet, OperatorSubscription, Pool
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
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.platform_files import PlatformFiles

_FOLDERS = {
    NODE_FEATURE_DISCOVERY: "node-feature-discovery",
    GPU_OPERATOR: "gpu-operator",
    NETWORK_OPERATOR: "network-operator",
}


class OpenShiftFiles(PlatformFiles):
    """Subscriptions, the autoscaler, and MachineSets."""

    def cluster_files(self, fleet: Fleet) -> Iterator[Artefact]:
        yield from operator_files(fleet)
        yield from autoscaler_files(fleet)

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
        return pool_files(fleet, pool)


def operator_files(fleet: Fleet) -> Iterator[Artefact]:
    """Files of the Subscriptions and of the operators' settings, without ConfigMaps and
    NicClusterPolicy."""
    for operator in fleet.addons.subscriptions:
        folder = f"manifests/{_FOLDERS[operator.name]}"
        yield _subscribed(operator, folder)
        if operator.name == NODE_FEATURE_DISCOVERY:
            yield Artefact(
                f"{folder}/discovery.yaml",
                ArtefactKind.MANIFEST,
                "NodeFeatureDiscovery: which devices label a node; apply when the operator runs",
                yaml_text(node_feature_discovery(fleet, operator)),
            )
        if operator.name == GPU_OPERATOR:
            yield Artefact(
                f"{folder}/cluster-policy.yaml",
                ArtefactKind.MANIFEST,
                "ClusterPolicy: what the GPU Operator runs; apply when the operator runs",
                yaml_text(fleet_cluster_policy(fleet)),
            )


def autoscaler_files(fleet: Fleet) -> Iterator[Artefact]:
    """The ClusterAutoscaler, where a pool is scaled."""
    addon = fleet.spec.addons.cluster_autoscaler
    manifest = cluster_autoscaler(fleet.pools, addon)
    if manifest is not None and addon.rendered:
        yield Artefact(
            "manifests/openshift/cluster-autoscaler.yaml",
            ArtefactKind.MANIFEST,
            "ClusterAutoscaler: starts OpenShift's own autoscaler and bounds it",
            yaml_text(manifest),
        )


def pool_files(fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
    """MachineSet, health check, autoscaler and configuration of a pool's machines."""
    prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
    zones = sorted(zones_of(pool), key=str)
    documents = (
        machine_config_pool(pool),
        machine_config(pool),
        kubelet_config(pool),
        *(open_machine_set(fleet, pool, prefix, zone) for zone in zones),
        health_check(pool, prefix),
        *(machine_autoscaler(pool, prefix, zone) for zone in zones),
    )
    yield Artefact(
        f"manifests/openshift/{pool.name}.yaml",
        ArtefactKind.MANIFEST,
        f"machines of {pool.name}; fill in ${{...}} as the cluster's own MachineSets have it",
        yaml_stream([one for one in documents if one is not None]),
    )


def open_machine_set(fleet: Fleet, pool: Pool, prefix: str, zone: str | None) -> MANIFEST:
    """A MachineSet as far as it follows from the declaration, without a size that the autoscaler
    changes: a tool that applies it again would put the first size back."""
    cloud = CLOUDS[pool.platform.name]
    place = cloud.place(cloud.placeholders(fleet.spec), fleet.spec)
    machines = machine_set(pool, prefix, place, zone)
    if openshift_shape(pool).scaled:
        del machines["spec"]["replicas"]
    return machines


def _subscribed(operator: OperatorSubscription, folder: str) -> Artefact:
    return Artefact(
        f"{folder}/subscription.yaml",
        ArtefactKind.MANIFEST,
        f"namespace, OperatorGroup and Subscription of {operator.package}",
        yaml_stream([namespace(operator), operator_group(operator), subscription(operator)]),
    )


FILES = OpenShiftFiles()
