"""Cases of rules/pool_bounds.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pools import QUIET, karpenter, node_group
from tests.policies.objects import REMOVE, changed

CLUSTER = {
    "name": "ml",
    "location": "us-central1",
    "removeDefaultNodePool": True,
    "monitoringConfig": {"enableComponents": ["DCGM"]},
    "clusterAutoscaling": {
        "enabled": True,
        "resourceLimits": [{"resourceType": "nvidia-l4", "maximum": 16}],
    },
}
RESERVATION = {
    "instanceType": "p5.48xlarge",
    "instanceCount": 2,
    "instanceMatchCriteria": "open",
    "availabilityZone": "us-east-1a",
}
H100 = {"instanceTypes": ["p5.48xlarge"], "capacityType": "CAPACITY_BLOCK"}


def _cluster(most: int) -> Thing:
    limits = {"clusterAutoscaling.resourceLimits[0].maximum": most}
    return Thing("gcp:container/cluster:Cluster", changed(CLUSTER, limits), "ml")


def _reservation(count: int) -> Thing:
    document = changed(RESERVATION, {"instanceCount": count})
    return Thing("aws:ec2/capacityReservation:CapacityReservation", document, "block")


CASES = (
    Case(
        "gpu-pool-unbounded",
        karpenter({"spec.limits": {"cpu": "64"}}),
        karpenter({"spec.limits": REMOVE}),
        "spec.limits is not set: the number of GPUs, and their cost, is unbounded",
        alongside=QUIET,
    ),
    Case(
        "gpu-pool-unbounded",
        node_group(),
        node_group({"scalingConfig.maxSize": 100}),
        "scalingConfig.maxSize 100 allows 100 GPUs",
        alongside=QUIET,
    ),
    Case(
        "running-warm-pool",
        node_group({"warmPoolConfig": {"poolState": "STOPPED", "minSize": 2}}),
        node_group({"warmPoolConfig": {"poolState": "RUNNING", "minSize": 2}}),
        "2 running node(s) wait in the warm pool",
        alongside=QUIET,
    ),
    Case(
        "reservation-not-consumed",
        _reservation(2),
        _reservation(4),
        "4 machines are reserved, and gpu can use 2 of them at most",
        Level.ADVISORY,
        alongside=(*QUIET, node_group({**H100, "scalingConfig.maxSize": 2})),
    ),
)
