"""Rows drawn at random agree with a document that they were not taken from."""

import json
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.catalogue.software_rows import shape_of_config
from tests.data.second_sources import DRAWN, RECORDED, draw, rows

CLOUDS = RECORDED.with_name("cloud_rows.jsonl")
"""A fourth draw, of machines and prices alone: 60 rows that no earlier draw had, those with the
smallest hashes of `39/TABLE/ROW`, on 2026-11-29."""
OF_CLOUDS: list[dict[str, Any]] = [json.loads(line) for line in CLOUDS.read_text().splitlines()]
CHECKED: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text().splitlines()]
DRAWS = sorted({check["draw"] for check in CHECKED})
BY_HASH = (1, 2)
"""Draws that can be repeated. The third was `random.Random(20261123).sample` of the rows of each
table that the first two had not, made after what those had found was corrected."""
VERDICTS = {"same", "wrong", "not verifiable"}


def _field(row: dict[str, Any], path: str) -> Any:
    """The value at a path with dots; keys of prices have none, numbers of vGPU sizes neither.
    `usd_rounded` is the price to four places, where the second document has parts of it."""
    if path == "usd_rounded":
        return str(round(Decimal(row["usd"]), 4))
    value: Any = row
    for part in path.split("."):
        value = value[part]
    return value


@pytest.mark.parametrize(
    "check", [*CHECKED, *OF_CLOUDS], ids=lambda c: f"{c.get('draw', 4)}-{c['table']}-{c['row']}"
)
def test_a_row_is_what_the_second_source_says(check: dict[str, Any]) -> None:
    assert check["verdict"] in VERDICTS
    row = dict(rows(check["table"]))[check["row"]]
    if "config" in row:
        row = shape_of_config(row["config"]) | row
    if check["verdict"] == "not verifiable":
        assert check["notes"]
        assert not check["found"]
        return
    assert check["found"]
    for path, value in check["found"].items():
        assert _field(row, path) == value, path
    own = load().sources
    for key in (row["source"], *(row.get("also") or ())):
        assert own[key].location not in check["second"], key


@pytest.mark.parametrize("seed", DRAWS)
def test_each_draw_is_complete_and_few_rows_cannot_be_verified(seed: int) -> None:
    checked = [(c["table"], c["row"]) for c in CHECKED if c["draw"] == seed]
    assert len(set(checked)) == sum(DRAWN.values()) == 60
    assert dict(Counter(table for table, _ in checked)) == DRAWN
    verdicts = Counter(c["verdict"] for c in CHECKED if c["draw"] == seed)
    assert verdicts["not verifiable"] <= 3
    earlier = {(c["table"], c["row"]) for c in CHECKED if c["draw"] < seed}
    if seed in BY_HASH:
        # New rows may push a few of the recorded rows out of the draw, but not most.
        assert len(set(checked) & set(draw(seed))) >= 45
    else:
        assert earlier.isdisjoint(checked)


def test_none_of_60_machines_and_prices_is_wrong() -> None:
    """50 rows agree; of 10 prices of Google's regions (six of TPUs, three of spot, one of A2 Mega)
    no second document has a figure of the same kind and day."""
    drawn = {(check["table"], check["row"]) for check in OF_CLOUDS}
    assert len(drawn) == 60
    assert drawn.isdisjoint((check["table"], check["row"]) for check in CHECKED)
    assert Counter(check["verdict"] for check in OF_CLOUDS) == {"same": 50, "not verifiable": 10}
    unseen = {check["table"] for check in OF_CLOUDS if check["verdict"] == "not verifiable"}
    assert unseen == {"prices-gcp"}
