import pytest

from gpufleet.catalogue import load
from gpufleet.partition.placement import PlacedInstance
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import (
    ExistingNode,
    GpuState,
    Mode,
    Packing,
    PackingMachine,
    PackingMethod,
    PackingProblem,
    ShareClass,
    packing_as_dict,
)
from gpufleet_planner.packing.request import parse_request
from gpufleet_planner.packing.verify import verify

GIB = 2**30
A100, H100, L4 = (load().gpu(key) for key in ("A100-80GB", "H100-80GB", "L4"))


def machine(
    name: str, gpu=A100, gpus: int = 1, price: int | None = 1_000_000, **more
) -> PackingMachine:
    return PackingMachine(
        name, gpu, gpus, gpu.memory_bytes, micro_usd_per_hour=price, path="machines[0]", **more
    )


def mig(profile: str, count: int) -> ShareClass:
    return ShareClass(profile, count, Mode.MIG, profile, path=f"shares.{profile}")


def one(machine: PackingMachine, *shares: ShareClass, **more) -> PackingProblem:
    return PackingProblem({machine.name: machine}, shares, **more)


# -- known results --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "gpus"),
    [
        ({"3g.40gb": 2}, 1),
        ({"3g.40gb": 3}, 2),  # three of them never fit one GPU
        ({"3g.40gb": 1, "1g.10gb": 4}, 1),
        ({"4g.40gb": 1, "3g.40gb": 1}, 1),
        ({"1g.10gb": 7}, 1),
        ({"1g.10gb": 8}, 2),
        ({"1g.20gb": 4}, 1),
        ({"1g.20gb": 5}, 2),
        ({"4g.40gb": 2}, 2),
        ({"1g.10gb": 16, "2g.20gb": 8, "3g.40gb": 8}, 8),  # all-balanced on eight GPUs
        ({"1g.10gb": 56}, 8),
        ({"2g.20gb": 24}, 8),
        ({"3g.40gb": 16}, 8),
        ({"7g.80gb": 8}, 8),
        ({"1g.10gb+me": 2}, 2),  # one media extension per GPU
    ],
)
def test_known_packings_of_one_type(wanted: dict[str, int], gpus: int) -> None:
    pytest.importorskip("scipy")
    problem = one(machine("m"), *(mig(p, n) for p, n in wanted.items()))
    found = pack(problem)
    assert (found.gpus, found.lower_bound) == (gpus, gpus * 10**6)
    assert found.method is PackingMethod.INTEGER_PROGRAM
    assert found.complete
    assert found.findings == ()
    heuristic = pack(problem, solver=False)
    assert gpus <= heuristic.gpus <= gpus + 1
    assert heuristic.lower_bound <= found.cost
    assert [f.code for f in heuristic.findings] == ["pack-without-solver"]


def test_without_scipy_the_answer_has_a_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufleet_planner.packing.highs.available", lambda: False)
    problem = one(machine("m", gpus=8), mig("3g.40gb", 20), mig("1g.10gb", 20))
    found = pack(problem)
    assert verify(problem, found) == ()
    assert found.complete
    assert found.method is PackingMethod.HEURISTIC
    assert 0 < found.lower_bound <= found.cost
    (finding,) = found.findings
    assert finding.code == "pack-without-solver"
    assert "`planner`" in (finding.fix or "")


def test_ten_thousand_shares_are_packed_to_the_bound() -> None:
    pytest.importorskip("scipy")
    wanted = {"1g.10gb": 4000, "1g.20gb": 1000, "2g.20gb": 2000, "3g.40gb": 1500}
    wanted |= {"4g.40gb": 1000, "7g.80gb": 500}
    found = pack(one(machine("m", gpus=8), *(mig(p, n) for p, n in wanted.items())))
    assert len(found.assignments) == 10_000
    assert found.gap == 0
    assert found.findings == ()


def test_a_demand_whose_relaxed_optimum_has_no_whole_one_near_it() -> None:
    pytest.importorskip("scipy")
    counts = (176, 17, 459, 116, 205, 1137)
    names = ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
    shares = (mig(p, n) for p, n in zip(names, counts, strict=True))
    assert pack(one(machine("m"), *shares)).gpus == 1466


@pytest.mark.parametrize("solver", [True, False])
def test_nodes_hold_shares_of_several_gpus_before_single_ones(solver: bool) -> None:
    if solver:
        pytest.importorskip("scipy")
    train = ShareClass("train", 3, Mode.WHOLE, gpus=5, path="t")
    small = ShareClass("small", 9, Mode.WHOLE, path="s")
    problem = one(machine("m", gpus=8), train, small, mig("1g.10gb", 7))
    found = pack(problem, solver=solver)
    assert verify(problem, found) == ()
    assert found.gpus == 32  # 5+3, 5+3, 5+3 hold nine singles: the MIG GPU needs a fourth node
    assert all(len(a.gpus) == 5 for a in found.assignments if a.share == "train")


# -- prices, what is there, limits ----------------------------------------------------------------


def test_free_machines_are_the_fewest_too() -> None:
    found = pack(one(machine("free", price=0), mig("1g.10gb", 7)))
    assert (found.cost, len(found.nodes)) == (0, 1)


def test_the_cheapest_machine_for_a_slice_wins_not_the_smallest_slot() -> None:
    pytest.importorskip("scipy")
    web = ShareClass("web", 3, None, memory_bytes=18 * GIB, path="web")
    dear, cheap = machine("a", price=3_400_000), machine("l4", L4, price=800_000)
    found = pack(PackingProblem({"a": dear, "l4": cheap}, (web,)))
    assert {a.node for a in found.assignments} == {"l4-0", "l4-1", "l4-2"}
    found = pack(
        PackingProblem({"a": dear, "l4": cheap}, (ShareClass("w", 6, None, memory_bytes=9 * GIB),))
    )
    assert {a.profile for a in found.assignments} == {"1g.10gb"}


