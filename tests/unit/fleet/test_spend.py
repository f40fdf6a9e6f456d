"""Spend bounds are exact and in order; the budget's finding has the remedy."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data

CAPACITY = ([{"onDemand": {}}], [{"spot": {}}], [{"spot": {}}, {"onDemand": {}}])


def compiled(
    *pools: dict[str, Any], budget: str | None = None
) -> tuple[Fleet, tuple[Finding, ...]]:
    data: dict[str, Any] = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "ml"},
        "pools": [{"name": f"pool-{index}", **pool} for index, pool in enumerate(pools)],
    }
    if budget is not None:
        data["budget"] = {"usdPerHour": budget}
    result = compile_data(data)
    assert result.fleet is not None, result.findings
    return result.fleet, result.findings


def pool(instance: str, least: int, most: int, **more: Any) -> dict[str, Any]:
    return {"instanceTypes": [instance], "nodes": {"min": least, "max": most}, **more}


def over_budget(findings: tuple[Finding, ...]) -> Finding:
    (found,) = [finding for finding in findings if finding.code == "budget-exceeded"]
    return found


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["g6.xlarge", "g5.12xlarge", "p5.48xlarge", "p4de.24xlarge"]),
            st.integers(0, 20),
            st.integers(1, 40),
            st.sampled_from(CAPACITY),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_bounds_are_in_order_and_add_up(rows: list[Any]) -> None:
    fleet, _ = compiled(
        *(pool(name, low, low + more, capacity=buy) for name, low, more, buy in rows)
    )
    for bounds in (*(one.spend for one in fleet.pools), fleet.spend):
        known = [
            amount
            for amount in (bounds.minimum, bounds.expected, bounds.maximum)
            if isinstance(amount, int)
        ]
        assert known == sorted(known)
    maxima = [one.spend.maximum for one in fleet.pools]
    if all(isinstance(amount, int) for amount in maxima):
        assert fleet.spend.maximum == sum(m for m in maxima if isinstance(m, int))


def test_the_dearest_pool_is_named_with_the_size_that_fits() -> None:
    pools = (pool("g6.xlarge", 1, 10), pool("p5.48xlarge", 0, 4))
    fleet, _ = compiled(*pools)
    node = fleet.pools[1].spend.maximum
    assert isinstance(node, int)
    price, small = Decimal(node) / 4 / 10**6, fleet.pools[0].spend
    rest = small.usd(small.maximum)
    assert rest is not None

    # Three of the four nodes fit to the cent; one cent less and only two do.
    exact = rest + 3 * price
    _, findings = compiled(*pools, budget=str(exact))
    found = over_budget(findings)
    assert found.path == "budget.usdPerHour"
    assert found.message == (
        f"all pools at their largest size cost {rest + 4 * price} USD/h, and the budget is {exact}"
    )
    assert found.fix == "write pools[1].nodes.max: 3 (pool-1), or raise the budget"
    _, findings = compiled(*pools, budget=str(exact - Decimal("0.01")))
    assert over_budget(findings).fix == (
        "write pools[1].nodes.max: 2 (pool-1), or raise the budget"
    )


def test_a_pool_that_cannot_shrink_enough_is_still_named() -> None:
    fleet, findings = compiled(pool("p5.48xlarge", 2, 4), budget="1")
    cost = fleet.spend.usd(fleet.spend.maximum)
    assert over_budget(findings).fix == (
        f"pool-0 costs most, up to {cost} USD/h; shrink pools, or write 110.08 or more, "
        "the minimum with nodes of each pool"
    )


def test_a_budget_that_is_met_exactly_is_kept() -> None:
    fleet, _ = compiled(pool("g6.xlarge", 1, 10))
    _, findings = compiled(
        pool("g6.xlarge", 1, 10), budget=str(fleet.spend.usd(fleet.spend.maximum))
    )
    assert [finding.code for finding in findings if "budget" in finding.code] == []


def test_unbounded_spend_names_its_cause() -> None:
    unpriced = pool("p5.48xlarge", 0, 2, capacity=[{"onPrem": {}}])
    _, findings = compiled(unpriced, budget="100")
    (found,) = [finding for finding in findings if finding.code == "spend-unbounded"]
    assert found.message.startswith("100 USD/h cannot be guaranteed: pool-0: no price is known for")


def test_spot_is_expected_at_the_dearest_zone_and_never_above_the_bid() -> None:
    row = load().instances["g6e.2xlarge"].spot
    low, high = row.micro_usd_per_hour, row.high_micro_usd_per_hour
    assert low is not None
    assert high is not None
    assert low < high
    fleet, _ = compiled(
        pool("g6e.2xlarge", 2, 2, capacity=[{"spot": {}}]),
        pool("g6e.2xlarge", 2, 2, capacity=[{"spot": {"maxPriceUsdPerHour": "0.6"}}]),
    )
    free, capped = fleet.pools
    assert (free.spend.minimum, free.spend.expected) == (2 * low, 2 * high)
    assert capped.spend.expected == 2 * 600_000
