"""Waste of workloads and pools is counted once, at its owner."""

from hypothesis import given
from hypothesis import strategies as st

from gpufleet_policies.money.attribution import MoneyClaim, attributed


def pool(name: str, amount: int) -> MoneyClaim:
    return MoneyClaim(name, amount, is_pool=True)


def test_a_pinned_workload_answers_and_the_pool_for_the_rest():
    counted = attributed([pool("p", 100), MoneyClaim("w", 60, ("p",))])
    assert counted == {"p": 40, "w": 60}
    assert attributed([pool("p", 100), MoneyClaim("w", 150, ("p",))]) == {"p": 0, "w": 150}


def test_an_unpinned_workload_answers_for_what_its_pools_do_not():
    claims = [pool("p", 100), pool("q", 10), MoneyClaim("w", 150, ("p", "q"))]
    assert attributed(claims) == {"p": 100, "q": 10, "w": 40}


def test_two_workloads_do_not_both_lean_on_the_same_pool():
    claims = [pool("p", 100), MoneyClaim("v", 80, ("p", "r")), MoneyClaim("w", 80, ("p", "r"))]
    assert attributed(claims) == {"p": 100, "v": 0, "w": 60}


def test_several_findings_of_one_object_count_as_the_largest():
    assert attributed([pool("p", 5), pool("p", 9), pool("p", 7)]) == {"p": 9}


def test_a_workload_whose_pools_are_fine_counts_in_full():
    assert attributed([MoneyClaim("w", 7, ("p",)), MoneyClaim("v", 3)]) == {"w": 7, "v": 3}


AMOUNT = st.integers(0, 1000)
POOLS = st.dictionaries(st.sampled_from("pqr"), AMOUNT, max_size=3)
WORKLOADS = st.lists(
    st.tuples(AMOUNT, st.lists(st.sampled_from("pqrs"), unique=True, max_size=3)), max_size=6
)


@given(POOLS, WORKLOADS)
def test_never_more_than_everything_and_never_less_than_either_side(pools, workloads):
    claims = [pool(name, amount) for name, amount in pools.items()]
    claims += [MoneyClaim(f"w{i}", a, tuple(under)) for i, (a, under) in enumerate(workloads)]
    found = sum(attributed(claims).values())
    assert found <= sum(claim.amount for claim in claims)
    assert found >= max((claim.amount for claim in claims), default=0)
    assert found >= sum(amount for amount in pools.values())
    assert found >= sum(amount for amount, _ in workloads)
    assert all(amount >= 0 for amount in attributed(claims).values())
