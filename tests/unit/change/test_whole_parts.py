"""Parts of real declarations are taken away, doubled, put in another order or exchanged: none is
silent.

Independent of `leaf_mutations` and `test_random_edits`: the declarations are those of the stacks
and examples, no value is invented, and no schema is read. Every list loses, doubles and turns its
elements, every map loses a key or becomes that of another place, and two such edits are made at
once.
"""

import copy
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.fleet import Fleet
from tests.reading import yaml_documents
from tests.unit.change.test_no_silent_change import _compiled, _output, unnamed

ROOT = Path(__file__).parents[3]
Data = dict[str, Any]
Way = tuple[str | int, ...]
"""Path in a declaration."""


def declarations() -> Iterator[tuple[str, Data]]:
    """Every declaration of the repository that compiles."""
    for path in sorted((*ROOT.glob("stacks/Pulumi.*.yaml"), *ROOT.glob("examples/*/*.yaml"))):
        for document in yaml_documents(path.read_text()):
            config = document.get("config") if isinstance(document, dict) else None
            data = (config or {}).get("gpufleet:fleet", document)
            if isinstance(data, dict) and "pools" in data and "catalogue" in data:
                yield path.relative_to(ROOT).as_posix(), data


DECLARATIONS = {name: data for name, data in declarations() if _compiled(data) is not None}


def parts(data: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Every list and map of a declaration, with where it is."""
    if isinstance(data, dict | list):
        yield way, data
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for key, one in items:
            yield from parts(one, (*way, key))


def placed(data: Data, way: Way, part: Any) -> Data:
    """The declaration with another part there."""
    if not way:
        return part
    changed = copy.deepcopy(data)
    place: Any = changed
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = copy.deepcopy(part)
    return changed


def edits(data: Data) -> Iterator[tuple[str, Data]]:
    """The edit, and the declaration after it."""
    found = list(parts(data))
    maps = [(way, part) for way, part in found if isinstance(part, dict) and way]
    for way, part in found:
        where = ".".join(map(str, way)) or "all"
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            less = copy.deepcopy(part)
            del less[key]
            yield f"{where} without {key}", placed(data, way, less)
        if isinstance(part, list):
            for number, one in enumerate(part):
                twin = dict(one, name=f"{one['name']}-2") if _is_named(one) else one
                twice = [*part[: number + 1], twin, *part[number + 1 :]]
                yield f"{where} with {number} twice", placed(data, way, twice)
            yield f"{where} the other way round", placed(data, way, part[::-1])
            yield f"{where} turned", placed(data, way, [*part[1:], *part[:1]])
    for (one, part), (two, other) in itertools.permutations(maps, 2):
        if one[-1] == two[-1] and part != other:
            yield f"{one} as {two}", placed(data, one, other)


def _is_named(one: object) -> bool:
    return isinstance(one, dict) and isinstance(one.get("name"), str)


def silent(old: Fleet, before: object, changed: Data) -> list[str]:
    """Changes that the plan does not name; none if the edit is invalid or changes no output."""
    new = _compiled(changed)
    if new is None or _output(new) == before:
        return []
    return unnamed(old, new, change_plan(old, new))


def test_there_are_declarations_of_every_platform() -> None:
    platforms = {data["platform"] for data in DECLARATIONS.values()}
    assert platforms == {"eks", "gke", "vsphere", "openshift", "existing", "sandbox"}
    assert len(DECLARATIONS) >= 8


PAIRS = 100
STEP = 40
"""A commit tries one of this number of edits; the nightly run tries all."""


@pytest.mark.parametrize("step", [STEP, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", DECLARATIONS)
def test_no_part_is_silent(name: str, step: int) -> None:
    data = DECLARATIONS[name]
    old = _compiled(data)
    assert old is not None
    before = _output(old)
    found = {
        text: wrong
        for text, changed in itertools.islice(edits(data), 0, None, step)
        if (wrong := silent(old, before, changed))
    }
    assert found == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", DECLARATIONS)
def test_no_two_edits_at_once_are_silent(name: str) -> None:
    data, dice = DECLARATIONS[name], random.Random(name)
    old = _compiled(data)
    assert old is not None
    before = _output(old)
    one = [(text, changed) for text, changed in edits(data) if _compiled(changed) is not None]
    found: dict[str, list[str]] = {}
    for _ in range(PAIRS):
        first, once = dice.choice(one)
        second, twice = dice.choice(list(edits(once)))
        if wrong := silent(old, before, twice):
            found[f"{first}, {second}"] = wrong
    assert found == {}
