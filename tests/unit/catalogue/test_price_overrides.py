"""Price files, which are overlays: what they change, and all that can be wrong, at once."""

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet.catalogue import PriceStatus, load
from gpufleet.catalogue.overlay_review import review_overlay
from gpufleet.catalogue.price_rows import micro_usd
from gpufleet.findings import Finding, FleetError

GOOD = """
date: 2026-11-20
prices:
  - {instance: p5.48xlarge, buy: onDemand, region: eu-west-1, usd: "61.20"}
  - {instance: p5.48xlarge, buy: capacityBlock, region: us-east-1, usd: 31.46, date: 2026-11-01}
  - {instance: g6.xlarge, buy: spot, region: us-east-1, usd: "0.31", usdHigh: "0.5"}
  - {instance: g6.2xlarge, buy: onDemand, offer: not-sold}
"""


def findings_of(folder: Path, text: str) -> list[Finding]:
    """Errors of a file of prices; warnings if it has none."""
    path = folder / "prices.yaml"
    path.write_text(text)
    try:
        return review_overlay(load(prices=path))
    except FleetError as refused:
        return list(refused.findings)


def row(**fields: object) -> str:
    good = {"instance": "g6.xlarge", "buy": "spot", "region": "us-east-1", "usd": "0.31"}
    return json.dumps({"date": "2026-11-20", "prices": [good | fields]})


def test_prices_of_a_file_replace_those_of_the_edition(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(GOOD)
    catalogue = load(prices=path)
    p5 = catalogue.instance("p5.48xlarge")
    assert str(p5.on_demand.usd_per_hour) == "61.2"
    assert p5.on_demand.region == "eu-west-1"
    assert p5.on_demand.source.key == "overlay:ours.yaml"
    assert p5.on_demand.source.date == date(2026, 11, 20)
    assert p5.price("capacityBlock").micro_usd_per_hour == 31_460_000
    assert p5.price("capacityBlock").source.date == date(2026, 11, 1)
    assert p5.spot == load().instance("p5.48xlarge").spot
    assert catalogue.instance("g6.xlarge").spot.high_micro_usd_per_hour == 500_000
    assert catalogue.instance("g6.2xlarge").on_demand.offer is PriceStatus.NOT_SOLD
    assert catalogue.instance("g6.4xlarge") == load().instance("g6.4xlarge")


def test_overrides_change_the_order_of_price(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    path.write_text(row(instance="g6.48xlarge", buy="onDemand", usd="0.5"))
    assert load(prices=path).instances_with_gpu("L4", "aws")[0].name == "g6.48xlarge"
    assert load().instances_with_gpu("L4", "aws")[0].name == "g6.xlarge"


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "date: soon\npricez: 1\nprices:\n"
        " - {instance: p5.24xlarge, buy: ondemand, usd: -3, foo: 1}\n"
        " - {instance: p5.48xlarge, buy: spot, region: x, usd: abc, date: 2026-01-01}\n"
        " - {instance: p5.24xlarge, buy: spot, region: x, usd: 3}\n"
        " - 3\n"
    )
    with pytest.raises(FleetError, match=r"overlay .*bad\.yaml: 8 errors") as caught:
        load(prices=path)
    assert sorted((f.path, f.code) for f in caught.value.findings) == [
        ("bad.yaml.date", "overlay-bad-date"),
        ("bad.yaml.prices[0].buy", "overlay-bad-row"),
        ("bad.yaml.prices[0].foo", "overlay-bad-row"),
        ("bad.yaml.prices[0].usd", "overlay-bad-row"),
        ("bad.yaml.prices[1].usd", "overlay-bad-row"),
        ("bad.yaml.prices[3]", "overlay-bad-row"),
        ("bad.yaml.pricez", "overlay-unknown-table"),
        ("prices.p5.24xlarge.instance", "prices-unknown-instance"),
    ]
    assert "nearest: p5.4xlarge" in str(caught.value)
    assert "write prices" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "overlay-unreadable", "is not a mapping of tables"),
        ("- a", "overlay-unreadable", "is not a mapping of tables"),
        ("date: 2026-11-20\nprices: {a: 1}", "overlay-shape", "prices must be a list of rows"),
        ("a: b: c", "overlay-unreadable", "a `:` is not allowed here"),
        ("\t- x", "overlay-unreadable", "cannot be read: line 1"),
        ("[" * 5000, "overlay-unreadable", "cannot be read: "),
        ("!!python/object/apply:os.getcwd []", "overlay-unreadable", "cannot be read: "),
        (row(usd="0"), "overlay-bad-row", "not above 0"),
        (row(usd="1e9"), "overlay-bad-row", "at most 100000"),
        (row(usd="0.1234567"), "overlay-bad-row", "below a micro-dollar"),
        (row(usd="NaN"), "overlay-bad-row", "'NaN' is not a figure"),
        (row(usd="Infinity"), "overlay-bad-row", "'Infinity' is not a figure"),
        (row(usd="1e999999999"), "overlay-bad-row", "not a figure below a trillion"),
        (row(usd="twelve"), "overlay-bad-row", "'twelve' is not a figure"),
        (row(usd=True), "overlay-bad-row", "'True' is not a figure"),
        (row(usd=["1"]), "overlay-bad-row", "is not a figure"),
        (row(usd="0.4", usdHigh="0.3"), "overlay-bad-row", "0.3 is below usd 0.4"),
        (row(offer="free"), "overlay-bad-row", "'priced', 'not-sold' or 'unknown'"),
        (row(offer="unknown"), "overlay-bad-row", "contradict each other"),
        (row(buy="Spot"), "overlay-bad-row", "'onDemand', 'spot', 'reserved', 'capacityBlock'"),
        (row(instance=7), "overlay-bad-row", "found 7"),
        (row(instance="g6.huge"), "prices-unknown-instance", "no instance type 'g6.huge'"),
        (row(date="2026-13-01"), "overlay-bad-row", "found '2026-13-01'"),
        (row(region=""), "overlay-bad-row", "at least 1 character"),
        (row(region=None), "overlay-bad-row", "and the `region` it is of"),
    ],
)
def test_each_problem_is_named(text: str, code: str, words: str, tmp_path: Path) -> None:
    found = findings_of(tmp_path, text)
    assert [f.code for f in found] == [code]
    assert words in found[0].message


