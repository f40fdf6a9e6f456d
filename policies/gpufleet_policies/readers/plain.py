"""Properties as plain Python values, with a marker for values that are not known.

The Pulumi SDK hands rules proxies that raise on unknown values, and inside slices and remediations
assigns a sentinel string instead. Nothing but this module touches them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet_policies.facts.tristate import UNKNOWN

SENTINELS = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # string; previews and checkpoints use it for all
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)
"""What is on the wire for a value that is not known yet (pulumi-policy 1.21.0, proxy.py)."""

_PROXIES = frozenset({"_DictProxy", "_ListProxy"})
"""Classes of the SDK that guard unknown values and assign what they guard as `["__target"]`."""

MAX_DEPTH = 64
"""Most levels of a manifest; values below are read as unknown."""


def plain(value: Any, depth: int = 0) -> Any:
    """Plain dicts, lists, strings and numbers; UNKNOWN where a value cannot be read yet.

    Whole numbers become int, because the engine sends every number as a float. Mapping keys that
    are not text and values of foreign types are left out: no rule asks for them.
    """
    kind = type(value)
    if kind is str:
        return UNKNOWN if value in SENTINELS else value
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is bool or kind is int or value is None:
        return value
    if depth >= MAX_DEPTH:
        return UNKNOWN
    deeper = depth + 1
    if kind.__name__ in _PROXIES:
        # What the proxy guards, in one step; its unknown leaves are sentinels, read above.
        value = value["__target"]
    if isinstance(value, dict):
        return {k: plain(v, deeper) for k, v in value.items() if isinstance(k, str)}
    if isinstance(value, list):
        return [plain(v, deeper) for v in value]
    if isinstance(value, Mapping):
        keys = [key for key in value if isinstance(key, str)]
        return {k: plain(_read(value, k), deeper) for k in keys}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(_read(value, index), deeper) for index in range(len(value))]
    return UNKNOWN


def _read(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except Exception as error:
        # By name, so that validating files and states never imports the Pulumi SDK.
        if type(error).__name__ == "UnknownValueError":
            return UNKNOWN
        raise
