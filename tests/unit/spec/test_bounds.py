"""The JSON Schema holds every bound in its own words, which editors understand."""

from collections.abc import Iterator
from typing import Any

from gpufleet.spec.fleet_spec import FleetSpec


def keys(schema: Any) -> Iterator[str]:
    """Keys at every depth, names of properties left out."""
    if isinstance(schema, list):
        for one in schema:
            yield from keys(one)
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            named = key in ("properties", "$defs")
            yield from keys(list(value.values()) if named else value)


def test_no_bound_is_written_in_the_words_of_the_model() -> None:
    found = set(keys(FleetSpec.model_json_schema()))
    assert {"minimum", "maximum"} <= found
    assert not found & {"ge", "le", "gt", "lt", "min_length", "max_length"}
