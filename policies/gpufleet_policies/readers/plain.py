"""Properties as plain Python values, with a marker for values that are not known."""

from typing import Any, cast

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.shapes import is_list, is_mapping
from gpufleet_policies.names import names

SENTINELS = frozenset(names("value that is not known yet"))
"""Wire format of a value that is not known yet (sdk/go/common/resource/plugin/rpc.go)."""

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of mappings that represent a secret, an asset or a reference (sdk/go/common/resource/sig)."""

_OF_SECRETS = "1b47061264138c4ac30d75fd1eb44270"

MAX_DEPTH = 64
"""Maximum number of levels of a manifest; values below are read as unknown."""


def plain(value: Any, depth: int = 0) -> Any:
    """Plain dicts, lists, strings and numbers; UNKNOWN where a value cannot be read yet.

    Whole numbers become int, because the engine sends every number as a float. Mapping keys that
    are not text and values of foreign types are omitted: no rule reads them.
    """
    kind = value.__class__
    if kind is str:
        return UNKNOWN if value in SENTINELS else value
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is bool or kind is int or value is None:
        return value
    if depth >= MAX_DEPTH:
        return UNKNOWN
    deeper = depth + 1
    if is_mapping(value):
        if SIGNATURE in value:  # a secret is read; an asset is not data
            is_secret = value[SIGNATURE] == _OF_SECRETS and "value" in value
            return plain(value["value"], deeper) if is_secret else UNKNOWN
        keyed = cast("dict[Any, Any]", value)
        return {k: plain(v, deeper) for k, v in keyed.items() if isinstance(k, str)}
    if is_list(value):
        return [plain(v, deeper) for v in value]
    return UNKNOWN
