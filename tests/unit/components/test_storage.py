"""Volumes of pools: what pods say, what the cluster gets, what is refused.

Expected volumes are those of the drivers' own examples: kubernetes-sigs/aws-fsx-csi-driver
`examples/kubernetes/static_provisioning`, GoogleCloudPlatform/lustre-csi-driver and
gcs-fuse-csi-driver.
"""

from typing import Any

import pulumi
import pytest
import yaml

from gpufleet import GpuFleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from tests.unit.components.random_fleets import CONNECTIONS

FSX = {
    "id": "fs-0123456789abcdef0",
    "address": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
    "fileSystem": "fsx",
    "sizeGib": 4800,
    "namespace": "research",
}
MANAGED = {
    "id": "my-project/us-central1-a/training",
    "address": "10.90.1.4",
    "fileSystem": "lustre1",
    "sizeGib": 18000,
}


def data(platform: str, *volumes: dict[str, Any], **pool: Any) -> dict[str, Any]:
    region = "us-east-1" if platform == "eks" else "us-central1"
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "ml", "region": region},
        "pools": [
            {
                "name": "training",
                "gpu": "L4",
                "nodes": {"min": 0, "max": 2},
                "storage": list(volumes),
                **pool,
            }
        ],
    }


def files(document: dict[str, Any]) -> dict[str, str]:
    compiled = compile_data(document)
    assert compiled.deployable, compiled.findings
    assert compiled.fleet is not None
    return {one.path: one.text for one in artefacts(compiled.fleet)}


def errors(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (one.code, one.path)
        for one in compile_data(document).findings
        if one.severity.value == "error"
    ]


def test_fsx_for_lustre_is_a_volume_with_its_claim() -> None:
    made = files(data("eks", {"name": "data", "mount": "/data", "lustre": FSX}))
    volume, claim = yaml.safe_load_all(made["manifests/storage/training-data.yaml"])
    assert volume["spec"]["csi"] == {
        "driver": "fsx.csi.aws.com",
        "volumeHandle": FSX["id"],
        "volumeAttributes": {"dnsname": FSX["address"], "mountname": "fsx"},
    }
    assert volume["spec"]["capacity"] == {"storage": "4800Gi"}
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert claim["metadata"]["namespace"] == "research"
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert volume["spec"]["claimRef"] == {
        "namespace": "research",
        "name": claim["metadata"]["name"],
    }
    pod = yaml.safe_load(made["pods/training.yaml"])["spec"]
    assert pod["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
    ]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]


def test_managed_lustre_and_a_bucket_on_gke() -> None:
    lustre = {"name": "data", "mount": "/data", "lustre": MANAGED, "readOnly": True}
    bucket = {"name": "models", "mount": "/models", "bucket": {"name": "my-models"}}
    made = files(data("gke", lustre, bucket))
    volume, claim = yaml.safe_load_all(made["manifests/storage/training-data.yaml"])
    assert volume["spec"]["csi"] == {
        "driver": "lustre.csi.storage.gke.io",
        "volumeHandle": MANAGED["id"],
        "volumeAttributes": {"ip": "10.90.1.4", "filesystem": "lustre1"},
    }
    pod = yaml.safe_load(made["pods/training.yaml"])
    assert pod["metadata"]["annotations"] == {"gke-gcsfuse/volumes": "true"}
    assert pod["spec"]["volumes"] == [
        {
            "name": "data",
            "persistentVolumeClaim": {"claimName": claim["metadata"]["name"], "readOnly": True},
        },
        {
            "name": "models",
            "csi": {
                "driver": "gcsfuse.csi.storage.gke.io",
                "readOnly": False,
                "volumeAttributes": {"bucketName": "my-models", "mountOptions": "implicit-dirs"},
            },
        },
    ]
    mounts = pod["spec"]["containers"][0]["volumeMounts"]
    assert mounts[0] == {"name": "data", "mountPath": "/data", "readOnly": True}


