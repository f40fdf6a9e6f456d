"""What GKE pools are wired to, and their declaration on its own."""

from collections.abc import Mapping
from typing import Any, TypedDict

import pulumi

from gpufleet.components_base.inputs import refuse
from gpufleet.fleet import Pool, compile_data


class GkeNetworkArgs(TypedDict):
    """A network of GPU interfaces."""

    network: pulumi.Input[str]
    """Name of the VPC network."""
    subnetwork: pulumi.Input[str]
    """Name of its subnet in the cluster's region."""


DEFAULT_PREFIX = "gpufleet"


def compiled_pool(component: str, given: Mapping[str, Any]) -> Pool:
    """The pool on its own. Raises InvalidArgumentsError with every finding."""
    cluster = {"name": "cluster", "region": given["region"]}
    if "kubernetesVersion" in given:
        cluster["kubernetesVersion"] = given["kubernetesVersion"]
    result = compile_data(
        {
            "catalogue": given["catalogue"],
            "platform": "gke",
            "cluster": cluster,
            "pools": [given["pool"]],
        }
    )
    if result.fleet is None or not result.deployable:
        refuse(component, result.findings)
    return result.fleet.pools[0]
