"""The command and its pictures, on fleets of public reports."""

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.calendar.cells import calendar_grid
from gpufleet.calendar.fleet_calendar import calendar_of, fleet_calendar
from gpufleet.cli.calendar import command
from gpufleet.cli.render import command as render
from gpufleet.platforms.compiled import compile_data
from tests.reading import yaml_data
from tests.unit.calendar.calendars import at, block_fleet, block_pool, moment


def run(tmp_path: Path, data: dict[str, Any], *options: str) -> Result:
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump(data))
    return CliRunner().invoke(command, [str(file), *options])


def findings(data: dict[str, Any], when: str = "01", days: int = 30) -> dict[str, Any]:
    start = moment(when)
    made = fleet_calendar(at(data, when), start, start + timedelta(days=days))
    return {f.code: f for f in made.findings}


def test_the_month_fits_80_columns(tmp_path: Path) -> None:
    pools = [
        block_pool(
            name="a-pool-with-a-name-of-forty-characters-x",
            commitments=[{"team": "research", "gpus": 32}],
        ),
        block_pool({"id": "cr-00000000000000001"}, name="second", team="vision"),
    ]
    for length in ("12h", "2d", "30d", "56d", "365d"):
        result = run(tmp_path, block_fleet(*pools), "--at", "2026-12-01", "--for", length)
        assert result.exit_code == 0, result.output
        drawn = result.stdout.split("\n\n")[0].splitlines()
        assert max(map(len, drawn)) <= 80, length
        assert any("#" in line for line in drawn) == (length not in {"12h", "2d"}), length


def test_a_block_that_has_ended_is_an_error_and_still_drawn(tmp_path: Path) -> None:
    result = run(tmp_path, block_fleet(), "--at", "2026-12-20T11:30:00Z", "--for", "2d")
    assert result.exit_code == 1
    assert "capacity-block-ended" in result.output
    assert "training ......" in result.output
    assert run(tmp_path, block_fleet(), "--at", "2026-12-20T11:29:00Z").exit_code == 0


def test_money_is_that_of_the_window_alone(tmp_path: Path) -> None:
    # 17 days of 4 instances at 30 USD; nothing before, nothing after.
    result = run(tmp_path, block_fleet(), "--at", "2026-11-01", "--for", "90d", "--format", "json")
    shown = json.loads(result.output)["calendar"]
    assert shown["usd"]["paidInAnyCase"] == f"{17 * 24 * 4 * 30}.00"
    spans = [(s["start"], s["end"], s["bought"]) for s in shown["pools"][0]["spans"]]
    assert spans == [
        ("2026-11-01T00:00:00Z", "2026-12-03T11:30:00Z", 0),
        ("2026-12-03T11:30:00Z", "2026-12-20T11:00:00Z", 32),
        ("2026-12-20T11:00:00Z", "2026-12-20T11:30:00Z", 0),
        ("2026-12-20T11:30:00Z", "2027-01-30T00:00:00Z", 0),
    ]


def test_two_pools_over_one_block_are_a_double_booking() -> None:
    # pytorch/ci-infra#1065: cr3 and cr4 shared a reservation; the new block holds one instance.
    one = {"instances": 1}
    pools = [
        block_pool(one, name="b200-cr3", nodes={"min": 0, "max": 1}),
        block_pool(one, name="b200-cr4", nodes={"min": 0, "max": 1}),
    ]
    found = findings(block_fleet(*pools))["reservation-double-booked"]
    assert "has 1 instances, and b200-cr3, b200-cr4 may have 2 nodes" in found.message
    pools[1]["capacity"][0] = {
        "capacityBlock": pools[0]["capacity"][0]["capacityBlock"]
        | {"starts": "2026-12-20T11:30:00Z", "until": "2026-12-27T11:30:00Z"}
    }
    assert "reservation-double-booked" not in findings(block_fleet(*pools))


def test_a_job_longer_than_its_window_is_an_error() -> None:
    promise = {"team": "research", "gpus": 8, "longestJob": "17d"}
    found = findings(block_fleet(block_pool(commitments=[promise])))
    text = found["calendar-job-longer-than-window"].message
    assert "8 GPUs of training are there for 407h 30m at a stretch" in text
    promise["longestJob"] = "407h"
    assert "calendar-job-longer-than-window" not in findings(
        block_fleet(block_pool(commitments=[promise]))
    )


def test_flex_start_ends_after_its_longest_run() -> None:
    # cluster-toolkit#3689: two weeks became one.
    pool = {
        "name": "flex",
        "gpu": "H100-80GB",
        "nodes": {"min": 0, "max": 2},
        "intent": "batch",
        "capacity": [{"flexStart": {"maxRunDuration": "3d"}}],
        "commitments": [{"team": "a", "gpus": 1, "longestJob": "4d"}],
    }
    data = block_fleet(pool) | {
        "platform": "gke",
        "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": "1.36"},
    }
    found = findings(data)
    assert "72h at a stretch" in found["calendar-job-longer-than-window"].message
    assert "expectation" in found["calendar-expectation"].fix


