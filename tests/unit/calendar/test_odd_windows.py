"""Windows that are written oddly: refused by name, or counted as they are meant."""

from datetime import timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.calendar.fleet_calendar import fleet_calendar
from gpufleet.cli.calendar import command
from gpufleet.environment import start_moment
from gpufleet.platforms.compiled import compile_data
from tests.unit.calendar.calendars import BLOCK, at, block_fleet, block_pool, moment

DAY = {"starts": "2026-12-05T00:00:00Z", "until": "2026-12-06T00:00:00Z"}


def messages(**pool: Any) -> list[str]:
    return [f.message for f in compile_data(block_fleet(block_pool(**pool))).findings]


@pytest.mark.parametrize(
    "starts", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "9999-01-01T00:00:00Z"]
)
def test_a_year_that_no_clock_adds_to(starts: str) -> None:
    (found,) = messages(commitments=[{"team": "a", "gpus": 8, "starts": starts}])
    assert "is not one of 2000 to 2999" in found


@pytest.mark.parametrize("starts", [20261204, "20261204", 1.5, True])
def test_a_number_is_no_time(starts: object) -> None:
    (found,) = messages(commitments=[{"team": "a", "gpus": 8, "starts": starts}])
    assert ": write a time with its zone" in found
    assert "is a number" in found or starts is True
    assert "True" not in found


@pytest.mark.parametrize("starts", ["tomorrow", [1]])
def test_a_text_that_is_no_time_gets_an_example(starts: object) -> None:
    window = {"starts": starts, "until": "2026-12-06T00:00:00Z"}
    for found in messages(maintenance=[window], commitments=[{"team": "a", "gpus": 8, **window}]):
        assert "a time such as 2026-12-20T11:30:00Z is wanted" in found


@pytest.mark.parametrize("longest", ["99999999999d", "3651d", "9" * 5000 + "h"])
def test_a_job_longer_than_ten_years(longest: str) -> None:
    (found,) = messages(commitments=[{"team": "a", "gpus": 8, "longestJob": longest}])
    assert found == "the duration is over the limit of 3650d"


@pytest.mark.parametrize(
    "pool",
    [
        {"commitments": [{"team": "a", "gpus": True}]},
        {"maintenance": [{**DAY, "nodes": True}]},
        {"capacity": [{"capacityBlock": {**BLOCK, "instances": True}}]},
    ],
)
def test_true_is_no_count(pool: dict[str, Any]) -> None:
    assert messages(**pool) == ["found true: a whole number is wanted"]


@pytest.mark.parametrize(
    ("pool", "wanted"),
    [
        ({"change": {"width": True}}, "a whole number is wanted"),
        (
            {"sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": True}}]}}},
            "a whole number is wanted",
        ),
        (
            {"idle": {"afterMinutes": 30, "belowPercent": True, "notebooks": []}},
            "a number is wanted",
        ),
    ],
)
def test_true_is_no_number_anywhere(pool: dict[str, Any], wanted: str) -> None:
    assert f"found true: {wanted}" in messages(**pool)


def test_two_promises_to_one_team_exceed_the_gpus_too() -> None:
    promise = {"team": "a", "gpus": 16, **DAY}
    pool = block_pool(commitments=[promise, promise], maintenance=[{**DAY, "nodes": 1}])
    found = fleet_calendar(
        at(block_fleet(pool), "01"), moment("01"), moment("01") + timedelta(days=30)
    ).findings
    (double,) = [f for f in found if f.code == "calendar-double-booking"]
    assert "32 GPUs of training are promised (32 to a), and there are 24" in double.message


def test_a_block_beside_itself_is_only_listed_twice() -> None:
    block = {"capacityBlock": BLOCK}
    found = messages(capacity=[block, block])
    assert found == ["capacityBlock is listed twice"]


def test_a_length_of_5000_digits_is_wrong_usage() -> None:
    result = CliRunner().invoke(command, ["-", "--for", "9" * 5000 + "d"], input="{}")
    assert (result.exit_code, "is not a duration" in result.output) == (2, True)


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+14:00", "9999-12-31"])
def test_a_beginning_outside_every_calendar(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(command, ["-", "--at", when], input="{}")
    assert (result.exit_code, "the year is not one of 2000 to 2999" in result.output) == (2, True)
    monkeypatch.setenv("GPUFLEET_AT", f"{when[:10]}T00:00:00+14:00")
    with pytest.raises(ValueError, match="GPUFLEET_AT"):
        start_moment()
