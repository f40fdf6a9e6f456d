"""Attribution: always the price of the node, whatever happened on it."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.cost.cost import CostLine, NodeHistory, PodHolding, Use, attribute
from gpufleet.fleet.unit_weights import unit_capacity, unit_weights
from tests.examples import examples
from tests.unit.render.fleets import EKS_POOLS, compiled, one

HOUR = 3600


def history(pool: Any, *holdings: PodHolding, seconds: int = HOUR, price: int = 1_000_000) -> Any:
    return NodeHistory(
        "node", "pool", 0, seconds, price, unit_capacity(pool), unit_weights(pool), holdings
    )


def by_use(lines: tuple[CostLine, ...]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        key = (line.use.value, line.pod or line.resource)
        found[key] = found.get(key, 0) + line.micro_usd
    return found


SLICES = one(
    instanceTypes=["p4de.24xlarge"], sharing={"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
)
SHARED = one(gpu="L4", sharing={"timeSlicing": {"replicas": 4}})


def test_seven_small_slices_strand_a_part() -> None:
    # All 7 compute slices and 7 of 8 memory slots: a sixteenth of each GPU has no owner.
    weights = unit_weights(SLICES)
    assert weights == {"nvidia.com/mig-1g.10gb": Fraction(15, 16) / 7 / 8}
    lines = attribute(history(SLICES, price=16_000_000))
    assert by_use(lines) == {
        ("idle", "nvidia.com/mig-1g.10gb"): 15_000_000,
        ("stranded", ""): 1_000_000,
    }


def test_replicas_are_even_parts() -> None:
    lines = attribute(
        history(
            SHARED,
            PodHolding("a", "one", "nvidia.com/gpu.shared", 1, 0, HOUR),
            PodHolding("a", "two", "nvidia.com/gpu.shared", 2, 0, HOUR // 2),
        )
    )
    assert by_use(lines) == {
        ("pod", "one"): 250_000,
        ("pod", "two"): 250_000,
        ("idle", "nvidia.com/gpu.shared"): 500_000,
    }
    two = next(line for line in lines if line.pod == "two")
    assert two.unit_seconds == 2 * HOUR // 2


def test_more_than_there_is_costs_no_more_than_the_node() -> None:
    pods = [PodHolding("a", f"p{i}", "nvidia.com/gpu.shared", 1, 0, HOUR) for i in range(5)]
    lines = attribute(history(SHARED, *pods))
    assert [line.micro_usd for line in lines] == [200_000] * 5


def test_what_has_no_weight_is_idle() -> None:
    lines = attribute(history(SHARED, PodHolding("a", "odd", "example.com/npu", 1, 0, HOUR)))
    assert by_use(lines) == {("idle", "nvidia.com/gpu.shared"): 1_000_000}


def test_thirds_add_up() -> None:
    pods = [PodHolding("a", f"p{i}", "r", 1, 0, 1) for i in range(3)]
    lines = attribute(
        NodeHistory("n", "p", 0, 1, 3600, {"r": 3}, {"r": Fraction(1, 3)}, tuple(pods))
    )
    assert sorted(line.micro_usd for line in lines) == [0, 0, 1]


@pytest.mark.parametrize("name", list(EKS_POOLS))
def test_a_node_is_never_more_than_itself(name: str) -> None:
    pool = compiled("eks", {name: EKS_POOLS[name]}).pools[0]
    weights, capacity = unit_weights(pool), unit_capacity(pool)
    assert set(pool.advertised) == set(capacity) == set(weights)
    offered = sum((weights[r] * n for r, n in capacity.items()), Fraction(0))
    assert 0 < offered <= 1
    if not pool.partition.mig_enabled:
        assert offered == 1


def test_devices_cut_on_demand_are_weighed_alone() -> None:
    pool = one(
        gpu="H100-80GB",
        gpusPerNode=8,
        sharing={"dra": {"devices": "mig", "extendedResource": True}},
    )
    weights = unit_weights(pool)
    assert weights["nvidia.com/mig-3g.40gb"] == (Fraction(3, 7) + Fraction(1, 2)) / 2 / 8
    lines = attribute(
        history(pool, PodHolding("a", "p", "nvidia.com/mig-3g.40gb", 2, 0, HOUR), price=8_000_000)
    )
    assert sum(line.micro_usd for line in lines) == 8_000_000
    assert {line.use for line in lines} == {Use.POD, Use.IDLE}


POOLS = [
    SLICES,
    SHARED,
    one(instanceTypes=["p5.48xlarge"]),
    one(
        instanceTypes=["p4de.24xlarge"],
        sharing={
            "mig": {
                "layouts": [
                    {"gpus": 4, "devices": {"3g.40gb": 1, "2g.20gb": 2}},
                    {"gpus": 2, "devices": {"1g.10gb": 7}},
                ],
                "timeSlicing": {"replicas": 3},
            }
        },
    ),
    one(gpu="H100-80GB", gpusPerNode=8, sharing={"dra": {"devices": "mig"}}),
]


@st.composite
def histories(draw: st.DrawFn) -> NodeHistory:
    pool = draw(st.sampled_from(POOLS))
    start = draw(st.integers(0, 10**9))
    end = start + draw(st.integers(1, 40 * 24 * HOUR))
    resources = st.sampled_from([*unit_capacity(pool), "example.com/unknown"])
    moments = st.integers(start - 1000, end + 1000)
    holdings = draw(
        st.lists(
            st.builds(
                lambda n, p, r, u, a, b: PodHolding(f"n{n}", f"p{p}", r, u, min(a, b), max(a, b)),
                st.integers(0, 3),
                st.integers(0, 9),
                resources,
                st.integers(0, 60),
                moments,
                moments,
            ),
            max_size=25,
        )
    )
    return NodeHistory(
        "node",
        "pool",
        start,
        end,
        draw(st.integers(0, 400_000_000)),
        unit_capacity(pool),
        unit_weights(pool),
        tuple(holdings),
    )


@settings(deadline=None, max_examples=examples(400))
@given(histories())
def test_the_parts_are_the_price_to_the_micro_dollar(past: NodeHistory) -> None:
    lines = attribute(past)
    assert sum(line.micro_usd for line in lines) == past.micro_usd
    assert all(line.micro_usd >= 0 for line in lines)
    keys = [(line.use, line.namespace, line.pod, line.resource) for line in lines]
    assert len(keys) == len(set(keys))


@settings(deadline=None, max_examples=examples(100))
@given(histories(), st.integers(1, 100))
def test_a_history_in_two_pieces_costs_the_same_but_for_rounding(
    past: NodeHistory, hundredths: int
) -> None:
    middle = past.start + max(1, (past.end - past.start) * hundredths // 100)
    pieces = [(past.start, middle), (middle, past.end)]
    parts: dict[tuple[Any, ...], int] = {}
    for start, end in pieces:
        if start < end:
            piece = NodeHistory(
                past.node,
                past.pool,
                start,
                end,
                past.micro_usd_per_hour,
                past.capacity,
                past.weights,
                past.holdings,
            )
            for line in attribute(piece):
                key = (line.use, line.namespace, line.pod, line.resource)
                parts[key] = parts.get(key, 0) + line.micro_usd
    for line in attribute(past):
        key = (line.use, line.namespace, line.pod, line.resource)
        assert abs(parts.get(key, 0) - line.micro_usd) <= 3
