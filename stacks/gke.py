"""Inputs of a fleet on GKE: the Google provider, and values of the cluster's stack or file."""

from typing import Any

import pulumi
import pulumi_gcp as gcp
from settings import Settings, cluster_stack


def providers(stack: Settings) -> dict[str, pulumi.ProviderResource]:
    """The Google provider of the cluster's project and region."""
    cluster = stack.fleet["cluster"]
    project = cluster.get("project", stack.connection.project)
    if project is None:
        raise pulumi.RunError(
            "no Google Cloud project: write gpufleet:fleet.cluster.project, or "
            "gpufleet:connection.project"
        )
    return {"gcp": gcp.Provider("gcp", project=project, region=cluster["region"])}


def connection(stack: Settings) -> dict[str, Any]:
    """Outputs of the cluster's stack, or values of the stack file."""
    written = stack.connection
    account: Any = written.service_account
    networks: dict[str, Any] = {
        name: dict(network) for name, network in (written.gpu_networks or {}).items()
    }
    if written.cluster_stack is not None:
        made = cluster_stack(written.cluster_stack)
        account = account or made.require_output("nodeServiceAccount")
        networks = {
            name: {key: made.require_output(output) for key, output in network.items()}
            for name, network in networks.items()
        }
    given: dict[str, Any] = {
        "cluster_name": stack.fleet["cluster"]["name"],
        "gpu_networks": networks,
        "location": written.location,
        "network_tags": written.network_tags,
        "service_account": account,
    }
    return {key: value for key, value in given.items() if value}