def test_a_date_with_a_time_is_refused(tmp_path: Path) -> None:
    text = GOOD.replace("date: 2026-11-20\n", "date: 2026-11-20T10:00:00Z\n")
    assert [f.code for f in findings_of(tmp_path, text)] == ["overlay-bad-date"]


def test_one_price_twice(tmp_path: Path) -> None:
    text = row().replace(
        '"prices": [', '"prices": [' + json.dumps(json.loads(row())["prices"][0]) + ", "
    )
    found = findings_of(tmp_path, text)
    assert [(f.code, f.path) for f in found] == [("overlay-duplicate", "prices.yaml.prices[1]")]


def test_a_figure_far_off_is_a_warning(tmp_path: Path) -> None:
    text = row(instance="g6.xlarge", buy="onDemand", usd="580")
    found = findings_of(tmp_path, text)
    assert [(f.code, f.severity.value) for f in found] == [("prices-far-off", "warning")]
    assert (
        "580 USD per hour differs from the edition's 0.8048 by more than a factor of five"
        in found[0].message
    )
    path = tmp_path / "prices.yaml"
    assert load(prices=path).instance("g6.xlarge").on_demand.micro_usd_per_hour == 580_000_000


def test_prices_of_a_file_replace_those_of_the_overlay(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    ours.write_text(row(usd="0.3"))
    theirs.write_text(row(usd="0.2", instance="g6.2xlarge"))
    for overlay, usd in ((theirs, "0.3"), (ours, "0.3")):
        catalogue = load(prices=ours, overlay=overlay)
        assert str(catalogue.instance("g6.xlarge").spot.usd_per_hour) == usd
    assert str(load(prices=ours, overlay=theirs).instance("g6.2xlarge").spot.usd_per_hour) == "0.2"
    theirs.write_text(row(usd="0.2"))
    both = load(prices=ours, overlay=theirs)
    assert str(both.instance("g6.xlarge").spot.usd_per_hour) == "0.3"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FleetError, match="cannot be read"):
        load(prices=path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="no overlay at"):
        load(prices=tmp_path / "none.yaml")


@given(st.integers(min_value=0, max_value=10**12))
def test_micro_dollars_are_exact(micro: int) -> None:
    whole, part = divmod(micro, 10**6)
    assert micro_usd(f"{whole}.{part:06d}") == micro


@given(st.integers(min_value=1, max_value=10**6), st.integers(min_value=7, max_value=12))
def test_digits_below_a_micro_dollar_are_refused(digits: int, places: int) -> None:
    if digits % 10 ** (places - 6) == 0:
        return
    with pytest.raises(ValueError, match="below a micro-dollar"):
        micro_usd(f"0.{digits:0{places}d}")
