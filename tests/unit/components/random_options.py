"""Values of every option that only EKS, Karpenter and GKE have; not each fits every pool."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Options = Mapping[str, st.SearchStrategy[Any]]
CHANCE = 6
"""One of this number of options is written."""
_KEY = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d"
_TENANCY = {
    "key": "karpenter.k8s.aws/instance-tenancy",
    "operator": "In",
    "values": ["dedicated"],
}

EKS: Options = {
    "releaseVersion": st.just("1.36.0-20261101"),
    "amiId": st.just("ami-0123456789abcdef0"),
    "placementGroup": st.booleans(),
    "update": st.fixed_dictionaries(
        {
            "strategy": st.sampled_from(["minimal", "surge"]),
            "maxUnavailable": st.integers(1, 100),
        }
    ),
    "nodeRepair": st.booleans(),
    "metadataHopLimit": st.integers(1, 64),
    "localStorage": st.sampled_from(["raid0", "none"]),
    "kmsKeyArn": st.sampled_from([_KEY, _KEY.replace("us-east-1", "eu-west-1")]),
    "fastImagePull": st.booleans(),
    "nodeGroup": st.sampled_from([{"forceUpdateVersion": True}, {"version": "1.20"}]),
    "launchTemplate": st.sampled_from([{"ebsOptimized": "true"}, {"imageId": "ami-1"}]),
}
KARPENTER: Options = {
    "expireAfter": st.sampled_from(["72h", "Never"]),
    "terminationGracePeriod": st.just("30m"),
    "disruption": st.sampled_from(
        [{"consolidateAfter": "1m"}, {"consolidationPolicy": "Balanced"}]
    ),
    "requirements": st.sampled_from([[_TENANCY], [{**_TENANCY, "key": "kubernetes.io/os"}]]),
    "startupTaints": st.just([{"key": "example.com/agent", "effect": "NoSchedule"}]),
    "reservations": st.sampled_from([[{"tags": {"team": "a"}}], [{"match": "open"}]]),
    "static": st.booleans(),
    "buffer": st.booleans(),
    "priceAdjustment": st.sampled_from(["-15%", "+0.25"]),
    "placementGroup": st.just("near"),
    "weight": st.integers(1, 100),
    "nodePool": st.sampled_from(
        [{"template": {"metadata": {"annotations": {"a": "b"}}}}, {"replicas": 2}, {"colour": 1}]
    ),
    "nodeClass": st.sampled_from(
        [{"detailedMonitoring": True}, {"tenancy": "dedicated"}, {"role": "mine"}]
    ),
}
GKE: Options = {
    "driver": st.just("gpuOperator"),
    "driverVersion": st.just("latest"),
    "confidential": st.just(True),
    "acceleratorNetworkProfile": st.just("auto"),
    "compactPlacement": st.booleans(),
    "openReservations": st.booleans(),
    "limits": st.sampled_from(["total", "perZone"]),
    "locationPolicy": st.sampled_from(["any", "balanced"]),
    "upgrade": st.sampled_from(
        [{"strategy": "surge", "maxSurge": 2}, {"strategy": "blueGreen"}, {"maxSurge": 1}]
    ),
    "autoUpgrade": st.booleans(),
    "autoRepair": st.booleans(),
    "diskType": st.sampled_from(["pd-ssd", "hyperdisk-balanced"]),
    "kmsKey": st.just("projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"),
    "maintenanceInterval": st.sampled_from(["periodic", "asNeeded"]),
    "localSsds": st.sampled_from([0, 1, 2, 16]),
    "localSsdUse": st.sampled_from(["ephemeral", "raw"]),
    "imageCache": st.just("projects/p/global/images/cuda"),
    "imageStreaming": st.just(True),
    "fastSocket": st.booleans(),
    "gpuDirectPlugin": st.sampled_from(["v3.1.12", "v1.0.15"]),
    "secureBoot": st.booleans(),
    "maxPods": st.integers(8, 256),
    "tpuTopology": st.sampled_from(["2x4", "4x4"]),
    "nodePool": st.sampled_from(
        [{"nodeConfig": {"loggingVariant": "MAX_THROUGHPUT"}}, {"nodeCount": 3}, {"colour": 1}]
    ),
}


def some(draw: st.DrawFn, options: Options) -> dict[str, Any]:
    """Few of the options, each with a value."""
    return {
        name: draw(values)
        for name, values in options.items()
        if draw(st.integers(1, CHANCE)) == CHANCE
    }


RAW = ("nodePool", "nodeClass", "nodeGroup", "launchTemplate")


def without_raw(document: dict[str, Any]) -> dict[str, Any]:
    """The fleet without raw arguments, which `adopt` writes in other words."""
    pools = [
        {
            key: {name: one for name, one in value.items() if name not in RAW}
            if key in ("eks", "karpenter", "gke")
            else value
            for key, value in pool.items()
        }
        for pool in document["pools"]
    ]
    return {**document, "pools": pools}
