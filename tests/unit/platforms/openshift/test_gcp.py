"""OpenShift on Google Cloud: rules of pools, and the machines requested from the machine API.

Expected fields and limits are those of openshift/api bfa868a `types_gcpprovider.go`,
openshift/machine-api-provider-gcp 00e1f30 `reconciler.go` and openshift/machine-api-operator
7dc0e85 `machine_webhook.go`, read 2026-11-23.
"""

from typing import Any

import pytest

from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.openshift.gcp.machines import OnGcp
from gpufleet.platforms.openshift.machine_clouds import zones_of
from gpufleet.platforms.openshift.machine_set_manifest import machine_set
from tests.unit.platforms.openshift.clouds import (
    GCP_PLACE,
    GCP_SLICES,
    GCP_TURNS,
    declaration,
    fleet,
)

A100 = {k: v for k, v in GCP_SLICES.items() if k != "sharing"}


def sets(pool: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    made = fleet("openshiftGcp", pool, **more)
    place = OnGcp().place(GCP_PLACE, made.spec)
    one = made.pools[0]
    return [machine_set(one, "ocp", place, zone) for zone in zones_of(one)]


def machine(pool: dict[str, Any], **more: Any) -> dict[str, Any]:
    return sets(pool, **more)[0]["spec"]["template"]["spec"]["providerSpec"]["value"]


@pytest.mark.parametrize(
    ("code", "path", "broken", "accepted"),
    [
        ("openshift-zones-missing", "zones", {"zones": []}, {}),
        ("zone-not-of-region", "zones[0]", {"zones": ["us-east1-b"]}, {}),
        (
            "openshift-machine-needs-hyperdisk",
            "instanceTypes",
            {"instanceTypes": ["a3-ultragpu-8g"]},
            {"instanceTypes": ["a3-highgpu-8g"], "capacity": [{"spot": {}}]},
        ),
        (
            "openshift-disk-type",
            "openshiftGcp.diskType",
            {
                "instanceTypes": ["a3-highgpu-8g"],
                "capacity": [{"spot": {}}],
                "openshiftGcp": {"diskType": "pd-standard"},
            },
            {"openshiftGcp": {"diskType": "pd-ssd"}},
        ),
        (
            "openshift-preemptible-ends",
            "openshiftGcp.spotModel",
            {"capacity": [{"spot": {}}]},
            {"capacity": [{"spot": {}}], "openshiftGcp": {"spotModel": "spot"}},
        ),
        (
            "capacity-not-on-platform",
            "capacity[0].reserved",
            {"capacity": [{"reserved": {"id": "gpus", "zone": "us-central1-a"}}]},
            {},
        ),
        (
            "spot-price-not-on-platform",
            "capacity[0].spot.maxPriceUsdPerHour",
            {"capacity": [{"spot": {"maxPriceUsdPerHour": "1"}}]},
            {},
        ),
        ("fabric-not-on-platform", "fabric", {"fabric": "tcpx"}, {}),
        (
            "gke-host-missing",
            "instanceTypes",
            {"gpu": "T4", "instanceTypes": []},
            {"gpu": "T4", "instanceTypes": ["n1-standard-4"]},
        ),
    ],
)
def test_rules_of_pools(
    code: str, path: str, broken: dict[str, Any], accepted: dict[str, Any]
) -> None:
    def found(pool: dict[str, Any]) -> dict[str, Any]:
        made = compile_data(declaration("openshiftGcp", {**A100, **pool}))
        return {one.code: one for one in made.findings}

    assert code not in found(accepted)
    assert found(broken)[code].path == f"pools[0].{path}"
    assert found(broken)[code].fix


def test_attached_gpus() -> None:
    made = machine(GCP_TURNS, tags={"cost-center": "4711"})
    assert made == {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "GCPMachineProviderSpec",
        "machineType": "n1-standard-8",
        "onHostMaintenance": "Terminate",
        "restartPolicy": "Always",
        "shieldedInstanceConfig": {"secureBoot": "Disabled"},
        "gpus": [{"type": "nvidia-tesla-t4", "count": 2}],
        "region": "us-central1",
        "zone": "us-central1-a",
        "projectID": "acme",
        "canIPForward": False,
        "deletionProtection": False,
        "disks": [
            {
                "autoDelete": True,
                "boot": True,
                "image": "projects/rhcos-cloud/global/images/rhcos-422",
                "sizeGb": 200,
                "type": "pd-balanced",
                "labels": {"cost-center": "4711", "gpufleet-dev-pool": "turns"},
            }
        ],
        "labels": {"cost-center": "4711", "gpufleet-dev-pool": "turns"},
        "networkInterfaces": [
            {"network": "ocp-x7k2p-network", "subnetwork": "ocp-x7k2p-worker-subnet"}
        ],
        "serviceAccounts": [
            {
                "email": "ocp-x7k2p-w@acme.iam.gserviceaccount.com",
                "scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            }
        ],
        "tags": ["ocp-x7k2p-worker"],
        "credentialsSecret": {"name": "gcp-cloud-credentials"},
        "userDataSecret": {"name": "worker-user-data"},
    }


@pytest.mark.parametrize(
    ("pool", "fields", "absent"),
    [
        ({}, {"machineType": "a2-ultragpu-1g", "onHostMaintenance": "Terminate"}, "gpus"),
        ({"instanceTypes": ["g2-standard-8"]}, {"machineType": "g2-standard-8"}, "gpus"),
        (
            {"capacity": [{"spot": {}}]},
            {"preemptible": True, "restartPolicy": "Never"},
            "provisioningModel",
        ),
        (
            {"capacity": [{"spot": {}}], "openshiftGcp": {"spotModel": "spot"}},
            {"provisioningModel": "Spot", "restartPolicy": "Never"},
            "preemptible",
        ),
    ],
)
def test_what_a_declaration_makes_of_the_machine(
    pool: dict[str, Any], fields: dict[str, Any], absent: str
) -> None:
    made = machine({**A100, **pool})
    assert {key: made[key] for key in fields} == fields
    assert absent not in made
    assert schema_problems(sets({**A100, **pool})[0]) == ()


def test_an_a3_boots_from_ssd() -> None:
    h100 = {**A100, "instanceTypes": ["a3-highgpu-8g"], "capacity": [{"spot": {}}]}
    assert machine(h100)["disks"][0]["type"] == "pd-ssd"


def test_what_an_empty_set_promises() -> None:
    annotations = sets(GCP_TURNS)[1]["metadata"]["annotations"]
    assert annotations["machine.openshift.io/GPU"] == "2"
    assert annotations["capacity.cluster-autoscaler.kubernetes.io/gpu-count"] == "8"
    big = sets({**A100, "nodes": {"min": 0, "max": 1}})[0]["metadata"]["annotations"]
    assert big["machine.openshift.io/vCPU"] == "12"
    assert big["machine.openshift.io/memoryMb"] == str(170 * 1024)


def test_slices_of_an_a100() -> None:
    made = fleet("openshiftGcp", GCP_SLICES)
    assert dict(made.pools[0].advertised) == {"nvidia.com/mig-1g.10gb": 7}


def test_prices_are_those_of_the_machine_types() -> None:
    """One fact in one place: what GKE pays for the machine, OpenShift pays."""
    gke = compile_data({**declaration("openshiftGcp", A100), "platform": "gke"}).fleet
    assert gke is not None
    assert fleet("openshiftGcp", A100).pools[0].hourly_usd == gke.pools[0].hourly_usd is not None


def test_a_connection_without_an_image() -> None:
    made = fleet("openshiftGcp", A100)
    given = {key: value for key, value in GCP_PLACE.items() if key != "image"}
    assert list(OnGcp().validate_place(made.pools[0], GCP_PLACE, "connection")) == []
    (found,) = OnGcp().validate_place(made.pools[0], given, "connection")
    assert (found.code, found.path) == ("openshift-image-missing", "connection.image")
