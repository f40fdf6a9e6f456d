"""One declaration of every option that only one cloud has."""

from typing import Any

from tests.unit.render.platform_rows import H100, SCALED, Row

KEY = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d"
ZONE = {"zones": ["us-central1-a"]}
A3 = {"instanceTypes": ["a3-highgpu-8g"], **SCALED, **ZONE}
TPU = {"instanceTypes": ["ct5lp-hightpu-4t"], "nodes": {"min": 0, "max": 4}, **ZONE}
OPERATOR = {"gke": {"driver": "gpuOperator"}, "image": "ubuntu-gke"}
IMPORTED = {"importId": "us-central1/ml/old"}


def option(cloud: str, name: str, value: Any, **base: Any) -> Row:
    written = str(value).lower() if isinstance(value, bool) else value
    if isinstance(value, dict):
        written = "{" + ", ".join(f"{key}: {item}" for key, item in value.items()) + "}"
    return Row(f"`{name}: {written}`", {**base, cloud: {name: value}}, base=base)


GKE: dict[str, Row] = {
    "gke.driver": option("gke", "driver", "gpuOperator"),
    "gke.driverVersion": option("gke", "driverVersion", "latest"),
    "gke.acceleratorNetworkProfile": option(
        "gke", "acceleratorNetworkProfile", "auto", **A3, fabric="tcpx"
    ),
    "gke.compactPlacement": option("gke", "compactPlacement", True, **A3),
    "gke.openReservations": option("gke", "openReservations", True),
    "gke.limits": option("gke", "limits", "perZone", zones=["us-central1-a", "us-central1-b"]),
    "gke.locationPolicy": option("gke", "locationPolicy", "balanced"),
    "gke.upgrade": option("gke", "upgrade", {"strategy": "blueGreen"}),
    "gke.autoUpgrade": option("gke", "autoUpgrade", False),
    "gke.autoRepair": option("gke", "autoRepair", False),
    "gke.diskType": option("gke", "diskType", "pd-ssd"),
    "gke.kmsKey": option(
        "gke", "kmsKey", "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
    ),
    "gke.maintenanceInterval": option("gke", "maintenanceInterval", "periodic"),
    "gke.localSsds": option("gke", "localSsds", 1),
    "gke.localSsdUse": Row(
        "`localSsdUse: raw` with `localSsds: 1`",
        {"gke": {"localSsds": 1, "localSsdUse": "raw"}},
        base={"gke": {"localSsds": 1}},
    ),
    "gke.imageCache": option("gke", "imageCache", "projects/p/global/images/i"),
    "gke.imageStreaming": option("gke", "imageStreaming", True),
    "gke.fastSocket": option("gke", "fastSocket", True),
    "gke.gpuDirectPlugin": option("gke", "gpuDirectPlugin", "v3.1.12", **A3, fabric="tcpx"),
    "gke.secureBoot": option("gke", "secureBoot", False),
    "gke.confidential": option(
        "gke", "confidential", True, instanceTypes=["a3-highgpu-1g"], capacity=[{"spot": {}}]
    ),
    "gke.maxPods": option("gke", "maxPods", 32),
    "gke.tpuTopology": option("gke", "tpuTopology", "4x4", **TPU),
    "gke.imported": Row(
        "`imported: manage` with `importId`",
        {**IMPORTED, "gke": {"imported": "manage"}},
        base=IMPORTED,
    ),
    "gke.nodePool": Row(
        "`nodePool: {nodeConfig: {loggingVariant: MAX_THROUGHPUT}}`",
        {"gke": {"nodePool": {"nodeConfig": {"loggingVariant": "MAX_THROUGHPUT"}}}},
    ),
}

EKS: dict[str, Row] = {
    "eks.releaseVersion": option("eks", "releaseVersion", "1.36.0-20261101"),
    "eks.amiId": option("eks", "amiId", "ami-0123456789abcdef0"),
    "eks.placementGroup": option("eks", "placementGroup", True, **H100["eks"]),
    "eks.update": option("eks", "update", {"strategy": "surge"}),
    "eks.nodeRepair": option("eks", "nodeRepair", False),
    "eks.metadataHopLimit": option("eks", "metadataHopLimit", 2),
    "eks.localStorage": option("eks", "localStorage", "none"),
    "eks.kmsKeyArn": option("eks", "kmsKeyArn", KEY),
    "eks.fastImagePull": option("eks", "fastImagePull", True),
    "eks.imported": Row(
        "`imported: manage` with `importId`",
        {"importId": "ml:old", "eks": {"imported": "manage"}},
        base={"importId": "ml:old"},
    ),
    "eks.nodeGroup": Row(
        "`nodeGroup: {forceUpdateVersion: true}`",
        {"eks": {"nodeGroup": {"forceUpdateVersion": True}}},
    ),
    "eks.launchTemplate": Row(
        '`launchTemplate: {ebsOptimized: "true"}`',
        {"eks": {"launchTemplate": {"ebsOptimized": "true"}}},
    ),
}

OPENSHIFT_AWS: dict[str, Row] = {
    "openshiftAws.rollout": option("openshiftAws", "rollout", "surge"),
    "openshiftAws.health": option("openshiftAws", "health", {"unhealthySeconds": 600}),
    "openshiftAws.machineConfig": option("openshiftAws", "machineConfig", {"maxUnavailable": 2}),
    "openshiftAws.amiId": option("openshiftAws", "amiId", "ami-0123456789abcdef0"),
    "openshiftAws.volumeType": option("openshiftAws", "volumeType", "gp2"),
    "openshiftAws.iops": option("openshiftAws", "iops", 6000),
    "openshiftAws.throughputMib": option("openshiftAws", "throughputMib", 500),
    "openshiftAws.kmsKeyArn": option("openshiftAws", "kmsKeyArn", KEY),
    "openshiftAws.placementGroup": option("openshiftAws", "placementGroup", "near"),
    "openshiftAws.placementGroupPartition": Row(
        "`placementGroupPartition: 2` with `placementGroup`",
        {"openshiftAws": {"placementGroup": "apart", "placementGroupPartition": 2}},
        base={"openshiftAws": {"placementGroup": "apart"}},
    ),
    "openshiftAws.tenancy": option("openshiftAws", "tenancy", "dedicated"),
    "openshiftAws.metadataTokens": option("openshiftAws", "metadataTokens", "optional"),
}

SPOT = {"capacity": [{"spot": {}}]}
OPENSHIFT_GCP: dict[str, Row] = {
    "openshiftGcp.rollout": option("openshiftGcp", "rollout", "surge"),
    "openshiftGcp.health": option("openshiftGcp", "health", {"unhealthySeconds": 600}),
    "openshiftGcp.machineConfig": option("openshiftGcp", "machineConfig", {"maxUnavailable": 2}),
    "openshiftGcp.image": option("openshiftGcp", "image", "projects/p/global/images/rhcos"),
    "openshiftGcp.diskType": option("openshiftGcp", "diskType", "pd-ssd"),
    "openshiftGcp.spotModel": option("openshiftGcp", "spotModel", "spot", **SPOT),
}
