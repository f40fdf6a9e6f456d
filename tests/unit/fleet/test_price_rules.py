"""Prices of one region, fleets of others: what is reported of them."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.cli.explain import command
from gpufleet.fleet.model import Unbounded
from gpufleet.platforms.compiled import Compiled, compile_data

L4: dict[str, Any] = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 2}}
BLOCK = {
    "id": "cr-0123456789abcdef0",
    "zone": "us-gov-west-1a",
    "until": "2026-12-20T11:30:00Z",
    "usdPerHour": "40",
}


def compiled(region: str, *pools: dict[str, Any], platform: str = "eks") -> Compiled:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "ml", "region": region},
            "pools": list(pools) or [L4],
        }
    )


@pytest.mark.parametrize(
    ("region", "name"),
    [
        ("us-gov-west-1", "GovCloud"),
        ("cn-north-1", "China"),
        ("eusc-de-east-1", "the European Sovereign Cloud"),
    ],
)
def test_another_price_list_is_never_counted(region: str, name: str) -> None:
    result = compiled(region, {**L4, "gpu": "A10G"})
    (found,) = [one for one in result.findings if one.code == "price-unknown-in-region"]
    assert f"{name} has its own price list" in (found.fix or "")
    assert "prices: estimate" not in (found.fix or "")
    assert found.evidence["pools"] == ["chat"]
    assert result.deployable
    assert result.fleet is not None
    assert isinstance(result.fleet.pools[0].spend.maximum, Unbounded)


@pytest.mark.parametrize(
    ("region", "platform"), [("eu-central-1", "eks"), ("europe-west4", "gke"), ("us-east-1", "eks")]
)
def test_other_regions_have_the_same_list(region: str, platform: str) -> None:
    codes = {one.code for one in compiled(region, platform=platform).findings}
    assert "price-unknown-in-region" not in codes


@pytest.mark.parametrize("region", ["us-gov-west-1", "us-gov-east-1"])
def test_govcloud_counts_by_its_own_list(region: str) -> None:
    """aws/karpenter-provider-aws v1.15.2 zz_generated.pricing_aws_us_gov.go: g6.xlarge 1.014400,
    g4dn.12xlarge 4.931000; in us-east-1 they are 0.8048 and 3.912."""
    t4 = {"name": "t4", "instanceTypes": ["g4dn.12xlarge"], "nodes": {"min": 0, "max": 3}}
    fleet = compiled(region, {**L4, "instanceTypes": ["g6.xlarge"], "gpu": None}, t4).fleet
    assert fleet is not None
    assert fleet.spend.minimum == 1_014_400
    assert fleet.spend.maximum == 2 * 1_014_400 + 3 * 4_931_000


def test_what_was_paid_is_nobodys_list() -> None:
    block = {
        "name": "train",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 2},
        "capacity": [{"capacityBlock": BLOCK}],
    }
    codes = {one.code for one in compiled("us-gov-west-1", block).findings}
    assert "price-unknown-in-region" not in codes


def test_the_explanation_names_the_region_of_the_price(tmp_path: Path) -> None:
    spec = tmp_path / "fleet.yaml"
    spec.write_text(
        'catalogue: "2026.11"\nplatform: eks\ncluster: {name: ml, region: eu-central-1}\n'
        "pools: [{name: chat, gpu: L4, nodes: {min: 1, max: 2}}]\n"
    )
    output = CliRunner().invoke(command, [str(spec)]).output
    assert "1.0064 USD/h a node (list of eu-central-1);" in output


def test_a_wavelength_zone_is_called_one() -> None:
    pool = {**L4, "instanceTypes": ["g4dn.xlarge"], "zones": ["us-east-1-wl1-bos-wlz-1"]}
    del pool["gpu"]
    (found,) = [one for one in compiled("us-east-1", pool).findings if "zone" in one.code]
    assert (found.code, found.path) == ("zone-of-wavelength", "pools[0].zones[0]")
    assert "is a Wavelength zone" in found.message


def own_prices(tmp_path: Path) -> Path:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "date: 2026-11-20\nprices:\n"
        '  - {instance: g6.xlarge, buy: onDemand, region: eu-central-1, usd: "1.0"}\n'
        '  - {instance: g6.xlarge, buy: onDemand, region: eu-west-9, usd: "2.0"}\n'
    )
    return file


def in_place(region: str, own: Path | None = None, as_of: Any = None, **head: Any) -> Compiled:
    data = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": region},
        "pools": [{"name": "chat", "instanceTypes": ["g6.xlarge"], "nodes": {"min": 1, "max": 2}}],
    }
    return compile_data({**data, **head}, prices=own, as_of=as_of)


def spend(result: Compiled) -> object:
    assert result.fleet is not None
    return result.fleet.spend.maximum


def test_each_region_has_its_own_bill(tmp_path: Path) -> None:
    prices = own_prices(tmp_path)
    bills = [spend(in_place(region, prices)) for region in ("eu-central-1", "eu-west-9")]
    assert bills == [2_000_000, 4_000_000]


def test_strict_prices_make_the_spend_unknown() -> None:
    result = in_place("af-south-1", environment="prod", budget={"usdPerHour": "9"})
    codes = [one.code for one in result.findings]
    assert "price-unknown-in-region" in codes
    assert "spend-unbounded" in codes
    assert isinstance(spend(result), Unbounded)
    (found,) = [one for one in result.findings if one.code == "price-unknown-in-region"]
    assert "no price of af-south-1 is known for g6.xlarge as onDemand" in found.message
    assert found.fix is not None
    assert "prices: estimate" in found.fix


def test_an_estimate_names_the_region_of_the_price() -> None:
    result = in_place("af-south-1", environment="prod", prices="estimate")
    (found,) = [one for one in result.findings if one.code == "price-of-other-region"]
    assert found.evidence["region"] == "us-east-1"
    assert spend(result) == 2 * 804_800


def test_old_prices_are_named_once() -> None:
    pools = [
        {"name": name, "instanceTypes": ["g6.xlarge"], "nodes": {"min": 1, "max": 2}}
        for name in ("a", "b")
    ]
    result = in_place("us-east-1", as_of=date(2027, 11, 21), pools=pools)
    (found,) = [one for one in result.findings if one.code == "price-old"]
    assert found.message.count("g6.xlarge as onDemand (2026-07-20)") == 1
    assert not [one for one in in_place("us-east-1").findings if one.code == "price-old"]


def test_five_regions_have_five_bills_of_the_edition() -> None:
    """The edition's own prices: AWS's lists of 2026-07-20, two nodes each."""
    regions = ("us-east-1", "eu-central-1", "ap-northeast-1", "eu-west-2", "ca-central-1")
    bills = {region: spend(in_place(region, environment="prod")) for region in regions}
    assert bills == {
        "us-east-1": 2 * 804_800,
        "eu-central-1": 2 * 1_006_400,
        "ap-northeast-1": 2 * 1_167_200,
        "eu-west-2": 2 * 1_021_600,
        "ca-central-1": 2 * 893_600,
    }


def test_a_spot_price_of_another_region_is_not_known() -> None:
    spot = {
        "name": "chat",
        "instanceTypes": ["g6.xlarge"],
        "nodes": {"min": 1, "max": 2},
        "capacity": [{"spot": {}}],
    }
    result = in_place("eu-central-1", environment="prod", pools=[spot])
    (found,) = [one for one in result.findings if one.code == "price-unknown-in-region"]
    assert "g6.xlarge as spot" in found.message
    # On demand is known there, and spot never costs more.
    assert spend(result) == 2 * 1_006_400


def test_old_figures_of_many_pools_are_one_finding_each_named_once() -> None:
    pools = [
        {
            "name": f"p{number}",
            "instanceTypes": [("g6.xlarge", "g6.4xlarge")[number // 2]],
            "nodes": {"min": 0, "max": 2},
            "capacity": [{"spot": {}}, {"onDemand": {}}][number % 2 :],
        }
        for number in range(4)
    ]
    result = in_place("us-east-1", as_of=date(2027, 11, 21), pools=pools)
    (found,) = [one for one in result.findings if one.code == "price-old"]
    for figure in ("g6.xlarge as onDemand", "g6.xlarge as spot", "g6.4xlarge as onDemand"):
        assert found.message.count(figure) == 1, found.message
