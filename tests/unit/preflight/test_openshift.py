"""`gpufleet preflight` of OpenShift on clouds: the real Kubernetes client against an HTTP server.

MachineSets and Infrastructures are as openshift/installer makes them (`pkg/asset/machines/aws`,
`machines/gcp`; openshift/api a0259ee `config/v1/types_infrastructure.go`).
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import google.auth
import pytest
import responses
import yaml
from click.testing import CliRunner
from google.auth.credentials import AnonymousCredentials

from gpufleet.cli.preflight import command
from gpufleet.platforms.openshift.aws.machines import OnAws
from gpufleet.platforms.openshift.gcp.machines import OnGcp
from gpufleet.platforms.openshift.machine_clouds import zones_of
from gpufleet.platforms.openshift.machine_set_manifest import machine_set
from tests.exit_status import exit_status
from tests.reading import yaml_data
from tests.unit.platforms.openshift.clouds import (
    AWS_CHAT,
    BLOCK,
    GCP_PLACE,
    GCP_SLICES,
    GCP_TURNS,
    declaration,
    fleet,
)
from tests.unit.preflight.aws_account import Account
from tests.unit.preflight.openshift_cluster import INFRASTRUCTURE, MACHINES, OpenShiftCluster
from tests.unit.preflight.test_google import COMPUTE

Ask = Callable[..., dict[str, Any]]
MACHINE_API = "openshift-machine-api"


def installed(kind: str, name: str, machine: dict[str, Any], pool: str = "") -> dict[str, Any]:
    """A MachineSet as the installer makes it; with `pool`, one of gpufleet."""
    labels = {"machine.openshift.io/cluster-api-cluster": "ocp-x7k2p"}
    if pool:
        labels["gpufleet.dev/pool"] = pool
    value = {"apiVersion": "machine.openshift.io/v1beta1", "kind": kind, **machine}
    return {
        "metadata": {"name": name, "namespace": MACHINE_API, "labels": labels},
        "spec": {"replicas": 1, "template": {"spec": {"providerSpec": {"value": value}}}},
    }


def on_aws(zone: str) -> dict[str, Any]:
    return {
        "ami": {"id": "ami-0bbbbbbbbbbbbbbbb"},
        "instanceType": "m6i.xlarge",
        "iamInstanceProfile": {"id": "ocp-x7k2p-worker-profile"},
        "placement": {"availabilityZone": zone, "region": "us-east-1"},
        "subnet": {
            "filters": [{"name": "tag:Name", "values": [f"ocp-x7k2p-subnet-private-{zone}"]}]
        },
        "securityGroups": [
            {"filters": [{"name": "tag:Name", "values": ["ocp-x7k2p-node"]}]},
            {"filters": [{"name": "tag:Name", "values": ["ocp-x7k2p-lb"]}]},
        ],
        "credentialsSecret": {"name": "aws-cloud-credentials"},
        "userDataSecret": {"name": "worker-user-data"},
    }


ON_GCP: dict[str, Any] = {
    "machineType": "n2-standard-4",
    "projectID": "lab",
    "region": "us-central1",
    "zone": "us-central1-a",
    "disks": [{"boot": True, "image": "projects/rhcos-cloud/global/images/rhcos-422"}],
    "networkInterfaces": [
        {"network": "ocp-x7k2p-network", "subnetwork": "ocp-x7k2p-worker-subnet"}
    ],
    "serviceAccounts": [{"email": "ocp-x7k2p-w@lab.iam.gserviceaccount.com", "scopes": []}],
    "tags": ["ocp-x7k2p-worker"],
}


def infrastructure(kind: str, **where: Any) -> dict[str, Any]:
    place = {"type": kind, kind.lower(): where}
    status = {
        "infrastructureName": "ocp-x7k2p",
        "controlPlaneTopology": "HighlyAvailable",
        "platformStatus": place,
    }
    return {"kind": "Infrastructure", "metadata": {"name": "cluster"}, "status": status}


@pytest.fixture
def aws_cluster() -> OpenShiftCluster:
    sets = [
        installed("AWSMachineProviderConfig", f"ocp-x7k2p-worker-{zone}", on_aws(zone))
        for zone in ("us-east-1a", "us-east-1b")
    ]
    return OpenShiftCluster(infrastructure("AWS", region="us-east-1"), sets)


@pytest.fixture
def gcp_cluster() -> OpenShiftCluster:
    sets = [installed("GCPMachineProviderSpec", "ocp-x7k2p-worker-a", ON_GCP)]
    return OpenShiftCluster(infrastructure("GCP", region="us-central1", projectID="lab"), sets)


def asked(folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    file = folder / "fleet.yaml"
    file.write_text(yaml.safe_dump(document))
    result = CliRunner().invoke(command, [str(file), "--format", "json"])
    assert exit_status(result) in (0, 1, 2), result.output
    assert "secret-token" not in result.output
    answer = json.loads(result.stdout)
    failed = any(one["severity"] == "error" for one in answer["findings"])
    assert exit_status(result) == (int(failed) if answer["asked"] else 2)
    return {**answer, "codes": {one["code"]: one for one in answer["findings"]}}


@pytest.fixture
def ask_aws(
    account: Account,
    aws_cluster: OpenShiftCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Ask]:
    """The command over a fleet of these pools, with the cluster and moto's account."""
    del account
    with aws_cluster.served(tmp_path) as kubeconfig:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        yield lambda *pools, **more: asked(tmp_path, declaration("openshiftAws", *pools, **more))


