"""Inputs of a fleet on OpenShift: the cluster's place, from the stack file."""

from typing import Any

import pulumi
from settings import Settings, cluster_stack

SECTIONS = {
    "openshift": ("openshift", "server, datacenter and network"),
    "openshiftGcp": ("openshift_gcp", "projectId, network, subnetwork, serviceAccount and image"),
    "openshiftAws": ("openshift_aws", "iamInstanceProfile, amiId, subnets and security groups"),
}
"""Platform -> section of the connection, and its values."""


def providers(stack: Settings) -> dict[str, pulumi.ProviderResource]:
    """None next to the cluster's own: its machine API makes the machines."""
    del stack
    return {}


def connection(stack: Settings) -> dict[str, Any]:
    """Place of the machines. With `clusterStack` the name of the infrastructure is its output
    `infrastructureName`, unless it is written. Raises RunError for values that neither has."""
    section = str(stack.fleet.get("platform", "openshift"))
    name, needed = SECTIONS[section]
    place = getattr(stack.connection, name)
    if place is None:
        raise pulumi.RunError(
            f"gpufleet:connection.{section} is missing: write infrastructureName, {needed}, as a "
            "MachineSet of the cluster has them"
        )
    given: dict[str, Any] = place.model_dump(exclude_none=True)
    if "infrastructure_name" not in given:
        made = stack.connection.cluster_stack
        if made is None:
            raise pulumi.RunError(
                f"gpufleet:connection.{section}.infrastructureName is missing: `oc get "
                "infrastructure cluster -o jsonpath={.status.infrastructureName}` says it"
            )
        given["infrastructure_name"] = cluster_stack(made).require_output("infrastructureName")
    return {name: given}
