from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.partition import PlacedInstance
from gpufleet.planner.packing.cover import cover_demand
from gpufleet.planner.packing.patterns import maximal_patterns
from gpufleet.planner.packing.simplex import cover

SEVEN = load().geometries["A100-80GB"]
FOUR = load().geometries["A30-24GB"]


def plain(geometry) -> list[str]:
    return [name for name, p in geometry.profiles.items() if not p.attributes]


def test_patterns_come_from_the_placements() -> None:
    assert len(maximal_patterns(SEVEN, plain(SEVEN))) == 28
    assert len(maximal_patterns(SEVEN, [n for n in plain(SEVEN) if n != "1g.20gb"])) == 12
    assert len(maximal_patterns(FOUR, plain(FOUR))) == 4


def test_patterns_beside_an_instance_use_what_is_left() -> None:
    there = (PlacedInstance("1g.10gb", 2, 1),)
    assert maximal_patterns(SEVEN, ["3g.40gb", "4g.40gb"], there) == ((("3g.40gb", 1),),)
    assert maximal_patterns(SEVEN, ["7g.80gb"], there) == ()


def test_relaxation_is_exact() -> None:
    found = cover([{0: 2}, {0: 1, 1: 1}], [1, 1], [3, 2])
    assert found is not None
    assert found.value == Fraction(5, 2)
    assert found.quantities == (Fraction(1, 2), Fraction(2))
    assert cover([{0: 1}], [1], [1, 1]) is None


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_cover_is_as_good_as_trying_everything(data: st.DataObject) -> None:
    kinds = data.draw(st.integers(1, 3))
    vector = st.tuples(*[st.integers(0, 3)] * kinds)
    patterns = data.draw(st.lists(vector.filter(any), min_size=1, max_size=4, unique=True))
    demand = data.draw(st.tuples(*[st.integers(0, 6)] * kinds))
    found = cover_demand(patterns, demand)
    most = sum(demand)
    totals = (
        [
            sum(bins)
            for bins in product(range(most + 1), repeat=len(patterns))
            if sum(bins) <= most
            and all(
                sum(n * p[i] for n, p in zip(bins, patterns, strict=True)) >= demand[i]
                for i in range(kinds)
            )
        ]
        if most <= 9
        else None
    )
    if totals == []:
        assert found is None
        return
    if found is None:
        assert any(d and not any(p[i] for p in patterns) for i, d in enumerate(demand))
        return
    assert found.bound <= found.total
    for i in range(kinds):
        assert sum(n * p[i] for n, p in zip(found.bins, patterns, strict=True)) >= demand[i]
    if totals is not None:
        assert found.bound <= min(totals) <= found.total