@pytest.fixture
def ask_gcp(
    gcp_cluster: OpenShiftCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ask]:
    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), None))
    quotas = [
        {"metric": f"{prefix}NVIDIA_{gpu}_GPUS", "limit": 10.0, "usage": 0.0}
        for prefix in ("", "PREEMPTIBLE_")
        for gpu in ("T4", "A100_80GB")
    ]
    everywhere = [{"metric": "GPUS_ALL_REGIONS", "limit": 10.0, "usage": 0.0}]
    with (
        gcp_cluster.served(tmp_path) as kubeconfig,
        responses.RequestsMock(assert_all_requests_are_fired=False) as http,
    ):
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        http.add(responses.GET, f"{COMPUTE}/regions/us-central1", json={"quotas": quotas})
        http.add(responses.GET, COMPUTE, json={"quotas": everywhere})
        for zone in ("us-central1-a", "us-central1-b"):
            for kind in ("machineTypes/n1-standard-8", "acceleratorTypes/nvidia-tesla-t4"):
                there = f"{COMPUTE}/zones/{zone}/{kind}"
                if zone == "us-central1-a":
                    http.add(responses.GET, there, json={"name": "it"})
                else:
                    gone = {"error": {"code": 404, "message": "not found"}}
                    http.add(responses.GET, there, json=gone, status=404)
        yield lambda *pools, **more: asked(tmp_path, declaration("openshiftGcp", *pools, **more))


CHAT = {**AWS_CHAT, "zones": ["us-east-1a", "us-east-1b"]}


def test_nothing_stands_in_the_way(ask_aws: Ask, aws_cluster: OpenShiftCluster) -> None:
    answer = ask_aws(CHAT)
    assert [(f["code"], f["severity"]) for f in answer["findings"]] == [
        ("openshift-connection", "info")
    ]
    assert answer["asked"] == [
        "version of the cluster",
        "platform and name of the cluster's infrastructure",
        f"MachineSets in {MACHINE_API}",
        "whether clusterautoscalers.autoscaling.openshift.io may be created",
        "whether machineautoscalers.autoscaling.openshift.io may be created",
        "whether machinehealthchecks.machine.openshift.io may be created",
        "whether machinesets.machine.openshift.io may be created",
        "where g6.xlarge is offered",
        "the quota L-DB2E81BA for On-Demand G and VT instances",
    ]
    assert set(aws_cluster.reviewed) == {
        ("clusterautoscalers.autoscaling.openshift.io", None),
        ("machineautoscalers.autoscaling.openshift.io", MACHINE_API),
        ("machinehealthchecks.machine.openshift.io", MACHINE_API),
        ("machinesets.machine.openshift.io", MACHINE_API),
    }
    assert aws_cluster.written == []


def test_the_connection_is_what_the_clusters_own_sets_are_wired_to(ask_aws: Ask) -> None:
    found = ask_aws(CHAT)["codes"]["openshift-connection"]
    assert found["path"] == "connection.openshiftAws"
    assert found["evidence"]["connection"] == {
        "infrastructureName": "ocp-x7k2p",
        "iamInstanceProfile": "ocp-x7k2p-worker-profile",
        "amiId": "ami-0bbbbbbbbbbbbbbbb",
        "subnetNamesByZone": {
            "us-east-1a": "ocp-x7k2p-subnet-private-us-east-1a",
            "us-east-1b": "ocp-x7k2p-subnet-private-us-east-1b",
        },
        "securityGroupNames": ["ocp-x7k2p-node", "ocp-x7k2p-lb"],
    }