def fragmented(start: int) -> ExistingNode:
    there = GpuState((PlacedInstance("1g.10gb", start, 1, 1),), mig=True)
    return ExistingNode("old", "m", (there,), "existing[0]")


@pytest.mark.parametrize(("start", "bought"), [(6, 0), (2, 1)])
@pytest.mark.parametrize("solver", [True, False])
def test_free_slots_count_by_where_they_are(start: int, bought: int, solver: bool) -> None:
    if solver:
        pytest.importorskip("scipy")
    problem = one(machine("m"), mig("4g.40gb", 1), existing=(fragmented(start),))
    found = pack(problem, solver=solver)
    assert found.gpus == bought
    assert verify(problem, found) == ()


def test_a_packing_names_the_limit_and_what_would_do() -> None:
    problem = one(machine("m", max_nodes=2), mig("4g.40gb", 3))
    found = pack(problem)
    assert found.unplaced == {"4g.40gb": 1}
    assert len(found.assignments) == 2
    (finding,) = (
        found.findings if found.method is not PackingMethod.HEURISTIC else found.findings[:1]
    )
    assert finding.code == "pack-no-room"
    assert finding.message == (
        "1 of 3 shares of 4g.40gb have no place: the limiting settings are machines[0].maxNodes = 2"
    )
    assert finding.fix == "set machines[0].maxNodes to 3, or request at most 2 of 4g.40gb"


def test_a_share_no_machine_can_hold_names_each_reason() -> None:
    found = pack(
        PackingProblem(
            {"a": machine("a"), "l4": machine("l4", L4)}, (mig("1g.12gb", 1), mig("1g.10gb", 1))
        )
    )
    (finding,) = found.findings
    assert finding.code == "pack-share-impossible"
    assert "a: A100-80GB has no profile 1g.12gb (it has 1g.10gb" in finding.message
    assert "l4: L4 has no MIG" in finding.message
    assert "1g.10gb" in (finding.fix or "")
    assert found.unplaced == {"1g.12gb": 1}
    assert len(found.assignments) == 1


def test_mps_shares_need_their_part_of_the_memory_and_one_configuration_per_node() -> None:
    big = ShareClass("big", 2, Mode.MPS, memory_bytes=10 * GIB, path="big")
    small = ShareClass("small", 4, Mode.MPS, memory_bytes=5 * GIB, path="small")
    found = pack(one(machine("l4", L4), big, small))
    assert {(a.share, a.replicas) for a in found.assignments} == {("big", 2), ("small", 4)}
    assert found.gpus == 2


def test_single_strategy_keeps_one_profile_per_node() -> None:
    pytest.importorskip("scipy")
    problem = one(machine("m", gpus=2, single_strategy=True), mig("1g.10gb", 1), mig("2g.20gb", 1))
    assert len(pack(problem).nodes) == 2
    assert len(pack(problem, solver=False).nodes) == 2


def test_without_a_price_gpus_are_counted() -> None:
    found = pack(one(machine("m", gpus=4, price=None), mig("7g.80gb", 5)))
    assert (found.cost, found.gpus, found.priced) == (8, 8, False)
    assert packing_as_dict(found)["unit"] == "gpu-hours/h"


# -- the checker finds what is wrong --------------------------------------------------------------


def broken(found: Packing, **change) -> Packing:
    from dataclasses import replace

    first, *rest = found.assignments
    return replace(found, assignments=(replace(first, **change), *rest))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": 3}, "starts at"),
        ({"profile": "2g.20gb"}, "instead of 4g.40gb"),
        ({"share": "3g.40gb"}, "accounted for"),
        ({"gpus": (5,)}, "GPUs (5,) of 1"),
        ({"mode": Mode.WHOLE, "profile": None}, "on one GPU"),
    ],
)
def test_the_checker_sees_a_broken_packing(change: dict[str, object], words: str) -> None:
    problem = one(machine("m"), mig("4g.40gb", 1), mig("3g.40gb", 1))
    found = pack(problem, solver=False)
    assert verify(problem, found) == ()
    messages = " ".join(f.message for f in verify(problem, broken(found, **change)))
    assert words in messages


def test_the_checker_sees_wrong_money() -> None:
    from dataclasses import replace

    problem = one(machine("m"), mig("4g.40gb", 1))
    found = pack(problem, solver=False)
    assert "the nodes cost" in verify(problem, replace(found, cost=7))[0].message
    bound = verify(problem, replace(found, lower_bound=found.cost + 1))
    assert "above the cost" in bound[0].message


@pytest.mark.parametrize(
    ("counts", "taken"), [((60_000, 40_000), True), ((1, 60_000, 40_000), False)]
)
def test_more_shares_than_seconds_allow_are_refused_with_the_limit(
    counts: tuple[int, ...], taken: bool
) -> None:
    shares = [{"name": f"s{n}", "count": c, "mig": "1g.5gb"} for n, c in enumerate(counts)]
    machines = [{"instanceType": "p4d.24xlarge"}]
    request, findings = parse_request({"machines": machines, "shares": shares})
    assert (request is not None) is taken
    if not taken:
        (found,) = findings
        assert (found.code, found.path) == ("pack-too-many-shares", "shares[1].count")
        assert found.message == "100001 shares in all; at most 100000 are packed one by one"
        assert found.fix


def test_an_empty_list_is_said_in_words() -> None:
    _, findings = parse_request({"machines": [], "shares": []})
    assert [f.message for f in findings] == ["at least 1 entry is needed"] * 2
    assert [f.fix for f in findings] == ["add an entry to machines", "add an entry to shares"]
