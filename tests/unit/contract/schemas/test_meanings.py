"""Patterns in words: texts that a definition takes and refuses, and what the message then says."""

import re
from typing import Any

import pytest

from gpufleet.catalogue.schemas import schema_file, schema_kinds
from gpufleet.contract.schemas import schema_problems
from gpufleet.contract.schemas.meanings import _MEANINGS, needed  # pyright: ignore[reportPrivateUsage]
from tests.schema_mutations import go_pattern

EXAMPLES = {
    "a quantity such as 500m, 2 or 1Gi": ("500m", "2", "1Gi"),
    "a duration such as 30s, 1h30m or 2d, without spaces": ("30s", "1h30m", "2d"),
    "a label key such as example.com/name": ("example.com/name",),
    "a duration such as 720h, or Never": ("720h", "Never"),
    "a duration such as 30m or 1h": ("30m", "1h"),
    "a duration such as 30s, 5m or 1h": ("30s", "5m", "1h"),
    "a duration such as 30s or 5m": ("30s", "5m"),
    "an address that begins with oci://": ("oci://ghcr.io/a",),
    "a number, or a percentage up to 100%": ("3", "100%"),
    "hours and minutes such as 8h or 1h30m": ("8h", "1h30m"),
    "a duration such as 300s or 1h30m": ("300s", "1h30m"),
    "0, or a duration such as 10m": ("0", "10m"),
    "a size such as 100Gi": ("100Gi",),
}


def patterns() -> set[str]:
    """Every pattern of the catalogue."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("pattern"), str):
                found.add(value["pattern"])
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    for name in {name for kinds in schema_kinds().values() for name in kinds.values()}:
        walk(schema_file(name))
    return found


def test_each_meaning_is_of_a_pattern_that_is_there() -> None:
    assert set(_MEANINGS) - patterns() == {"date-time"}


@pytest.mark.parametrize("pattern", [one for one in _MEANINGS if _MEANINGS[one] in EXAMPLES])
def test_the_examples_match_their_pattern(pattern: str) -> None:
    for text in EXAMPLES[_MEANINGS[pattern]]:
        assert re.search(go_pattern(pattern), text)


def test_the_message_has_no_long_pattern() -> None:
    container = {"name": "a", "resources": {"limits": {"memory": "1GiB"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    (found,) = schema_problems({**pod, "spec": {"containers": [container]}})
    assert found.message == "memory is '1GiB', a quantity such as 500m, 2 or 1Gi is needed"
    assert needed("^cr-[0-9a-z]+$") == "text that matches ^cr-[0-9a-z]+$"
    assert max(len(needed(one)) for one in patterns()) < 80
