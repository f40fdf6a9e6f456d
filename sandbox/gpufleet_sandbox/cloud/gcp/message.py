"""A node pool as the container API receives it: `google.cloud.container_v1beta1.NodePool`.

The message refuses fields and enumeration values that the API does not have. The provider's names
differ from the API's in a few places (hashicorp/terraform-provider-google e03b762
`google/services/container/node_config.go`, `expandNodeConfig` and `expandNodePool`).
"""

from collections.abc import Mapping
from typing import Any

from google.cloud import container_v1beta1
from google.protobuf import json_format

from gpufleet_sandbox.cloud.cloud import CloudError

_NOT_SENT = frozenset(
    {
        "__defaults",
        "cluster",
        "deletionPolicy",
        "ignoreNodeCountChanges",
        "location",
        "maintenancePolicies",
        "namePrefix",
        "nodeCount",
        "project",
    }
)
"""Inputs that the provider does not send, or sends in other calls."""

_POOL_NAMES = {"nodeConfig": "config", "nodeLocations": "locations"}


def node_pool_message(inputs: Mapping[str, Any]) -> container_v1beta1.NodePool:
    """The message a create call would carry.

    Raises:
        CloudError: the API has no such field or value.
    """
    pool = {_POOL_NAMES.get(key, key): value for key, value in inputs.items()}
    pool = {key: value for key, value in pool.items() if key not in _NOT_SENT}
    if "config" in pool:
        pool["config"] = _config(pool["config"])
    if "autoscaling" in pool:
        pool["autoscaling"] = {"enabled": True, **pool["autoscaling"]}
    if (pods := pool.pop("maxPodsPerNode", None)) is not None:
        pool["maxPodsConstraint"] = {"maxPodsPerNode": pods}
    if drains := pool.pop("nodeDrainConfigs", None):
        pool["nodeDrainConfig"] = drains[0]
    if "initialNodeCount" not in pool and inputs.get("nodeCount") is not None:
        pool["initialNodeCount"] = inputs["nodeCount"]
    message = container_v1beta1.NodePool()
    try:
        json_format.ParseDict(pool, container_v1beta1.NodePool.pb(message))
    except json_format.ParseError as problem:
        raise CloudError(
            f"googleapi: Error 400: Invalid JSON payload received: {problem}"
        ) from None
    return message


def _config(given: Mapping[str, Any]) -> dict[str, Any]:
    config = dict(given)
    config.pop("effectiveTaints", None)
    config.pop("nodeImageConfigs", None)
    if accelerators := config.pop("guestAccelerators", None):
        names = {"count": "acceleratorCount", "type": "acceleratorType"}
        config["accelerators"] = [
            {names.get(key, key): value for key, value in one.items()} for one in accelerators
        ]
    if strategy := config.pop("gpudirectStrategy", None):
        config["gpuDirectConfig"] = {"gpuDirectStrategy": strategy}
    if variant := config.pop("loggingVariant", None):
        config["loggingConfig"] = {"variantConfig": {"variant": variant}}
    if bound := config.get("resourceManagerTags"):
        config["resourceManagerTags"] = {"tags": bound}
    if linux := config.get("linuxNodeConfig"):
        config["linuxNodeConfig"] = {
            "hugepages" if key == "hugepagesConfig" else key: value for key, value in linux.items()
        }
    return config
