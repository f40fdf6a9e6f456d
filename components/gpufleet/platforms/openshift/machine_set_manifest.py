"""A pool on OpenShift as objects of its machine API: MachineSet, health check, autoscaler.

Formats, read 2026-11-22: openshift/api `machine/v1beta1` (MachineSet, MachineHealthCheck,
VSphereMachineProviderSpec), openshift/cluster-autoscaler-operator `pkg/apis/autoscaling/v1beta1`.
"""

from dataclasses import dataclass
from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.shape import (
    ACCELERATOR_LABEL,
    MACHINE_NAMESPACE,
    born_with,
    capacity_annotations,
    machine_set_name,
    openshift_shape,
    options_of,
)

API_VERSION = "machine.openshift.io/v1beta1"
AUTOSCALER_API_VERSION = "autoscaling.openshift.io/v1beta1"
CLUSTER_LABEL = "machine.openshift.io/cluster-api-cluster"
SET_LABEL = "machine.openshift.io/cluster-api-machineset"
_ROLE = {
    "machine.openshift.io/cluster-api-machine-role": "worker",
    "machine.openshift.io/cluster-api-machine-type": "worker",
}
MANAGED_BY = {"app.kubernetes.io/managed-by": "gpufleet"}
MANIFEST = dict[str, Any]
CREDENTIALS, USER_DATA = "vsphere-cloud-credentials", "worker-user-data"
"""Names of the two Secrets in every cluster on vSphere."""


@dataclass(frozen=True, slots=True)
class MachinePlace:
    """Where machines go, which only the cluster knows. Values may be Outputs; None is left out."""

    infrastructure: Any
    """Infrastructure name of the cluster, `lab-x7k2p`."""
    server: Any
    datacenter: Any
    network: Any
    datastore: Any = None
    folder: Any = None
    resource_pool: Any = None
    credentials: Any = CREDENTIALS
    """Name of the Secret with the vCenter's credentials."""
    user_data: Any = USER_DATA
    """Name of the Secret with the workers' Ignition."""


def machine_set(pool: Pool, prefix: str, place: MachinePlace) -> MANIFEST:
    """The MachineSet of a pool, with its smallest number of machines.

    Raises:
        ValueError: the name is too long, or the pool has no `openshift` section.
    """
    name, born = machine_set_name(prefix, pool), born_with(pool)
    shape = openshift_shape(pool)
    selected = {CLUSTER_LABEL: place.infrastructure, SET_LABEL: name}
    spec: MANIFEST = {
        "metadata": {"labels": born["labels"]},
        "providerSpec": {"value": _provider(pool, place)},
    }
    if born["taints"]:
        spec["taints"] = born["taints"]
    labels = {CLUSTER_LABEL: place.infrastructure, POOL_LABEL: pool.name, **MANAGED_BY}
    if shape.accelerator is not None:
        labels[ACCELERATOR_LABEL] = shape.accelerator
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineSet",
        "metadata": {
            "name": name,
            "namespace": MACHINE_NAMESPACE,
            "labels": labels,
            "annotations": capacity_annotations(pool),
        },
        "spec": {
            "replicas": pool.nodes.minimum,
            "selector": {"matchLabels": selected},
            "template": {
                "metadata": {"labels": {**selected, **_ROLE, POOL_LABEL: pool.name}},
                "spec": spec,
            },
        },
    }


def health_check(pool: Pool, prefix: str) -> MANIFEST | None:
    """The MachineHealthCheck of a pool; None where it is switched off.

    Its limit is a number: a percentage of a small set is rounded down to no machine at all, and
    nothing would ever be remedied.
    """
    health = options_of(pool).health
    if not health.enabled:
        return None
    timeout = f"{health.unhealthy_seconds}s"
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineHealthCheck",
        "metadata": _metadata(pool, prefix),
        "spec": {
            "selector": {"matchLabels": {POOL_LABEL: pool.name}},
            "unhealthyConditions": [
                {"type": "Ready", "status": status, "timeout": timeout}
                for status in ("False", "Unknown")
            ],
            "maxUnhealthy": openshift_shape(pool).max_unhealthy,
            "nodeStartupTimeout": f"{health.startup_minutes}m",
        },
    }


def machine_autoscaler(pool: Pool, prefix: str) -> MANIFEST | None:
    """The bounds between which the cluster's autoscaler moves a set; None for a fixed pool."""
    if not openshift_shape(pool).scaled:
        return None
    return {
        "apiVersion": AUTOSCALER_API_VERSION,
        "kind": "MachineAutoscaler",
        "metadata": _metadata(pool, prefix),
        "spec": {
            "minReplicas": pool.nodes.minimum,
            "maxReplicas": pool.nodes.maximum,
            "scaleTargetRef": {
                "apiVersion": API_VERSION,
                "kind": "MachineSet",
                "name": machine_set_name(prefix, pool),
            },
        },
    }


def _metadata(pool: Pool, prefix: str) -> MANIFEST:
    return {
        "name": f"{prefix}-{pool.name}",
        "namespace": MACHINE_NAMESPACE,
        "labels": {POOL_LABEL: pool.name, **MANAGED_BY},
    }


def _provider(pool: Pool, place: MachinePlace) -> MANIFEST:
    options = options_of(pool)
    workspace = {
        "server": place.server,
        "datacenter": place.datacenter,
        "datastore": options.datastore or place.datastore,
        "folder": options.folder or place.folder,
        "resourcePool": place.resource_pool,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "VSphereMachineProviderSpec",
        **born_with(pool)["machine"],
        "credentialsSecret": {"name": place.credentials},
        "userDataSecret": {"name": place.user_data},
        "network": {"devices": [{"networkName": place.network}]},
        "snapshot": "",
        "workspace": {key: value for key, value in workspace.items() if value is not None},
    }