def test_what_no_team_may_use_is_named_with_its_cost() -> None:
    promise = {"team": "research", "gpus": 24, "until": "2026-12-10T11:30:00Z"}
    found = findings(block_fleet(block_pool(commitments=[promise])))["calendar-unused"]
    # One node of four for 7 days, then all four until EC2 takes them back, 10 days less 30 minutes.
    hours = 7 * 24 + 4 * (10 * 24 - 0.5)
    assert found.evidence["instanceHours"] == f"{hours:g}"
    assert found.evidence["usd"] == f"{hours * 30:.2f}"


def test_a_hole_between_two_blocks_is_named() -> None:
    later = {
        "id": "cr-00000000000000001",
        "starts": "2026-12-22T11:30:00Z",
        "until": "2026-12-27T11:30:00Z",
    }
    pools = [block_pool(team="vision"), block_pool(later, name="later", team="vision")]
    found = findings(block_fleet(*pools))["calendar-team-without-gpus"]
    assert found.evidence["intervals"] == [["2026-12-20T11:00:00Z", "2026-12-22T11:30:00Z"]]


def test_maintenance_takes_nodes_that_are_promised() -> None:
    pool = {
        "name": "own",
        "gpu": "A100-80GB",
        "gpusPerNode": 8,
        "nodes": {"min": 4, "max": 4},
        "capacity": [{"onPrem": {}}],
        "maintenance": [
            {"starts": "2026-12-08T22:00:00+01:00", "until": "2026-12-09T04:00:00+01:00"}
        ],
        "commitments": [{"team": "a", "gpus": 32}],
    }
    data = block_fleet(pool) | {"platform": "sandbox", "cluster": {"name": "sb"}}
    found = findings(data)["calendar-gap"]
    assert found.evidence["intervals"] == [["2026-12-08T21:00:00Z", "2026-12-09T03:00:00Z"]]


def test_a_day_may_have_23_or_25_hours() -> None:
    # Europe/Berlin: 2026-03-29 has 23 hours, 2026-10-25 has 25 (IANA tz database).
    zone = ZoneInfo("Europe/Berlin")
    for day, hours in ((datetime(2026, 3, 28), 23), (datetime(2026, 10, 24), 25)):
        start = day.replace(tzinfo=zone).astimezone(UTC)
        days = calendar_grid(calendar_of((), start, start + timedelta(days=30)), zone)
        assert days.unit == "day"
        lengths = [
            (b.astimezone(UTC) - a.astimezone(UTC)) / timedelta(hours=1)
            for a, b in pairwise(days.edges)
        ]
        assert lengths[:3] == [24, hours, 24]
        assert all(edge.hour == 0 for edge in days.edges[:-1])


def test_windows_without_time_are_refused() -> None:
    parts: tuple[dict[str, Any], ...] = (
        {"maintenance": [{"starts": "2026-12-01T00:00:00Z", "until": "2026-12-01T00:00:00Z"}]},
        {
            "commitments": [
                {
                    "team": "a",
                    "gpus": 1,
                    "starts": "2026-12-01T01:00:00+01:00",
                    "until": "2026-12-01T00:00:00Z",
                }
            ]
        },
    )
    for part in parts:
        result = compile_data(block_fleet(block_pool(**part)))
        assert any("is not before until" in f.message for f in result.findings), part
    with pytest.raises(ValueError, match="has no time"):
        calendar_of((), moment("01"), moment("01"))


def test_pictures_are_well_formed(tmp_path: Path) -> None:
    promise = {"team": "research", "gpus": 40, "until": "2026-12-27T11:30:00Z"}
    data = block_fleet(block_pool(commitments=[promise]))
    picture = run(tmp_path, data, "--at", "2026-12-01", "--format", "svg").stdout
    boxes = [one for one in ET.fromstring(picture).iter() if one.tag.endswith("rect")]
    assert len(boxes) >= 30 * 2


def test_rendered_limits_follow_the_moment(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump(block_fleet(block_pool(provisioner="karpenter"))))
    limits: dict[str, str] = {}
    for when in ("2026-12-01", "2026-12-05"):
        out = tmp_path / when
        result = CliRunner().invoke(render, [str(file), "--out", str(out), "--at", when])
        assert result.exit_code == 0, result.output
        (pool,) = out.glob("**/node-pool-training.yaml")
        limits[when] = yaml_data(pool.read_text())["spec"]["limits"]["nodes"]
    assert limits == {"2026-12-01": "0", "2026-12-05": "4"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at", "2026-12-01T09:00:00"), "has no zone"),
        (("--at", "soon"), "is not a moment"),
        (("--for", "a month"), "is not a duration: write 12h, 30d"),
        (("--for", "5000d"), "is longer than 1100d"),
        (("--zone", "Berlin"), "is not a time zone"),
    ],
)
def test_wrong_options_say_what_is_wanted(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    result = run(tmp_path, block_fleet(), *options)
    assert result.exit_code == 2
    assert words in result.output
