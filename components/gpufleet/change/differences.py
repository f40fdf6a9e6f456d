"""Differences between two fleets: fields of the declarations, and the files of a pool."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from gpufleet.change.files import ABSENT
from gpufleet.change.plan import FieldDifference
from gpufleet.fleet.model import Fleet
from gpufleet.render.platform_files import platform_files
from gpufleet.spec.base import Ownership, SpecModel


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of every value inside plain data; None is not a value."""
    if isinstance(value, Mapping) and value:
        for key, one in cast("Mapping[Any, Any]", value).items():
            yield from leaves(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple) and value:
        for number, one in enumerate(cast("list[Any]", value)):
            yield from leaves(one, f"{path}[{number}]")
    elif value is not None:
        yield path, str(cast("object", value))


def written(old: SpecModel, new: SpecModel, *, without: frozenset[str]) -> list[FieldDifference]:
    """Different fields of the declarations; a default may be written or not."""
    found, full = (
        [
            one.model_dump(
                mode="json", by_alias=True, exclude=set(without), exclude_defaults=without_defaults
            )
            for one in (old, new)
        ]
        for without_defaults in (True, False)
    )
    defaults = [dict(leaves(one)) for one in full]
    return [
        replace(
            one,
            old=defaults[0].get(one.field, one.old),
            new=defaults[1].get(one.field, one.new),
        )
        for one in _compared(*found)
    ]


def files_differ(old: Fleet, new: Fleet, name: str) -> bool:
    """Whether the rendered files of a pool differ."""
    before, after = (
        {
            file.path: file.text
            for pool in (fleet.pool(name),)
            for file in platform_files(pool.platform).pool_files(fleet, pool)
            if pool.ownership is not Ownership.EXISTING
        }
        for fleet in (old, new)
    )
    return before != after


def _compared(old: Any, new: Any) -> list[FieldDifference]:
    before, after = dict(leaves(old)), dict(leaves(new))
    return [
        FieldDifference(path, before.get(path, ABSENT), after.get(path, ABSENT))
        for path in dict.fromkeys((*before, *after))
        if before.get(path) != after.get(path)
    ]