@pytest.mark.parametrize(
    ("platform", "cloud", "connection"),
    [
        (
            "openshiftAws",
            OnAws(),
            {
                "infrastructureName": "ocp-x7k2p",
                "iamInstanceProfile": "p",
                "amiId": "ami-0aaaaaaaaaaaaaaaa",
                "subnetIdsByZone": {"us-east-1c": "subnet-0cccccccccccccccc"},
                "subnetNamesByZone": {"us-east-1a": "a", "us-east-1b": "b"},
                "securityGroupIds": ["sg-0dddddddddddddddd"],
                "securityGroupNames": ["ocp-x7k2p-node"],
            },
        ),
        ("openshiftGcp", OnGcp(), {**GCP_PLACE, "networkProjectId": "shared"}),
    ],
)
def test_a_connection_is_read_back_from_the_sets_it_makes(
    platform: str, cloud: Any, connection: dict[str, Any]
) -> None:
    made = fleet(platform, *([AWS_CHAT] if platform == "openshiftAws" else [GCP_TURNS]))
    (pool,) = made.pools
    place = cloud.place(connection, made.spec)
    machines = [
        machine_set(pool, "ocp", place, zone)["spec"]["template"]["spec"]["providerSpec"]["value"]
        for zone in zones_of(pool)
    ]
    assert cloud.connection_of("ocp-x7k2p", machines) == connection


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"version": "v1.34.1"}, "cluster-version-differs", "cluster.kubernetesVersion"),
        ({"infrastructure": None}, "cluster-is-no-openshift", "platform"),
        (
            {"infrastructure": infrastructure("GCP", region="us-central1")},
            "cluster-on-other-platform",
            "platform",
        ),
        (
            {"infrastructure": infrastructure("AWS", region="eu-west-1")},
            "cluster-in-other-region",
            "cluster.region",
        ),
        ({"machine_sets": None}, "machine-api-missing", "platform"),
    ],
)
def test_a_cluster_that_is_not_as_declared(
    ask_aws: Ask, aws_cluster: OpenShiftCluster, change: dict[str, Any], code: str, path: str
) -> None:
    for name, value in change.items():
        setattr(aws_cluster, name, value)
    found = ask_aws(CHAT)["codes"][code]
    assert (found["severity"], found["path"]) == ("error", path)
    assert found["fix"]


def test_a_hosted_control_plane_makes_no_machines(
    ask_aws: Ask, aws_cluster: OpenShiftCluster
) -> None:
    assert aws_cluster.infrastructure is not None
    aws_cluster.infrastructure["status"]["controlPlaneTopology"] = "External"
    codes = ask_aws(CHAT)["codes"]
    assert codes["openshift-hosted"]["severity"] == "error"
    assert "machine-api-missing" not in codes


def test_a_zone_without_a_set_has_an_unknown_subnet(ask_aws: Ask) -> None:
    pool = {**AWS_CHAT, "zones": ["us-east-1a", "us-east-1c"]}
    unchecked = ask_aws(pool)["codes"]["could-not-check"]
    assert unchecked["path"] == "pools[0].zones"
    assert "us-east-1c" in unchecked["message"]
    assert "us-east-1a" not in unchecked["message"]


def test_sets_of_gpufleet_are_not_what_to_copy_from(
    ask_aws: Ask, aws_cluster: OpenShiftCluster
) -> None:
    ours = installed("AWSMachineProviderConfig", "ocp-old", on_aws("us-east-1a"), pool="old")
    aws_cluster.machine_sets = [ours]
    codes = ask_aws(CHAT)["codes"]
    assert "openshift-connection" not in codes
    assert codes["could-not-check"]["path"] == "connection.openshiftAws"


@pytest.mark.parametrize(("owner", "refused"), [("", True), ("other", True), ("chat", False)])
def test_a_name_that_another_set_has(
    ask_aws: Ask, aws_cluster: OpenShiftCluster, owner: str, refused: bool
) -> None:
    (pool,) = fleet("openshiftAws", CHAT).pools
    spec = fleet("openshiftAws", CHAT).spec
    place = OnAws().place(OnAws().placeholders(spec), spec)
    name = machine_set(pool, "ocp", place, "us-east-1a")["metadata"]["name"]
    assert aws_cluster.machine_sets is not None
    taken = installed("AWSMachineProviderConfig", name, on_aws("us-east-1a"), pool=owner)
    aws_cluster.machine_sets.append(taken)
    assert ("machine-set-exists" in ask_aws(CHAT)["codes"]) == refused


