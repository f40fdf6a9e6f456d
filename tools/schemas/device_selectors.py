"""Criteria by which the network device plugins select devices, from the webhook's JSON Schemas."""

import json
from pathlib import Path
from typing import Any

from custom_resources import origin
from pruning import Schema, pruned
from sources import SOURCES

FILES = {
    "rdma": ("rdma_shared_device_plugin", ("configList", "items", "selectors")),
    "accelerator": ("accelerator_selector", ("selectors",)),
    "netDevice": ("net_device", ("selectors",)),
    "auxNetDevice": ("aux_net_device", ("selectors",)),
}
"""Type of device -> file, and the way to the selectors."""


def selectors_file(folder: Path) -> Schema:
    """The criteria of each type of device."""
    source = origin(SOURCES["mellanox.com"]) | {"path": "webhook-schemas"}
    criteria = {device: _criteria(folder, *place) for device, place in FILES.items()}
    return {"source": source, "selectors": criteria}


def _criteria(folder: Path, name: str, way: tuple[str, ...]) -> Schema:
    path = folder / f"network-operator-26.4.1.webhook-schema.{name}.json"
    here: Any = json.loads(path.read_text(encoding="utf-8"))
    for step in way:
        here = here["items"] if step == "items" else here["properties"][step]
    whole = here["oneOf"][-1] if "oneOf" in here else here  # an object, or a list of them
    return {key: pruned(one) for key, one in whole["properties"].items()}
