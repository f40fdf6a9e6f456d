"""Each fleet rule: the compliant fleet is silent, one broken property gives the whole message."""

import pytest

from gpufleet.findings import Level
from tests.policies.objects import STRICT, findings, fleet, ids, only, usual_fleet


def test_the_compliant_fleet_gives_no_finding_in_any_profile():
    for profile in ("auto", "dev", "prod", "strict"):
        assert findings(usual_fleet(), settings={"profile": profile}) == []


def test_spend_unbounded_names_the_cause():
    block = {
        "capacityBlock": {
            "id": "cr-0123456789abcdef0",
            "zone": "us-east-1a",
            "until": "2026-12-20T11:30:00Z",
        }
    }
    found = only(findings(fleet({"pools[2].capacity": [block]})), "gpu-spend-unbounded")
    assert found.level is Level.MANDATORY
    assert found.text.startswith(
        "[gpu-spend-unbounded] GpuFleet fleet, pools[2] (training): the largest spend has no "
        "bound: training: no price is known for p5.48xlarge as capacityBlock; every pool needs a "
        "price or a bound. Instead: state the price you pay"
    )
    assert "can cost 5,840 GPU-hours per month (no price is known" in found.text
    dev = findings(fleet({"pools[2].capacity": [block], "environment": "dev"}))
    assert only(dev, "gpu-spend-unbounded").level is Level.ADVISORY


def test_budget_missing_is_refused_in_production_only():
    from tests.policies.objects import REMOVE

    without = {"budget": REMOVE}
    found = only(findings(fleet(without)), "gpu-budget-missing")
    assert found.level is Level.MANDATORY
    assert "no budget is set, and the fleet can cost 116.73 USD/h" in found.text
    assert "Instead: write `budget: {usdPerHour: 117}`" in found.text
    assert "can cost 85,211 USD per month (all pools at nodes.max, 730 h)" in found.text
    assert findings(fleet({**without, "environment": "dev"})) == []
    settled = {"budgets": {"*": {"exposureUsdPerHour": 500}}}
    assert findings(fleet(without), settings=settled) == []


def test_large_node_for_notebooks_must_go_to_zero():
    found = only(findings(fleet({"pools[1].nodes.min": 1})), "interactive-pool-holds-large-nodes")
    assert found.level is Level.MANDATORY
    assert found.text.startswith(
        "[interactive-pool-holds-large-nodes] GpuFleet fleet, pools[1].nodes.min of notebooks: 1 "
        "node(s) with 8 x A100-80GB serve interactive use, bought onDemand; large nodes for "
        "notebooks must be able to go to 0. Instead: write pools[1].nodes.min: 0"
    )
    assert "costs 20,036 USD per month (1 x p4de.24xlarge at 27.45 USD/h onDemand" in found.text


@pytest.mark.parametrize(
    "capacity", [{"reserved": {"id": "cr-1"}}, {"onPrem": {"usdPerGpuHour": "1"}}]
)
def test_what_is_paid_for_anyway_may_stand(capacity):
    changes = {"pools[1].nodes.min": 2, "pools[1].capacity": [capacity]}
    if "onPrem" in capacity:
        changes |= {"platform": "sandbox"}
    found = findings(fleet(changes), settings=STRICT)
    assert not {"interactive-pool-holds-large-nodes", "gpu-pool-fixed-size"} & set(ids(found))


def test_nodes_outside_production_start_from_zero():
    changes = {"environment": "staging", "pools[2].nodes.min": 1}
    found = only(findings(fleet(changes)), "nonprod-pool-minimum-above-zero")
    assert found.level is Level.ADVISORY
    assert "1 x H100-80GB node(s) always run, environment staging" in found.text
    assert "costs 40,179 USD per month" in found.text
    strict = only(findings(fleet(changes), settings=STRICT), "nonprod-pool-minimum-above-zero")
    assert strict.level is Level.MANDATORY


def test_an_unknown_environment_counts_as_neither():
    assert findings(fleet({"environment": "prod", "pools[0].nodes.min": 1})) == []


def test_fixed_size_without_a_reservation():
    found = only(
        findings(
            fleet(
                {
                    "pools[2].nodes.min": 1,
                    "pools[2].intent": "batch",
                    "pools[2].capacity": [{"spot": {}}, {"onDemand": {}}],
                }
            )
        ),
        "gpu-pool-fixed-size",
    )
    assert found.level is Level.ADVISORY
    assert "min = max = 1, bought spot; only reserved capacity" in found.text


def test_batch_bought_on_demand_names_the_spot_price():
    found = only(findings(fleet({"pools[0].intent": "batch"})), "on-demand-for-interruptible")
    assert (
        "intent batch, and only onDemand at 0.80 USD/h; g6.xlarge sells as spot for at most "
        "0.55 USD/h" in found.text
    )
    assert "pools[0].capacity: [{spot: {}}, {onDemand: {}}]" in found.text
    assert "wastes 184 USD per month (1 expected node(s), 730 h)" in found.text


def test_a_full_layout_is_advice_whatever_it_strands():
    """A plan may buy four 1g.20gb on one GPU, which costs less than any other way to have them."""
    layouts = [{"devices": {"1g.20gb": 4}}]
    found = only(
        findings(fleet({"pools[1].sharing.mig.layouts": layouts})), "mig-layout-strands-slices"
    )
    assert found.level is Level.ADVISORY
    assert "strands 3 of 7" in found.text


def test_stranded_slices_name_the_better_layout():
    layouts = [{"devices": {"1g.20gb": 3}}]
    found = only(
        findings(fleet({"pools[1].sharing.mig.layouts": layouts})), "mig-layout-strands-slices"
    )
    assert found.level is Level.MANDATORY
    assert "3 x 1g.20gb on 8 of 8 GPUs strands 2 of 7 compute slices each" in found.text
    assert "partition them into" in found.text
    # 1 expected node, 8 GPUs at 27.44705 / 8, 2/7 of each.
    assert "wastes 5,725 USD per month" in found.text


def test_one_stranded_slice_is_advice():
    layouts = [{"devices": {"3g.40gb": 2}}]
    found = only(
        findings(fleet({"pools[1].sharing.mig.layouts": layouts})), "mig-layout-strands-slices"
    )
    assert found.level is Level.ADVISORY
    assert "strands 1 of 7" in found.text