def test_volumes_come_next_to_those_of_the_fabric() -> None:
    scratch = {"name": "scratch", "mount": "/scratch", "localNvme": {"sizeGib": 2000}}
    zones = ["us-central1-a"]
    pool = {"instanceTypes": ["a3-megagpu-8g"], "fabric": "tcpxo", "zones": zones}
    document = data("gke", scratch, **pool)
    del document["pools"][0]["gpu"]
    pod = yaml.safe_load(files(document)["pods/training.yaml"])["spec"]
    names = [one["name"] for one in pod["volumes"]]
    assert {"shared-memory", "libraries"} < set(names)
    assert pod["volumes"][-1] == {"name": "scratch", "emptyDir": {"sizeLimit": "2000Gi"}}
    assert pod["containers"][0]["volumeMounts"][-1]["mountPath"] == "/scratch"


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        (
            data("eks", {"name": "b", "mount": "/b", "bucket": {"name": "my-models"}}),
            "storage-not-on-platform",
            "pools[0].storage[0].bucket",
        ),
        (
            data("eks", {"name": "d", "mount": "/d", "lustre": {**FSX, "id": "vol-1"}}),
            "storage-id",
            "pools[0].storage[0].lustre.id",
        ),
        (
            data("gke", {"name": "d", "mount": "/d", "lustre": {**MANAGED, "id": "training"}}),
            "storage-id",
            "pools[0].storage[0].lustre.id",
        ),
        (
            data("gke", {"name": "s", "mount": "/s", "localNvme": {}}),
            "storage-no-local-nvme",
            "pools[0].storage[0].localNvme",
        ),
        (
            data(
                "eks",
                {"name": "s", "mount": "/s", "localNvme": {}},
                eks={"localStorage": "none"},
            ),
            "storage-no-local-nvme",
            "pools[0].storage[0].localNvme",
        ),
        (
            data("eks", {"name": "s", "mount": "/s", "localNvme": {"sizeGib": 100_000}}),
            "storage-larger-than-disks",
            "pools[0].storage[0].localNvme.sizeGib",
        ),
        (
            data(
                "eks",
                {"name": "d", "mount": "/d", "lustre": FSX},
                {"name": "d", "mount": "/e", "lustre": FSX},
            ),
            "storage-repeated",
            "pools[0].storage",
        ),
        (
            data("eks", {"name": "d", "mount": "/dev/shm", "lustre": FSX}),
            "storage-repeated",
            "pools[0].storage",
        ),
    ],
)
def test_what_no_pod_could_mount_is_refused(document: dict[str, Any], code: str, path: str) -> None:
    assert (code, path) in errors(document)


def test_platforms_without_drivers_refuse_volumes() -> None:
    document = data("sandbox", {"name": "d", "mount": "/d", "lustre": FSX})
    document["cluster"] = {"name": "ml"}
    assert ("storage-not-on-platform", "pools[0].storage[0].lustre") in errors(document)


@pytest.mark.parametrize("kinds", [{}, {"lustre": FSX, "localNvme": {}}])
def test_a_volume_has_one_kind(kinds: dict[str, Any]) -> None:
    (found,) = compile_data(data("eks", {"name": "d", "mount": "/d", **kinds})).findings
    assert "exactly one of lustre, bucket and localNvme" in found.message


def test_drivers_that_a_cluster_needs_are_named() -> None:
    bucket = {"name": "models", "mount": "/models", "bucket": {"name": "my-models"}}
    found = compile_data(data("gke", bucket)).findings
    (needed,) = [one for one in found if one.code == "storage-driver-needed"]
    assert needed.fix == (
        "gcloud container clusters update CLUSTER --update-addons=GcsFuseCsiDriver=ENABLED"
    )


def test_a_fleet_makes_volume_and_claim(run: Any) -> None:
    document = data("eks", {"name": "data", "mount": "/data", "lustre": FSX})
    connection: Any = CONNECTIONS["eks"]

    def program() -> None:
        inside = pulumi.ProviderResource("kubernetes", "inside", {})
        opts = pulumi.ResourceOptions(providers=[inside])
        GpuFleet("fleet", {"spec": document, "connection": connection}, opts)

    made = run(program)
    volume = made.one("kubernetes:core/v1:PersistentVolume")
    claim = made.one("kubernetes:core/v1:PersistentVolumeClaim")
    assert volume.inputs["spec"]["csi"]["driver"] == "fsx.csi.aws.com"
    assert claim.inputs["metadata"]["namespace"] == "research"


@pytest.mark.parametrize("mount", ["/data/../dev/shm", "/data/./x", "/..", "/data/.."])
def test_a_mount_has_one_spelling(mount: str) -> None:
    ((code, _),) = errors(data("eks", {"name": "d", "mount": mount, "lustre": FSX}))
    assert code == "spec-value-inconsistent"
    (one,) = compile_data(data("eks", {"name": "d", "mount": mount, "lustre": FSX})).findings
    assert f"{mount} goes by way of . or .." in one.message


@pytest.mark.parametrize(
    "kind", [{"lustre": {**FSX, "sizeGib": True}}, {"localNvme": {"sizeGib": True}}]
)
def test_true_is_no_size(kind: dict[str, Any]) -> None:
    ((code, _),) = errors(data("eks", {"name": "d", "mount": "/data", **kind}))
    assert code == "spec-value-wrong-type"
