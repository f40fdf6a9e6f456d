"""Looking up values by dotted path."""

from collections.abc import Mapping
from typing import Any

from gpufleet.contract.foreign.go_json import as_mapping


def value_at(data: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None where nothing is written."""
    here: Any = data
    for step in path.split("."):
        found = as_mapping(here)
        if found is None:
            return None
        here = found.get(step)
    return here
