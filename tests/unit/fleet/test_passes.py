"""The passes of compile_fleet: each reads and sets what it states, and reads nothing too early."""

from dataclasses import fields

import pytest

from benchmarks.specs import fleet
from gpufleet.catalogue import load
from gpufleet.fleet.compile import PASSES, Compilation
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.parse import parse

INPUT = {"spec", "platforms", "catalogue", "paths", "as_of", "at"}
GATHERED = {"findings"}
"""Additions of compile_fleet after each pass; no pass gives them."""
RESULTS = {field.name for field in fields(Compilation)} - INPUT - GATHERED


class _Watched(Compilation):
    """Records which results are read and set."""

    def __init__(self, *given: object) -> None:
        self.read: set[str] = set()
        self.written: set[str] = set()
        super().__init__(*given)  # pyright: ignore[reportArgumentType]

    def __getattribute__(self, name: str) -> object:
        if name in RESULTS:
            self.read.add(name)
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in RESULTS:
            self.written.add(name)
        super().__setattr__(name, value)


@pytest.mark.parametrize("platform", ["eks", "gke", "sandbox"])
def test_each_pass_reads_and_sets_what_it_states(platform: str) -> None:
    spec = parse(fleet(5, platform)).readable
    assert spec is not None
    paths = tuple(f"pools[{i}]" for i in range(len(spec.pools)))
    made = _Watched(spec, PLATFORMS, load(), paths, load().about.date, None)
    for one in PASSES:
        made.read, made.written = set(), set()
        list(one.run(made))
        assert made.written == set(one.gives), one.name
        # What a pass sets it may read again.
        assert made.read - made.written == set(one.needs), one.name


def test_what_a_pass_needs_was_given_before() -> None:
    given: set[str] = set()
    for one in PASSES:
        assert given.issuperset(one.needs), one.name
        assert not given.intersection(one.gives), f"{one.name}: given twice"
        given.update(one.gives)
    assert given == RESULTS


def test_a_result_that_is_not_there_yet_cannot_be_read() -> None:
    spec = parse(fleet(1, "eks")).readable
    assert spec is not None
    with pytest.raises(AttributeError):
        _ = Compilation(spec, PLATFORMS, load(), ("pools[0]",), load().about.date, None).pools
