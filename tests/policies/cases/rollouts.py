"""Cases of rules/rollouts.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, fleet_thing
from tests.policies.cases.workloads import LIMITS, deployment

FULL = fleet_thing({"pools[2].nodes.max": 1})
SERVER = {
    LIMITS: {"nvidia.com/gpu": "8"},
    "spec.replicas": 1,
    'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training",
}
WAIT = {"maxSurge": 0, "maxUnavailable": 1}
TOLERATIONS = "spec.template.spec.tolerations"


def tolerating(key: str):
    """A server that tolerates one taint."""
    return deployment({TOLERATIONS: [{"key": key, "operator": "Exists"}]})


CASES = (
    Case(
        "rollout-needs-spare-gpu",
        deployment({**SERVER, "spec.strategy": {"rollingUpdate": WAIT}}),
        deployment(SERVER),
        "a rollout adds 1 pod(s) to 1 with nvidia.com/gpu before it ends one",
        Level.ADVISORY,
        alongside=(FULL,),
    ),
    Case(
        "gpu-toleration-misspelt",
        tolerating("nvidia.com/gpu"),
        tolerating("nvidia/gpu"),
        "tolerates nvidia/gpu",
        Level.ADVISORY,
    ),
    Case(
        "gpu-toleration-misspelt",
        tolerating("nvidia.com/gpu"),
        deployment({TOLERATIONS: [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}),
        "tolerates nvidia.com/gpu without operator and value",
        Level.ADVISORY,
        alongside=(),
        settings={"environment": "prod"},
    ),
)
