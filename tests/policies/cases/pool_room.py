"""Cases of rules/pool_room.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET, SMALL, node_group
from tests.policies.cases.workloads import LIMITS, REQUESTS, deployment

SERVER = {LIMITS: {"nvidia.com/gpu": 1}, REQUESTS: SMALL}
PINNED = {**SERVER, 'spec.template.spec.nodeSelector."eks.amazonaws.com/nodegroup"': "gpu"}

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
)
