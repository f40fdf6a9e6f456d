"""The passes of compile_fleet: each result is set once, and none is read too early."""

from collections import Counter
from dataclasses import fields

import pytest

from benchmarks.specs import fleet
from gpufleet.catalogue import load
from gpufleet.fleet.compile import PASSES, Compilation
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.parse import parse


class _Watched(Compilation):
    """Records which fields are set."""

    def __init__(self, *given: object) -> None:
        self.written: Counter[str] = Counter()
        super().__init__(*given)  # pyright: ignore[reportArgumentType]

    def __setattr__(self, name: str, value: object) -> None:
        if name != "written":
            self.written[name] += 1
        super().__setattr__(name, value)


@pytest.mark.parametrize("platform", ["eks", "gke", "sandbox"])
def test_each_result_is_set_by_one_pass(platform: str) -> None:
    spec = parse(fleet(5, platform)).readable
    assert spec is not None
    paths = tuple(f"pools[{i}]" for i in range(len(spec.pools)))
    made = _Watched(spec, PLATFORMS, load(), paths, load().about.date, None)
    for one in PASSES:
        list(one(made))
    assert {field.name for field in fields(Compilation)} == set(made.written)
    assert set(made.written.values()) == {1}


def test_a_result_that_is_not_there_yet_cannot_be_read() -> None:
    spec = parse(fleet(1, "eks")).readable
    assert spec is not None
    with pytest.raises(AttributeError):
        _ = Compilation(spec, PLATFORMS, load(), ("pools[0]",), load().about.date, None).pools
