"""Bills of twelve fleets in nine regions, computed by hand from the price lists, to the cent.

AWS: aws/karpenter-provider-aws v1.15.2 `pkg/providers/pricing` (us-east-1, GovCloud). China:
instances.vantage.sh by tsaol/aws-gpu 18aebd1, in yuan. Google Cloud: skypilot-org/
skypilot-catalog 2c3d7ea `catalogs/v9/gcp/vms.csv` for TPUs; cloudpilot-ai/karpenter-provider-gcp
417f047 for A2.
"""

from decimal import Decimal
from typing import Any

import pytest

from gpufleet.fleet.model import Unbounded
from gpufleet.platforms.compiled import compile_data

SPOT: dict[str, Any] = {"capacity": [{"spot": {}}]}
UNKNOWN = (None, None)


@pytest.mark.parametrize(
    ("region", "machine", "nodes", "more", "bill"),
    [
        ("us-east-1", "p5.48xlarge", (2, 3), {}, ("110.08", "165.12")),
        ("us-east-1", "g6e.12xlarge", (0, 5), {}, ("0.00", "52.46")),
        ("us-gov-east-1", "g4dn.xlarge", (1, 9), {}, ("0.66", "5.97")),
        ("us-gov-west-1", "g5.12xlarge", (1, 4), {}, UNKNOWN),  # the list has none
        ("cn-north-1", "g4dn.xlarge", (1, 2), {}, UNKNOWN),  # 5.223 yuan, in no dollars
        ("us-central1", "ct6e-standard-4t", (1, 4), {}, ("10.80", "43.20")),
        # Spot at the least; at the most the price on demand, which bounds it.
        ("us-south1", "ct6e-standard-4t", (1, 2), SPOT, ("4.87", "21.60")),
        ("us-east5", "ct5p-hightpu-4t", (1, 2), SPOT, ("5.20", "33.60")),
        ("europe-west4", "ct6e-standard-8t", (1, 2), {}, ("23.76", "47.52")),
        ("asia-northeast1", "ct6e-standard-1t", (1, 2), {}, ("3.24", "6.48")),
        ("us-central1", "a2-highgpu-1g", (3, 7), {}, ("11.02", "25.71")),
        ("me-central1", "g2-standard-4", (1, 2), {}, UNKNOWN),
    ],
)
def test_a_bill_is_that_of_the_list(
    region: str, machine: str, nodes: tuple[int, int], more: dict[str, Any], bill: Any
) -> None:
    least, most = nodes
    pool = {"name": "p", "instanceTypes": [machine], "nodes": {"min": least, "max": most}, **more}
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke" if "-" in machine else "eks",
            "cluster": {"name": "bill", "region": region},
            "prices": "strict",
            "pools": [pool],
        }
    )
    assert result.fleet is not None, result.findings
    spend = result.fleet.spend
    told = tuple(
        f"{one / 1_000_000:.2f}" if isinstance(one, int) else None
        for one in (spend.minimum, spend.maximum)
    )
    assert told == bill
    named = [one for one in result.findings if one.code == "price-unknown-in-region"]
    assert bool(named) is (bill == UNKNOWN)
    if region.startswith("cn-"):
        assert "(5.223 CNY an hour: this list is in yuan)" in named[0].message


@pytest.mark.parametrize(
    ("machine", "per_gpu"), [("a3-ultragpu-8g", "5.300"), ("a4-highgpu-8g", "8.055")]
)
def test_flex_start_is_that_of_the_sheet_and_queues_are_not_known(
    machine: str, per_gpu: str
) -> None:
    """By GPU, from Google's sheet of accelerator-optimized machines, September 2026. Neither is
    sold on demand, whose price bounds that of other machines: nothing bounds what is queued."""

    def spend(**capacity: Any) -> Any:
        pool = {"name": "p", "instanceTypes": [machine], "nodes": {"min": 0, "max": 2}}
        result = compile_data(
            {
                "catalogue": "2026.11",
                "platform": "gke",
                "cluster": {"name": "bill", "region": "us-central1"},
                "pools": [{**pool, "zones": ["us-central1-b"], "capacity": [capacity]}],
                "prices": "strict",
            }
        )
        assert result.fleet is not None
        return result.fleet.spend.maximum

    assert spend(flexStart={}) == 2 * 8 * Decimal(per_gpu) * 1_000_000
    queued = spend(queued={})
    assert isinstance(queued, Unbounded)
    assert queued.causes == (f"p: nothing bounds the price of {machine} as queued",)


def test_a_spot_price_without_one_on_demand_is_bounded_by_nothing() -> None:
    """Google sells `a3-highgpu-1g` as spot and flex start alone: nothing bounds what spot costs."""
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "bill", "region": "us-central1"},
            "pools": [
                {
                    "name": "p",
                    "instanceTypes": ["a3-highgpu-1g"],
                    "nodes": {"min": 0, "max": 2, "expected": 1},
                    **SPOT,
                }
            ],
        }
    )
    assert result.fleet is not None
    spend = result.fleet.spend
    assert spend.expected == 6_326_193  # of the list, rounded to no cent
    assert isinstance(spend.maximum, Unbounded)
    assert spend.maximum.causes == ("p: nothing bounds the price of a3-highgpu-1g as spot",)
