"""Packing against exhaustive search on small instances, and what every packing must keep."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.partition.placement import PlacedInstance
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import (
    ExistingNode,
    GpuState,
    Mode,
    PackingMachine,
    PackingProblem,
    ShareClass,
)
from gpufleet_planner.packing.verify import verify
from tests.examples import examples
from tests.property.exhaustive_packing import cheapest, fewest_gpus, gpu

SMALL, LARGE, PLAIN = "A30-24GB", "A100-80GB", "L4"


def machine(
    name: str, key: str, gpus: int, price: int | None, most: int | None = None
) -> PackingMachine:
    return PackingMachine(
        name, gpu(key), gpus, gpu(key).memory_bytes, micro_usd_per_hour=price, max_nodes=most
    )


# -- properties ----------------------------------------------------------------------------------

PROFILES = ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(PROFILES), min_size=1, max_size=9), st.integers(1, 4))
def test_one_type_is_as_good_as_exhaustive_search(shares: list[str], per_node: int) -> None:
    counts = Counter(shares)
    problem = PackingProblem(
        {"m": machine("m", LARGE, per_node, 3_000_000)},
        tuple(ShareClass(p, n, Mode.MIG, p, path=p) for p, n in counts.items()),
    )
    least = -(-fewest_gpus(LARGE, tuple(shares)) // per_node) * 3_000_000
    heuristic = pack(problem, solver=False)
    assert heuristic.lower_bound <= least <= heuristic.cost
    assert [f.code for f in heuristic.findings] == ["pack-without-solver"]
    pytest.importorskip("scipy", reason="the extra `planner` is not installed")
    found = pack(problem)
    assert found.findings == ()
    assert found.cost == found.lower_bound == least
    assert found.gap == 0


def small_problems() -> st.SearchStrategy[PackingProblem]:
    @st.composite
    def build(draw: st.DrawFn) -> PackingProblem:
        machines = {
            "a": machine(
                "a", SMALL, draw(st.integers(1, 2)), draw(st.sampled_from((2, 3))) * 10**6
            ),
            "b": machine(
                "b",
                LARGE,
                1,
                draw(st.sampled_from((4, 5, 7))) * 10**6,
                draw(st.sampled_from((None, 1))),
            ),
            "c": machine("c", PLAIN, 2, 10**6, draw(st.sampled_from((None, 0, 1)))),
        }
        kinds = [
            ShareClass("x", draw(st.integers(0, 3)), Mode.MIG, "1g.6gb", path="x"),
            ShareClass("y", draw(st.integers(0, 2)), Mode.MIG, "2g.20gb", path="y"),
            ShareClass("z", draw(st.integers(0, 2)), Mode.MIG, memory_bytes=9 * 2**30, path="z"),
            ShareClass("w", draw(st.integers(0, 1)), Mode.WHOLE, gpus=2, path="w"),
            ShareClass("v", draw(st.integers(0, 1)), Mode.WHOLE, path="v"),
            ShareClass("s", draw(st.integers(0, 3)), Mode.MPS, replicas=2, path="s"),
        ]
        chosen = draw(st.sets(st.integers(0, 5), min_size=1, max_size=3))
        shares = tuple(kind for i, kind in enumerate(kinds) if i in chosen)
        existing: tuple[ExistingNode, ...] = ()
        if draw(st.booleans()):
            at = draw(st.sampled_from((0, 1, 3)))
            used = GpuState((PlacedInstance("1g.6gb", at, 1, 1),), mig=True)
            gpus = (used, GpuState())[: machines["a"].gpus]
            existing = (ExistingNode("old", "a", gpus, "old"),)
        return PackingProblem(machines, shares, existing)

    return build()


def problems_with_hosts() -> st.SearchStrategy[PackingProblem]:
    """The same, of shares that take CPUs and memory of their node."""

    @st.composite
    def build(draw: st.DrawFn) -> PackingProblem:
        plain = draw(small_problems())
        room = st.tuples(st.sampled_from((4000, 6000, 9000)), st.sampled_from((8192, 30000)))
        need = st.tuples(st.sampled_from((0, 1000, 2500, 4000)), st.sampled_from((0, 4096, 9000)))
        machines = {n: replace(m, host=draw(room)) for n, m in plain.machines.items()}
        left = st.tuples(st.sampled_from((0, 2500, 6000)), st.sampled_from((0, 9000)))
        return replace(
            plain,
            machines=machines,
            shares=tuple(replace(s, host=draw(need)) for s in plain.shares),
            existing=tuple(
                # Never more than the machine has: the reader refuses that.
                replace(n, host=tuple(map(min, draw(left), machines[n.machine].host)))
                for n in plain.existing
            ),
        )

    return build()


@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(small_problems(), problems_with_hosts()))
def test_mixed_problems_are_as_good_as_exhaustive_search(problem: PackingProblem) -> None:
    pytest.importorskip("scipy", reason="the extra `planner` is not installed")
    found = pack(problem)
    least = cheapest(problem)
    assert verify(problem, found) == ()
    assert "packing-broken" not in {f.code for f in found.findings}
    assert found.complete == (least is not None), found.findings
    if least is not None:
        assert found.cost == least
        assert found.lower_bound <= least


@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(small_problems(), problems_with_hosts()))
def test_the_heuristic_is_legal_and_never_below_its_bound(problem: PackingProblem) -> None:
    found = pack(problem, solver=False)
    assert verify(problem, found) == ()
    if found.complete:
        least = cheapest(problem)
        assert least is not None
        assert found.lower_bound <= least <= found.cost
        assert found.gap >= 0
    else:
        assert {f.code for f in found.findings} & {"pack-no-room", "pack-share-impossible"}


@settings(max_examples=20, deadline=None)
@given(small_problems())
def test_the_same_problem_gives_the_same_packing(problem: PackingProblem) -> None:
    assert pack(problem) == pack(problem)
