"""Configurations of the network device plugins, from the JSON Schemas of the operator's webhook."""

import json
from pathlib import Path
from typing import Any

from custom_resources import origin
from pruning import Schema, pruned
from sources import SOURCES

SELECTORS = {
    "accelerator": "accelerator_selector",
    "netDevice": "net_device",
    "auxNetDevice": "aux_net_device",
}
"""Type of SR-IOV device -> file of its selectors."""
UNREAD: Schema = {}
MAP_KEYS = "x-kubernetes-list-map-keys"


def plugin_configs_file(folder: Path) -> Schema:
    """The schema of each plugin's configuration, in which only the keys exist that the plugin reads
    (k8s-rdma-shared-dev-plugin `pkg/types`, sriov-network-device-plugin `pkg/types`)."""
    rdma = pruned(_read(folder, "rdma_shared_device_plugin"))
    entry = rdma["properties"]["configList"]["items"]
    del entry["anyOf"], entry["properties"]["devices"]["minLength"]  # of a list it says nothing
    entry["properties"]["selectors"] = _selectors(entry["properties"]["selectors"])
    rdma["properties"]["periodicUpdateInterval"] = UNREAD
    # The plugin fails to register a second resource of one name.
    rdma["properties"]["configList"][MAP_KEYS] = ["resourceName", "resourcePrefix"]
    sriov = pruned(_read(folder, "sriov_network_device_plugin"))
    listed = sriov["properties"]["resourceList"]
    entry = listed["items"]
    # The webhook asks the list for it, which is no object, and panics without it.
    entry["required"] = listed.pop("required")
    entry["properties"] |= {"selectors": UNREAD, "additionalInfo": UNREAD}
    entry["allOf"] = [_of_device(folder, *one) for one in SELECTORS.items()]
    return {
        "source": origin(SOURCES["mellanox.com"]) | {"path": "webhook-schemas"},
        "configs": {
            "rdma-shared-config": _closed(rdma, "configList"),
            "sriov-config": _closed(sriov, "resourceList"),
        },
    }


def _closed(whole: Schema, name: str) -> Schema:
    listed = whole["properties"][name]
    listed["minItems"] = 1  # the plugins end without a resource
    listed["items"]["additionalProperties"] = whole["additionalProperties"] = False
    return whole


def _of_device(folder: Path, device: str, name: str) -> Schema:
    """The selectors of a type of device: one object, or a list of them."""
    choices = pruned(_read(folder, name))["properties"]["selectors"]["oneOf"]
    one = _selectors(choices[-1])
    chosen: Schema = {"properties": {"deviceType": {"const": device}}}
    if device != "netDevice":  # the default
        chosen["required"] = ["deviceType"]
    either = {"if": {"type": "array"}, "then": {"items": one}, "else": one}
    return {"if": chosen, "then": {"properties": {"selectors": either}}}


def _selectors(schema: Schema) -> Schema:
    """The same with the wish for any criterion as a number, which has a message."""
    return {key: one for key, one in schema.items() if key != "anyOf"} | {"minProperties": 1}


def _read(folder: Path, name: str) -> Any:
    path = folder / f"network-operator-26.4.1.webhook-schema.{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))
