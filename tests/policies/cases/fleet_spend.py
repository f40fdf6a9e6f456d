"""Cases of rules/fleet_spend.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, fleet_thing
from tests.policies.objects import REMOVE

BLOCK = {
    "capacityBlock": {
        "id": "cr-0123456789abcdef0",
        "zone": "us-east-1a",
        "until": "2026-12-20T11:30:00Z",
    }
}

CASES = (
    Case(
        "gpu-spend-unbounded",
        FLEET,
        fleet_thing({"pools[2].capacity": [BLOCK]}),
        "no price is known for p5.48xlarge as capacityBlock",
        alongside=(),
    ),
    Case(
        "gpu-budget-missing",
        FLEET,
        fleet_thing({"budget": REMOVE}),
        "no budget is set, and the fleet can cost 116.73 USD/h",
        alongside=(),
    ),
    Case(
        "gpu-budget-exceeded",
        FLEET,
        fleet_thing({"pools[0].nodes.max": 200}),
        "the policy's budgetUsdPerHour is 150.00 USD/h",
        Level.MANDATORY,
        alongside=(),
        settings={"thresholds": {"budgetUsdPerHour": 150}},
    ),
)