def test_what_may_not_be_created_is_named(ask_aws: Ask, aws_cluster: OpenShiftCluster) -> None:
    aws_cluster.forbidden = {"machinesets"}
    found = ask_aws(CHAT)["codes"]["permission-missing"]
    assert found["severity"] == "warning"
    assert "machinesets.machine.openshift.io in openshift-machine-api" in found["message"]


@pytest.mark.parametrize("path", [INFRASTRUCTURE, MACHINES, "/version/"])
def test_what_may_not_be_read_is_never_taken_for_good(
    ask_aws: Ask, aws_cluster: OpenShiftCluster, path: str
) -> None:
    aws_cluster.refused = {path}
    found = ask_aws(CHAT)["codes"]["could-not-check"]
    assert "403" in found["message"]
    assert found["fix"].startswith("allow ")


@pytest.mark.parametrize("content", [None, "{", "apiVersion: v1\nkind: Config\n"])
def test_without_a_kubeconfig_the_account_is_asked_all_the_same(
    ask_aws: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    file = tmp_path / "broken"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(file))
    answer = ask_aws(CHAT)
    assert "kubeconfig" in answer["codes"]["could-not-check"]["message"]
    assert "where g6.xlarge is offered" in answer["asked"]


def test_a_cluster_that_does_not_answer(
    ask_aws: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(file))
    file.write_text(file.read_text().replace("127.0.0.1:", "127.0.0.1:1").replace(":1", ":9", 1))
    config = yaml_data(file.read_text())
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:9"
    file.write_text(yaml.safe_dump(config))
    answer = ask_aws(CHAT)
    assert "cannot be reached" in answer["codes"]["could-not-check"]["message"]


def test_the_account_is_asked_as_on_eks(ask_aws: Ask, account: Account) -> None:
    account.quota = 3.0
    short = ask_aws(CHAT)["codes"]["quota-short"]
    assert short["evidence"]["limit"] == 16  # 4 machines of 4 vCPUs
    nowhere = {**CHAT, "instanceTypes": ["p5.48xlarge"], "sharing": {"exclusive": {}}}
    nowhere = {k: v for k, v in nowhere.items() if k != "gpu"}
    assert "quota-short" in ask_aws(nowhere)["codes"]


def test_reservations_are_asked_for(ask_aws: Ask, account: Account) -> None:
    account.reservations = []
    pool = {
        "name": "train",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 4},
        "zones": ["us-east-1a"],
        "intent": "training",
        "capacity": [{"reserved": {"id": BLOCK["id"], "zone": "us-east-1a"}}],
    }
    found = ask_aws(pool)["codes"]["reservation-not-found"]
    assert found["path"] == "pools[0].capacity[0].reserved.id"


def test_google_is_asked_for_offers_and_quotas(ask_gcp: Ask) -> None:
    answer = ask_gcp(GCP_TURNS)
    some = answer["codes"]["instance-type-not-everywhere"]
    assert some["evidence"]["found"] == ["us-central1-b"]
    connection = answer["codes"]["openshift-connection"]["evidence"]["connection"]
    assert connection["projectId"] == "lab"
    assert connection["networkTags"] == ["ocp-x7k2p-worker"]
    assert "could-not-check" not in answer["codes"]
    assert "GPU quotas of us-central1" in answer["asked"]


def test_spot_draws_on_the_preemptible_quota(ask_gcp: Ask) -> None:
    pool = {**GCP_TURNS, "nodes": {"min": 0, "max": 6}, "capacity": [{"spot": {}}]}
    short = ask_gcp(pool)["codes"]["gpu-quota-short"]
    assert "PREEMPTIBLE_NVIDIA_T4_GPUS" in short["message"]
    assert short["evidence"]["found"] == 12


def test_another_project_than_the_clusters(ask_gcp: Ask) -> None:
    document = declaration("openshiftGcp", GCP_SLICES)["cluster"]
    answer = ask_gcp(GCP_TURNS, cluster={**document, "project": "other"})
    assert answer["codes"]["cluster-in-other-project"]["fix"] == "write project: lab"
