"""Values as the engine sends them: numbers, unknowns and secrets in plain Python.

The signatures are the engine's own (pulumi/pulumi sdk v3.259.0, `go/common/resource/sig` and
`plugin/rpc.go`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format, struct_pb2

UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a marker, not a secret


class UnknownValue:
    """A value that only exists after deployment; previews are full of them."""

    def __repr__(self) -> str:
        return "<not known yet>"


UNKNOWN = UnknownValue()


@dataclass(frozen=True, slots=True, eq=True)
class Secret:
    """A value the program marked secret. Its text never shows it."""

    value: Any

    def __repr__(self) -> str:
        return "<secret>"


def from_struct(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Properties of a request."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def to_struct(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    """Properties of a response. Absent and None are equal to the engine: neither is sent."""
    struct = struct_pb2.Struct()
    plain = {key: _to_plain(value) for key, value in properties.items() if value is not None}
    json_format.ParseDict(plain, struct)
    return struct


def revealed(value: Any) -> Any:
    """The value without its secret markers, for a request to the cloud."""
    if isinstance(value, Secret):
        return revealed(value.value)
    if isinstance(value, dict):
        return {key: revealed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [revealed(item) for item in value]
    return value


def has_unknown(value: Any) -> bool:
    """Whether anything inside is not known yet."""
    if isinstance(value, Secret):
        return has_unknown(value.value)
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value is UNKNOWN


def to_json(value: Any) -> Any:
    """For the state folder: secrets keep their marker, so that a later read marks them again."""
    return _to_plain(value)


def from_json(value: Any) -> Any:
    """The value that `to_json` wrote."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET_SIGNATURE:
            return Secret(from_json(value.get("value")))
        return {key: from_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_json(item) for item in value]
    return UNKNOWN if value == UNKNOWN_TEXT else value


def _from_value(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        inner = from_struct(value.struct_value)
        return Secret(inner.get("value")) if inner.get(SIGNATURE) == SECRET_SIGNATURE else inner
    if kind == "list_value":
        return [_from_value(item) for item in value.list_value.values]
    if kind == "number_value":
        # Every number travels as a float.
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "string_value":
        return UNKNOWN if value.string_value == UNKNOWN_TEXT else value.string_value
    if kind == "bool_value":
        return value.bool_value
    return None


def _to_plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return {SIGNATURE: SECRET_SIGNATURE, "value": _to_plain(value.value)}
    if isinstance(value, UnknownValue):
        return UNKNOWN_TEXT
    if isinstance(value, Mapping):
        return {key: _to_plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    return value
