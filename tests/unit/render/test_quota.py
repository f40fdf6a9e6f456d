from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from gpufleet.fleet.kueue_quota import ROUNDING, split

SHARES = st.lists(st.integers(1, 100), min_size=1, max_size=8).flatmap(
    lambda parts: st.integers(sum(parts), sum(parts) * 2).map(
        lambda whole: {f"t{i}": part / whole for i, part in enumerate(parts)}
    )
)


def test_the_largest_fractions_get_what_is_left() -> None:
    assert split(10, {"a": 0.55, "b": 0.25, "c": 0.2}) == {"a": 6, "b": 2, "c": 2}


def test_the_earlier_team_wins_a_tie() -> None:
    assert split(3, {"a": 0.5, "b": 0.5}) == {"a": 2, "b": 1}


def test_decimals_are_exact() -> None:
    assert split(100, {"a": 0.29, "b": 0.57, "c": 0.14}) == {"a": 29, "b": 57, "c": 14}


def test_what_no_share_covers_stays_with_nobody() -> None:
    assert split(9, {"a": 0.5, "b": 0.25}) == {"a": 4, "b": 2}


def test_shares_over_one_by_rounding_give_out_no_more_than_there_is() -> None:
    shares = {"a": 0.3333333334, "b": 0.3333333334, "c": 0.3333333334}
    assert sum(split(10**12, shares).values()) == 10**12


def test_thirds_written_as_decimals_make_one() -> None:
    assert split(1, {"a": 0.3333333333333333, "b": 0.6666666666666666}) == {"a": 0, "b": 1}
    assert split(300, {"a": 0.333, "b": 0.333, "c": 0.333}) == {"a": 100, "b": 100, "c": 99}


@given(st.integers(0, 10**7), SHARES)
def test_never_more_than_there_is_and_never_off_by_one(
    amount: int, shares: dict[str, float]
) -> None:
    units = split(amount, shares)
    exact = {team: Fraction(str(share)) for team, share in shares.items()}
    written = sum(exact.values(), Fraction(0))
    scale = written if written > 1 - ROUNDING else Fraction(1)
    total = int(sum(amount * share / scale for share in exact.values()))
    assert sum(units.values()) == total <= amount
    for team, share in exact.items():
        assert units[team] >= 0
        assert abs(units[team] - amount * share / scale) < 1
