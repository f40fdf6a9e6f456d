"""Bounds of a selection: below every packing of whole machines, and tight where few are bought."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet_planner.planning.lower_bound import whole_machines_bound
from tests.examples import examples


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.floats(0.01, 1),
)
def test_no_purchase_that_covers_the_need_costs_less(
    prices: list[int], counts: list[int], part: float
) -> None:
    bought = sum(price * count for price, count in zip(prices, counts, strict=False))
    need = bought * part
    assert need <= whole_machines_bound(need, map(float, prices)) <= bought + 1e-6


def test_the_need_is_raised_to_what_machines_cost() -> None:
    assert whole_machines_bound(6.0, [5.0688]) == 2 * 5.0688
    assert whole_machines_bound(6.0, [5.0688, 7.0]) == 7.0
    assert whole_machines_bound(5.0688, [5.0688]) == 5.0688
    assert whole_machines_bound(0.0, [5.0]) == 0.0
    assert whole_machines_bound(6.0, []) == 6.0
    assert whole_machines_bound(1e6, [1.0]) == 1e6  # too many sums to tell
