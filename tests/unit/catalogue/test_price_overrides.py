"""Price files: what they change, and all that can be wrong with them, at once."""

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet.catalogue import PriceStatus, load
from gpufleet.catalogue.price_overrides import parse_price_overrides
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


def findings_of(text: str, name: str = "prices.yaml") -> list[Finding]:
    return list(parse_price_overrides(text, name, load())[1])


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
    assert p5.on_demand.source.key == "override:ours.yaml"
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
        " - 3\n"
    )
    with pytest.raises(FleetError, match=r"price file bad\.yaml: 9 errors") as caught:
        load(prices=path)
    assert sorted((f.path, f.code) for f in caught.value.findings) == [
        ("date", "prices-bad-date"),
        ("prices[0].buy", "prices-unknown-option"),
        ("prices[0].foo", "prices-unknown-field"),
        ("prices[0].instance", "prices-unknown-instance"),
        ("prices[0].region", "prices-missing"),
        ("prices[0].usd", "prices-bad-figure"),
        ("prices[1].usd", "prices-bad-figure"),
        ("prices[2]", "prices-shape"),
        ("pricez", "prices-unknown-field"),
    ]
    assert "nearest: p5.4xlarge" in str(caught.value)
    assert "write prices" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "prices-shape", "must be a mapping with `date` and `prices`, found nothing"),
        ("- a", "prices-shape", "found a list"),
        ("date: 2026-11-20", "prices-shape", "found nothing"),
        ("date: 2026-11-20\nprices: []", "prices-shape", "at least one price"),
        ("date: 2026-11-20\nprices: {a: 1}", "prices-shape", "found a mapping"),
        ("a: b: c", "prices-unreadable", "neither YAML nor JSON"),
        ("\t- x", "prices-unreadable", "neither YAML nor JSON"),
        ("[" * 5000, "prices-unreadable", "neither YAML nor JSON"),
        ("!!python/object/apply:os.getcwd []", "prices-unreadable", "neither YAML nor JSON"),
        (row(usd="0"), "prices-bad-figure", "not above 0"),
        (row(usd="1e9"), "prices-bad-figure", "at most 100000"),
        (row(usd="0.1234567"), "prices-bad-figure", "below a micro-dollar"),
        (row(usd="NaN"), "prices-bad-figure", "'NaN' is not a figure"),
        (row(usd="Infinity"), "prices-bad-figure", "'Infinity' is not a figure"),
        (row(usd="1e999999999"), "prices-bad-figure", "not a figure below a trillion"),
        (row(usd="twelve"), "prices-bad-figure", "'twelve' is not a figure"),
        (row(usd=True), "prices-bad-figure", "True is not a figure"),
        (row(usd=["1"]), "prices-bad-figure", "a list is not a figure"),
        (row(usd="0.4", usdHigh="0.3"), "prices-range", "0.3 is below usd 0.4"),
        (row(offer="free"), "prices-unknown-offer", "priced, not-sold, unknown"),
        (row(offer="unknown"), "prices-conflict", "contradict each other"),
        (row(buy="Spot"), "prices-unknown-option", "onDemand, spot, reserved, capacityBlock"),
        (row(instance=7), "prices-unknown-instance", "no instance type 7"),
        (row(date="2026-13-01"), "prices-bad-date", "found '2026-13-01'"),
        (row(region=""), "prices-missing", "needs the region"),
    ],
)
def test_each_problem_is_named(text: str, code: str, words: str) -> None:
    found = findings_of(text)
    assert [f.code for f in found] == [code]
    assert words in found[0].message


def test_a_date_with_a_time_is_refused() -> None:
    text = GOOD.replace("date: 2026-11-20\n", "date: 2026-11-20T10:00:00Z\n")
    assert [f.code for f in findings_of(text)] == ["prices-bad-date"]


def test_one_price_twice() -> None:
    text = row().replace(
        '"prices": [', '"prices": [' + json.dumps(json.loads(row())["prices"][0]) + ", "
    )
    found = findings_of(text)
    assert [(f.code, f.path) for f in found] == [("prices-duplicate", "prices[1]")]


def test_a_figure_far_off_is_a_warning(tmp_path: Path) -> None:
    text = row(instance="g6.xlarge", buy="onDemand", usd="580")
    found = findings_of(text)
    assert [(f.code, f.severity.value) for f in found] == [("prices-far-off", "warning")]
    assert (
        "580 USD per hour differs from the edition's 0.8048 by more than a factor of five"
        in found[0].message
    )
    path = tmp_path / "prices.json"
    path.write_text(text)
    assert load(prices=path).instance("g6.xlarge").on_demand.micro_usd_per_hour == 580_000_000


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FleetError, match="not UTF-8 text"):
        load(prices=path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
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
