"""Cases of rules/pool_room.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, fleet_thing
from tests.policies.cases.pools import QUIET, SMALL, node_group
from tests.policies.cases.workloads import LIMITS, REQUESTS, deployment

SERVER = {LIMITS: {"nvidia.com/gpu": 1}, REQUESTS: SMALL}
PINNED = {**SERVER, 'spec.template.spec.nodeSelector."eks.amazonaws.com/nodegroup"': "gpu"}
OF_TYPE = {
    "spec.replicas": 1,
    'spec.template.spec.nodeSelector."node.kubernetes.io/instance-type"': "g5.12xlarge",
}
TOLERATIONS = "spec.template.spec.tolerations"
_PLAIN = "AL2023_x86_64_STANDARD"
TAINT = [{"key": "team-a", "value": "yes", "effect": "NO_SCHEDULE"}]

CASES = (
    Case(
        "gpu-pods-exceed-declared-pools",
        deployment({**PINNED, "spec.replicas": 4}),
        deployment({**PINNED, "spec.replicas": 6}),
        "6 pods of 1 x nvidia.com/gpu; gpu can hold 4 at most; 2 would stay Pending",
        alongside=(*QUIET, node_group()),
    ),
    Case(
        "gpu-pods-exceed-declared-pools",
        deployment({**SERVER, "spec.replicas": 4}),
        deployment({**SERVER, "spec.replicas": 6}),
        "2 would stay Pending",
        Level.ADVISORY,
        alongside=(*QUIET, node_group()),
    ),
    Case(
        "gpu-pods-exceed-declared-pools",
        deployment({**OF_TYPE, LIMITS: {"nvidia.com/gpu": 4}}),
        deployment({**OF_TYPE, LIMITS: {"nvidia.com/gpu": 8}}),
        "one pod requests 8 x nvidia.com/gpu; a node of g5.12xlarge has 4",
        alongside=QUIET,
    ),
    Case(
        "gpu-pods-exceed-declared-pools",
        # Lavale1012/llm-inference-platform-aws-eks: the only node group has m5.xlarge
        deployment({LIMITS: {"memory": "8Gi"}, REQUESTS: SMALL}),
        deployment(SERVER),
        "one pod requests 1 x nvidia.com/gpu; no pool declared here has GPUs",
        Level.ADVISORY,
        alongside=(*QUIET, node_group({"instanceTypes": ["m5.xlarge"], "amiType": _PLAIN})),
    ),
    Case(
        "gpu-pods-not-tolerated",
        deployment({**PINNED, TOLERATIONS: [{"key": "team-a", "operator": "Exists"}]}),
        deployment(PINNED),
        "chooses gpu by labels; these nodes are tainted with team-a, which nothing tolerates",
        alongside=(*QUIET, node_group({"taints": TAINT})),
    ),
    Case(
        "gpu-pods-not-tolerated",
        deployment({**PINNED, TOLERATIONS: [{"key": "team-a", "value": "yes"}]}),
        deployment({**PINNED, TOLERATIONS: [{"key": "team-a", "value": "true"}]}),
        "these nodes are tainted with team-a, which nothing tolerates",
        alongside=(*QUIET, node_group({"taints": TAINT})),
    ),
    # fdaniel-alvarez-dev/production-gpu-platform-eks: pools tainted nvidia.com/gpu=inference and
    # nvidia.com/gpu=training.
    Case(
        "gpu-pods-not-tolerated",
        deployment({**PINNED, TOLERATIONS: [{"key": "nvidia.com/gpu", "value": "present"}]}),
        deployment({**PINNED, TOLERATIONS: [{"key": "nvidia.com/gpu", "value": "training"}]}),
        "these nodes are tainted with nvidia.com/gpu, which nothing tolerates",
        alongside=(*QUIET, node_group()),
    ),
)


CAPACITY = (
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

CASES = (*CASES, *CAPACITY)


FULL = fleet_thing({"pools[2].nodes.max": 1})
ROLLOUTS_SERVER = {
    LIMITS: {"nvidia.com/gpu": "8"},
    "spec.replicas": 1,
    'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training",
}
WAIT = {"maxSurge": 0, "maxUnavailable": 1}
ROLLOUTS_TOLERATIONS = "spec.template.spec.tolerations"


def tolerating(key: str):
    """A server that tolerates one taint."""
    return deployment({ROLLOUTS_TOLERATIONS: [{"key": key, "operator": "Exists"}]})


ROLLOUTS = (
    Case(
        "rollout-needs-spare-gpu",
        deployment({**ROLLOUTS_SERVER, "spec.strategy": {"rollingUpdate": WAIT}}),
        deployment(ROLLOUTS_SERVER),
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
        deployment({ROLLOUTS_TOLERATIONS: [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}),
        "tolerates nvidia.com/gpu without operator and value",
        Level.ADVISORY,
        alongside=(),
        settings={"environment": "prod"},
    ),
)

CASES = (*CASES, *ROLLOUTS)
