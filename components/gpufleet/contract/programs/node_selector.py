"""Node selectors of custom resources that must not share a node."""

from collections.abc import Mapping
from typing import Any


def selects_within(narrow: Mapping[str, Any], wide: Mapping[str, Any]) -> bool:
    """Whether every node `narrow` selects is surely selected by `wide` too."""
    return all(key in narrow and narrow[key] == value for key, value in wide.items())
