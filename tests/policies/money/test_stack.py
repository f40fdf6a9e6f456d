"""Present and maximum cost of everything declared together."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import FleetFacts, Surroundings
from gpufleet.cluster.capacity import Reservation
from gpufleet.cluster.fact import known
from gpufleet.cluster.pool import NodePool
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import pool_price, reach, way_price
from gpufleet_policies.money.stack import spend_as_dict, stack_spend
from gpufleet_policies.rules.pools import all_pools
from tests.policies.cases.case import FLEET, Thing
from tests.policies.cases.pools import CPU_GROUP, gke_pool, karpenter, node_group
from tests.policies.objects import REMOVE, TODAY, fleet

CATALOGUE = load()
G6 = CATALOGUE.instance("g6.xlarge").on_demand.micro_usd_per_hour
assert G6 is not None


def one(thing: Thing) -> NodePool:
    found = thing.facts()
    assert isinstance(found, NodePool)
    return found


def spend(*things: Thing):
    facts = tuple(fact for thing in things for fact in thing.all_facts)
    context = RuleContext(today=TODAY, load_catalogue=load, surroundings=Surroundings(facts))
    reserved = [fact for fact in facts if isinstance(fact, Reservation)]
    return stack_spend(all_pools(context), CATALOGUE, reserved)


def test_a_pool_costs_between_its_cheapest_and_its_dearest_way():
    found = pool_price(one(karpenter()), CATALOGUE)
    spot = CATALOGUE.instance("g6.xlarge").spot.micro_usd_per_hour
    assert found.low == spot
    assert found.high == CATALOGUE.instance("g6.4xlarge").on_demand.micro_usd_per_hour
    assert pool_price(one(node_group()), CATALOGUE).high == G6


def test_prices_are_those_of_the_fleets_spend():
    row = CATALOGUE.instance("p5.48xlarge")
    assert way_price(row, "onDemand") == (row.on_demand.micro_usd_per_hour,) * 2
    assert way_price(row, "capacityBlock") == (None, None)
    low, high = way_price(CATALOGUE.instance("g6.xlarge"), "spot")
    assert low is not None
    assert high == G6, "spot is capped by the list price"


@pytest.mark.parametrize(
    ("limits", "gpus"),
    [
        ({"nvidia.com/gpu": "16"}, 16),
        ({"cpu": "64"}, 16),  # g6.xlarge has 4
        ({"cpu": "64", "nvidia.com/gpu": "8"}, 8),
        ({"memory": "64Gi"}, 4),
        ({"nodes": "3"}, 3),
    ],
)
def test_limits_of_karpenter_as_gpus(limits: dict[str, str], gpus: int):
    found = reach(one(karpenter({"spec.limits": limits})), CATALOGUE)
    assert found is not None
    assert found.gpus == Fraction(gpus)
    assert found.micro_usd_per_hour is not None


def test_a_pool_without_a_bound_says_why():
    found = reach(one(karpenter({"spec.limits": REMOVE})), CATALOGUE)
    assert found is not None
    assert found.gpus is None
    assert found.because == "spec.limits is not set"


def test_a_limit_that_cannot_be_read_is_no_bound_and_no_violation():
    assert reach(one(karpenter({"spec.limits.cpu": "${X}"})), CATALOGUE) is None


def test_standing_and_reachable_sums_are_exact_and_leave_out_other_machines():
    group = node_group({"scalingConfig": {"minSize": 1, "maxSize": 3, "desiredSize": 1}})
    found = spend(group, CPU_GROUP, gke_pool())
    a100 = CATALOGUE.instance("a2-highgpu-1g").on_demand.micro_usd_per_hour
    assert a100 is not None
    assert found.standing.micro_usd_per_hour == G6
    assert found.exposure.micro_usd_per_hour == 3 * G6 + 4 * a100
    assert found.exposure.is_bounded
    assert [pool.name for pool in found.pools] == ["gpu", "gpu"]


def test_the_sum_of_a_fleet_is_the_fleets_own():
    facts = fleet()
    assert isinstance(facts, FleetFacts)
    found = spend(FLEET)
    assert found.exposure.micro_usd_per_hour == facts.maximum_spend.value
    assert found.standing.micro_usd_per_hour == facts.minimum_spend.value


def test_an_unbounded_pool_makes_the_sum_unbounded_and_names_itself():
    found = spend(node_group(), karpenter({"spec.limits": REMOVE}))
    assert not found.exposure.is_bounded
    assert found.exposure.causes == ("gpu: spec.limits is not set",)
    assert found.exposure.micro_usd_per_hour == 4 * G6, "the part that is bounded"


def test_budgets_of_an_environment_are_read():
    from gpufleet_policies.rules.settings import read_settings

    found = read_settings({"budgets": {"Prod": {"standingUsdPerMonth": 100.5}}})
    assert found.thresholds.budgets["prod"].standing_usd_per_month == Decimal("100.5")


def test_the_printed_form_has_text_for_money_and_null_where_there_is_no_bound():
    printed = spend_as_dict(spend(node_group(), karpenter({"spec.limits": REMOVE})))
    assert printed["reachableUsdPerHour"] is None
    assert printed["unbounded"] == ["gpu: spec.limits is not set"]
    assert printed["pools"][0]["reachableUsdPerHour"] == "3.2192"


def test_a_reservation_is_billed_whether_it_is_used_or_not_and_never_twice():
    block = Thing(
        "aws:ec2/capacityReservation:CapacityReservation",
        {"instanceType": "g6.xlarge", "instanceCount": 3, "id": "cr-1"},
        "block",
    )
    assert spend(node_group(), block).standing.micro_usd_per_hour == 3 * G6
    template = Thing(
        "aws:ec2/launchTemplate:LaunchTemplate",
        {
            "name": "lt",
            "capacityReservationSpecification": {
                "capacityReservationTarget": {"capacityReservationId": "cr-1"}
            },
        },
        "lt",
    )
    sizes = {"minSize": 1, "maxSize": 4, "desiredSize": 1}
    user = node_group({"launchTemplate": {"name": "lt"}, "scalingConfig": sizes})
    found = spend(user, template, block)
    assert found.standing.micro_usd_per_hour == 3 * G6
    assert found.exposure.micro_usd_per_hour == 4 * G6


EKS_ARN = "arn:aws:eks:{}:1:nodegroup/a/gpu/1"


@pytest.mark.parametrize(
    ("document", "usd"),
    [
        ({}, "0.8048"),
        ({"region": "us-east-1"}, "0.8048"),
        ({"region": "eu-central-1"}, "1.0064"),
        ({"arn": EKS_ARN.format("ap-northeast-1")}, "1.1672"),
        ({"region": "eu-west-2"}, "1.0216"),
        ({"region": "ca-central-1"}, "0.8936"),
        ({"region": "af-south-1"}, None),
        ({"region": "no region"}, "0.8048"),
    ],
)
def test_a_pool_is_priced_where_it_is(document: dict[str, str], usd: str | None) -> None:
    """Prices of AWS's lists of 2026-07-20; a region that has none is not another's price."""
    found = one(node_group(document))
    price = pool_price(found, CATALOGUE)
    micro = None if usd is None else int(Decimal(usd) * 1_000_000)
    assert price.high == micro
    if usd is None:
        assert price.spelled == "no price is known"
    most = reach(found, CATALOGUE)
    assert most is not None
    assert most.micro_usd_per_hour == (None if micro is None else 4 * micro)


def test_a_region_without_prices_leaves_the_bill_open() -> None:
    found = spend(node_group({"region": "af-south-1"}))
    (row,) = found.pools
    assert row.exposure is None
    assert "no price is known for up to 4 GPUs" in row.cause


def test_karpenter_and_gke_pools_are_priced_by_their_zones() -> None:
    pool = replace(one(karpenter()), zones=known(("eu-central-1a", "eu-central-1b")))
    assert pool.price_region == "eu-central-1"
    local = replace(pool, zones=known(("us-west-2-lax-1a",)))
    both = replace(pool, zones=known(("eu-central-1a", "eu-west-1a")))
    assert (local.price_region, both.price_region) == (None, None)
    high = pool_price(pool, CATALOGUE).high
    listed = CATALOGUE.in_region("eu-central-1", estimate=False).instance("g6.4xlarge")
    assert high == listed.on_demand.micro_usd_per_hour
    google = one(gke_pool({"location": "europe-west4"}))
    assert google.price_region == "europe-west4"
    assert one(gke_pool({"location": "europe-west4-a"})).price_region == "europe-west4"
