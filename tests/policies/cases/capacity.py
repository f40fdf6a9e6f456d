"""Cases of rules/capacity.py."""

from tests.policies.cases.case import Case
from tests.policies.cases.workloads import LIMITS, deployment

CASES = (
    Case(
        "gpu-resource-not-offered",
        deployment(),
        deployment({LIMITS: {"nvidia.com/mig-7g.80gb": 1}}),
        "requests 1 x nvidia.com/mig-7g.80gb, which no such pool publishes",
    ),
    Case(
        "gpu-pods-exceed-declared-pools",
        deployment({"spec.replicas": 48}),
        deployment({"spec.replicas": 60}),
        "notebooks (nodes.max 2) can hold 48 at most",
    ),
)
