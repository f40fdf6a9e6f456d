"""Objects of the Network Operator for a fleet: namespace, values, policy, secondary networks."""

from typing import Any

from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import NETWORK_OPERATOR, Fleet
from gpufleet.fleet.network_operator_chart import network_operator_values
from gpufleet.fleet.nic_cluster_policy import networks, policy

PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""Its operands mount host paths and load kernel modules (NVIDIA Network Operator documentation)."""


def network_namespace(fleet: Fleet) -> dict[str, Any]:
    """The operator's namespace."""
    return manifest("v1", "Namespace", fleet.addons.network_operator.namespace, labels=PRIVILEGED)


def network_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of its chart, the declared `values` merged last."""
    values = network_operator_values(fleet.spec.addons, fleet.addons.network_operator)
    return with_images(fleet, NETWORK_OPERATOR, values)


def nic_cluster_policy(fleet: Fleet) -> dict[str, Any] | None:
    """Its NicClusterPolicy; None: not needed."""
    return policy(fleet.spec.addons, fleet.addons.network_operator)


def secondary_networks(fleet: Fleet) -> list[dict[str, Any]]:
    """The networks that pods may join next to the cluster's own."""
    return networks(fleet.spec.addons.network_operator)
