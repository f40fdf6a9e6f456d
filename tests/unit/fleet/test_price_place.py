"""Prices of one region, fleets of others: what is reported of them."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.cli.explain import command
from gpufleet.fleet import compile_data
from gpufleet.fleet.document import Compiled

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
    ("region", "name"), [("us-gov-west-1", "GovCloud"), ("cn-north-1", "China")]
)
def test_another_price_list_is_named(region: str, name: str) -> None:
    result = compiled(region)
    (found,) = [one for one in result.findings if one.code == "prices-of-other-partition"]
    assert f"us-east-1; {name} has its own price list" in found.message
    assert found.evidence["pools"] == ["chat"]
    assert result.deployable


@pytest.mark.parametrize(
    ("region", "platform"), [("eu-central-1", "eks"), ("europe-west4", "gke"), ("us-east-1", "eks")]
)
def test_other_regions_have_the_same_list(region: str, platform: str) -> None:
    codes = {one.code for one in compiled(region, platform=platform).findings}
    assert "prices-of-other-partition" not in codes


def test_what_was_paid_is_nobodys_list() -> None:
    block = {
        "name": "train",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 2},
        "capacity": [{"capacityBlock": BLOCK}],
    }
    codes = {one.code for one in compiled("us-gov-west-1", block).findings}
    assert "prices-of-other-partition" not in codes


def test_the_explanation_names_the_region_of_the_price(tmp_path: Path) -> None:
    spec = tmp_path / "fleet.yaml"
    spec.write_text(
        'catalogue: "2026.11"\nplatform: eks\ncluster: {name: ml, region: eu-central-1}\n'
        "pools: [{name: chat, gpu: L4, nodes: {min: 1, max: 2}}]\n"
    )
    output = CliRunner().invoke(command, [str(spec)]).output
    assert "0.8048 USD/h a node (list of us-east-1);" in output


def test_a_wavelength_zone_is_called_one() -> None:
    pool = {**L4, "instanceTypes": ["g4dn.xlarge"], "zones": ["us-east-1-wl1-bos-wlz-1"]}
    del pool["gpu"]
    (found,) = [one for one in compiled("us-east-1", pool).findings if "zone" in one.code]
    assert (found.code, found.path) == ("zone-of-wavelength", "pools[0].zones[0]")
    assert "is a Wavelength zone" in found.message
