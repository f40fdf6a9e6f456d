"""A pool on OpenShift as objects of its machine API: MachineSet, health check, autoscaler.

Formats, read 2026-11-22: openshift/api `machine/v1beta1` (MachineSet, MachineHealthCheck),
openshift/cluster-autoscaler-operator `pkg/apis/autoscaling/v1beta1`.
"""

from gpufleet.documents.data_files import data_part
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_cloud import API_VERSION, MANIFEST, MachinePlace
from gpufleet.platforms.openshift.machine_clouds import CLOUDS, options_of, sizes_of
from gpufleet.platforms.openshift.shape import (
    ACCELERATOR_LABEL,
    MACHINE_NAMESPACE,
    OBJECTS,
    base_name,
    born_with,
    capacity_annotations,
    machine_set_name,
    openshift_shape,
)

AUTOSCALER_API_VERSION = "autoscaling.openshift.io/v1beta1"
CLUSTER_LABEL = "machine.openshift.io/cluster-api-cluster"
SET_LABEL = "machine.openshift.io/cluster-api-machineset"
_ROLE = {
    "machine.openshift.io/cluster-api-machine-role": "worker",
    "machine.openshift.io/cluster-api-machine-type": "worker",
}


def machine_set(pool: Pool, prefix: str, place: MachinePlace, zone: str | None = None) -> MANIFEST:
    """The MachineSet of a pool, or of a pool in one of its zones, with its minimum number of
    machines.

    Raises:
        ValueError: the name is too long, or no machine can be created from the pool.
    """
    name, born = machine_set_name(prefix, pool, zone), born_with(pool)
    shape = openshift_shape(pool)
    infrastructure = place["infrastructureName"]
    selected = {CLUSTER_LABEL: infrastructure, SET_LABEL: name}
    spec: MANIFEST = {
        "metadata": {"labels": born["labels"]},
        "providerSpec": {"value": CLOUDS[pool.platform.name].provider(place, pool, zone)},
    }
    if born["taints"]:
        spec["taints"] = born["taints"]
    labels = {CLUSTER_LABEL: infrastructure, POOL_LABEL: pool.name}
    if shape.accelerator is not None:
        labels[ACCELERATOR_LABEL] = shape.accelerator
    sets = {
        "replicas": sizes_of(pool, zone)[0],
        "selector": {"matchLabels": selected},
        "template": {
            "metadata": {"labels": {**selected, **_ROLE, POOL_LABEL: pool.name}},
            "spec": spec,
        },
    }
    made = manifest(API_VERSION, "MachineSet", name, MACHINE_NAMESPACE, labels, spec=sets)
    made["metadata"]["annotations"] = capacity_annotations(pool)
    return made


def health_check(pool: Pool, prefix: str) -> MANIFEST | None:
    """The MachineHealthCheck of a pool; None if it is switched off.

    Its limit is a number unless `health.floor` is a share: a percentage of a small set is rounded
    down to zero machines, and no machine would ever be replaced.
    """
    health = options_of(pool).health
    if not (health.enabled if pool.health is None else pool.health.platform_repairs):
        return None
    own, name = {POOL_LABEL: pool.name}, base_name(prefix, pool, None)
    times = {"unhealthy": health.unhealthy_seconds, "startup": health.startup_minutes}
    most = openshift_shape(pool).max_unhealthy
    spec = data_part(OBJECTS, "machineHealthCheck", selected=own, most=most, **times)
    return manifest(API_VERSION, "MachineHealthCheck", name, MACHINE_NAMESPACE, own, spec=spec)


def machine_autoscaler(pool: Pool, prefix: str, zone: str | None = None) -> MANIFEST | None:
    """The bounds between which the cluster's autoscaler scales a set; None for a fixed pool."""
    if not openshift_shape(pool).scaled:
        return None
    fewest, most = sizes_of(pool, zone)
    target = machine_set_name(prefix, pool, zone)
    spec = {
        "minReplicas": fewest,
        "maxReplicas": most,
        "scaleTargetRef": {"apiVersion": API_VERSION, "kind": "MachineSet", "name": target},
    }
    own, name = {POOL_LABEL: pool.name}, base_name(prefix, pool, zone)
    kind = "MachineAutoscaler"
    return manifest(AUTOSCALER_API_VERSION, kind, name, MACHINE_NAMESPACE, own, spec=spec)
