"""What a fleet on OpenShift is given: the cluster's place on its vCenter, as the file says it."""

from typing import Any

import pulumi
from settings import Settings, cluster_stack


def providers(stack: Settings) -> dict[str, pulumi.ProviderResource]:
    """None next to the cluster's own: its machine API makes the machines."""
    del stack
    return {}


def connection(stack: Settings) -> dict[str, Any]:
    """Where the machines go. With `clusterStack` the name of the infrastructure is its output
    `infrastructureName`, unless it is written. Raises RunError for what neither has."""
    place = stack.connection.openshift
    if place is None:
        raise pulumi.RunError(
            "gpufleet:connection.openshift is missing: write infrastructureName, server, "
            "datacenter and network, as a MachineSet of the cluster has them"
        )
    given: dict[str, Any] = place.model_dump(exclude_none=True)
    if "infrastructure_name" not in given:
        made = stack.connection.cluster_stack
        if made is None:
            raise pulumi.RunError(
                "gpufleet:connection.openshift.infrastructureName is missing: `oc get "
                "infrastructure cluster -o jsonpath={.status.infrastructureName}` says it"
            )
        given["infrastructure_name"] = cluster_stack(made).require_output("infrastructureName")
    return {"openshift": given}
