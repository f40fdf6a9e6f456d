"""Value classes as plain data, for JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, cast


def camel(name: str) -> str:
    """`gpu_hours` as `gpuHours`."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def plain_data(value: Any) -> Any:
    """A value as JSON has it: dataclasses as mappings with keys in camel case, decimals as text."""
    if is_dataclass(value):
        return {camel(one.name): plain_data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return {key: plain_data(item) for key, item in entries.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in cast("list[Any]", value)]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Decimal) else value


def picked(value: object, *names: str) -> dict[str, Any]:
    """Some attributes as plain data, with keys in camel case."""
    return {camel(name): plain_data(getattr(value, name)) for name in names}
