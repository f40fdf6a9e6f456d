"""Cases of rules/fleet_pools.py."""

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

FIRST = (
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
)


CASES = (
    *FIRST,
    Case(
        "interactive-pool-holds-large-nodes",
        FLEET,
        fleet_thing({"pools[1].nodes.min": 1}),
        "1 node(s) with 8 x A100-80GB serve interactive use",
        alongside=(),
    ),
    Case(
        "nonprod-pool-minimum-above-zero",
        fleet_thing({"environment": "staging"}),
        fleet_thing({"environment": "staging", "pools[2].nodes.min": 1}),
        "1 x H100-80GB node(s) always run, environment staging",
        Level.ADVISORY,
        alongside=(),
    ),
    Case(
        "gpu-pool-fixed-size",
        FLEET,
        fleet_thing({"pools[2].nodes.min": 1}),
        "min = max = 1, bought onDemand",
        Level.ADVISORY,
        alongside=(),
    ),
    Case(
        "on-demand-for-interruptible",
        FLEET,
        fleet_thing({"pools[0].intent": "batch"}),
        "intent batch, and only onDemand at 0.80 USD/h",
        Level.ADVISORY,
        alongside=(),
    ),
)
