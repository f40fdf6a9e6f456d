"""What differs between two fleets: fields of the declarations, and what is rendered of them."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import yaml

from gpufleet.change.plan import FieldDifference
from gpufleet.fleet.as_dict import pool_as_dict
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.registry import platform_files
from gpufleet.render.artefacts import artefacts
from gpufleet.spec.base import Ownership, SpecModel

ABSENT = "none"
"""What is shown where one side has no such field, or its default."""
_NOT_RUNNING = ("hourlyMicroUsd", "priceRegion", "spend", "path", "nodes.expected")
"""Of a compiled pool, what nothing that runs depends on: prices, and its place in the file."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of every value inside plain data; None is no value."""
    if isinstance(value, Mapping) and value:
        for key, one in cast("Mapping[Any, Any]", value).items():
            yield from leaves(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple) and value:
        for number, one in enumerate(cast("list[Any]", value)):
            yield from leaves(one, f"{path}[{number}]")
    elif value is not None:
        yield path, str(cast("object", value))


def written(old: SpecModel, new: SpecModel, *, without: frozenset[str]) -> list[FieldDifference]:
    """Fields that the declarations have differently; a default may be written or not."""
    return _compared(
        *(
            one.model_dump(mode="json", by_alias=True, exclude=set(without), exclude_defaults=True)
            for one in (old, new)
        )
    )


def pool_output(old: Fleet, new: Fleet, name: str) -> list[FieldDifference]:
    """What the compiled pool and its files have differently."""
    return _compared(*(_output(fleet, fleet.pool(name)) for fleet in (old, new)))


def cluster_output(old: Fleet, new: Fleet) -> list[FieldDifference]:
    """What is rendered differently outside the files of single pools."""
    return _compared(*(_shared_files(fleet) for fleet in (old, new)))


def _output(fleet: Fleet, pool: Pool) -> Mapping[str, Any]:
    compiled = dict(leaves(pool_as_dict(pool)))
    kept = {k: v for k, v in compiled.items() if not k.startswith(_NOT_RUNNING)}
    files = (
        ()
        if pool.ownership is Ownership.EXISTING
        else platform_files(pool.platform).pool_files(fleet, pool)
    )
    return kept | {file.path: _read(file.text) for file in files}


def _shared_files(fleet: Fleet) -> Mapping[str, Any]:
    own = {
        file.path
        for pool in fleet.pools
        for file in platform_files(pool.platform).pool_files(fleet, pool)
    }
    return {file.path: _read(file.text) for file in artefacts(fleet) if file.path not in own}


def _read(text: str) -> Any:
    """The documents of a file. Text that is no YAML, such as a table of metrics, stays text."""
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return text


def _compared(old: Any, new: Any) -> list[FieldDifference]:
    before, after = dict(leaves(old)), dict(leaves(new))
    return [
        FieldDifference(path, before.get(path, ABSENT), after.get(path, ABSENT))
        for path in dict.fromkeys((*before, *after))
        if before.get(path) != after.get(path)
    ]
