"""`gpufleet preflight` on GKE: real clients, responses in the recorded shapes of Google's APIs."""

import json
import re
from pathlib import Path
from typing import Any

import google.auth
import pytest
import responses
import yaml
from click.testing import CliRunner
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError

from gpufleet.cli.preflight import command
from tests.exit_status import exit_status

PROJECT = "lab"
COMPUTE = f"https://compute.googleapis.com/compute/v1/projects/{PROJECT}"
CLUSTER = (
    f"https://container.googleapis.com/v1/projects/{PROJECT}/locations/us-central1/clusters/ml"
)
L4 = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}}
RESERVED = {
    "name": "training",
    "instanceTypes": ["a3-highgpu-8g"],
    "nodes": {"min": 0, "max": 4},
    "capacity": [{"reserved": {"id": "gpus", "zone": "us-central1-a"}}],
}
RESERVATION: dict[str, Any] = {
    "name": "gpus",
    "status": "READY",
    "zone": "us-central1-a",
    "specificReservationRequired": True,
    "specificReservation": {
        "count": "4",
        "inUseCount": "0",
        "instanceProperties": {"machineType": "a3-highgpu-8g"},
    },
}


class Project:
    """A Google project with the given responses."""

    def __init__(self, folder: Path, http: Any) -> None:
        self.folder, self._http = folder, http
        self.version = "1.36.1-gke.1234000"
        self.network = {"datapathProvider": "ADVANCED_DATAPATH", "enableMultiNetworking": True}
        self.channel = "REGULAR"
        self.zones = ["us-central1-a", "us-central1-b"]
        self.offered = set(self.zones)
        self.quotas: dict[str, tuple[float, float]] = {
            "NVIDIA_L4_GPUS": (100, 0),
            "PREEMPTIBLE_NVIDIA_L4_GPUS": (100, 0),
            "NVIDIA_T4_GPUS": (100, 0),
        }
        self.everywhere = 100.0
        self.reservation: dict[str, Any] | None = RESERVATION
        self.block: dict[str, Any] | None = None
        self.denied: set[str] = set()
        self.node_pools: list[dict[str, Any]] = []
        self.autopilot = False
        self.declared_autopilot = False

    def ask(self, *pools: dict[str, Any]) -> dict[str, Any]:
        """JSON of the command over a fleet of these pools."""
        self._answer()
        cluster = {"name": "ml", "region": "us-central1", "project": PROJECT}
        spec = {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {**cluster, **({"autopilot": True} if self.declared_autopilot else {})},
            "pools": list(pools),
        }
        file = self.folder / "fleet.yaml"
        file.write_text(yaml.safe_dump(spec))
        result = CliRunner().invoke(command, [str(file), "--format", "json"])
        assert exit_status(result) in (0, 1, 2), result.output
        answer = json.loads(result.stdout)
        codes = {one["code"]: one for one in answer["findings"]}
        failed = any(one["severity"] == "error" for one in answer["findings"])
        assert exit_status(result) == (int(failed) if answer["asked"] else 2)
        return {"codes": codes, "asked": answer["asked"], "findings": answer["findings"]}

    def _answer(self) -> None:
        quotas = [
            {"metric": metric, "limit": limit, "usage": used}
            for metric, (limit, used) in self.quotas.items()
        ]
        cluster = {
            "name": "ml",
            "currentMasterVersion": self.version,
            "locations": self.zones,
            "networkConfig": self.network,
            "releaseChannel": {"channel": self.channel},
            "nodePools": self.node_pools,
            "autopilot": {"enabled": self.autopilot},
        }
        everywhere = [{"metric": "GPUS_ALL_REGIONS", "limit": self.everywhere, "usage": 0}]
        self._get("clusters", re.compile(re.escape(CLUSTER) + r"(\?.*)?$"), cluster)
        self._get("regions", _exactly(f"{COMPUTE}/regions/us-central1"), {"quotas": quotas})
        self._get("projects", _exactly(COMPUTE), {"quotas": everywhere})
        for zone in (*self.zones, "us-central1-c"):
            there = zone in self.offered
            for kind in ("machineTypes", "acceleratorTypes"):
                at = re.compile(re.escape(f"{COMPUTE}/zones/{zone}/{kind}/") + ".*")
                self._get("machines", at, {"name": "it"} if there else None)
        at = f"{COMPUTE}/zones/us-central1-a/reservations/gpus"
        self._get("reservations", _exactly(at), self.reservation)
        block = None if self.block is None else {"resource": self.block}
        self._get("reservations", re.compile(re.escape(f"{at}/reservationBlocks/") + ".*"), block)

    def _get(self, kind: str, url: Any, body: dict[str, Any] | None) -> None:
        if kind in self.denied:
            refusal = {"error": {"code": 403, "message": "Required permission is missing"}}
            self._http.add(responses.GET, url, json=refusal, status=403)
        elif body is None:
            missing = {"error": {"code": 404, "message": "The resource was not found"}}
            self._http.add(responses.GET, url, json=missing, status=404)
        else:
            self._http.add(responses.GET, url, json=body)


def _exactly(url: str) -> Any:
    return re.compile(re.escape(url) + r"(\?.*)?$")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), None))
    with responses.RequestsMock(assert_all_requests_are_fired=False) as http:
        yield Project(tmp_path, http)


def test_nothing_stands_in_the_way(project: Project) -> None:
    answer = project.ask(L4, RESERVED)
    assert answer["findings"] == []
    assert answer["asked"] == [
        "cluster ml",
        "g2-standard-4 in us-central1-a",
        "g2-standard-4 in us-central1-b",
        "a3-highgpu-8g in us-central1-a",
        "reservation gpus",
        "GPU quotas of us-central1",
        "the quota GPUS_ALL_REGIONS",
    ]


def test_what_is_offered_nowhere_is_an_error_and_somewhere_a_warning(project: Project) -> None:
    project.offered = {"us-central1-b"}
    some = project.ask(L4)["codes"]["instance-type-not-everywhere"]
    assert (some["severity"], some["evidence"]["found"]) == ("warning", ["us-central1-a"])
    project.offered = set()


def test_not_offered(project: Project) -> None:
    project.offered = set()
    none = project.ask(L4)["codes"]["instance-type-not-offered"]
    assert none["severity"] == "error"
    assert "g2-standard-4 with L4 is not offered in us-central1-a, us-central1-b" in none["message"]


def test_attached_accelerators_are_asked_for_too(project: Project) -> None:
    pool = {**L4, "gpu": "T4", "gpusPerNode": 1, "instanceTypes": ["n1-standard-8"]}
    asked = project.ask(pool)["asked"]
    assert "n1-standard-8 in us-central1-a" in asked
    assert "nvidia-tesla-t4 in us-central1-a" in asked


def test_quota_short_tight_and_of_the_right_purchase(project: Project) -> None:
    project.quotas["NVIDIA_L4_GPUS"] = (3, 0)
    short = project.ask(L4)["codes"]["gpu-quota-short"]
    assert short["path"] == "pools[0].nodes.max"
    assert (short["evidence"]["found"], short["evidence"]["limit"]) == (4, 3)


def test_spot_draws_on_the_preemptible_quota(project: Project) -> None:
    project.quotas["NVIDIA_L4_GPUS"] = (0, 0)
    project.quotas["PREEMPTIBLE_NVIDIA_L4_GPUS"] = (6, 3)
    answer = project.ask({**L4, "capacity": [{"spot": {}}]})
    assert list(answer["codes"]) == ["gpu-quota-tight"]
    assert "PREEMPTIBLE_NVIDIA_L4_GPUS" in answer["codes"]["gpu-quota-tight"]["message"]


def test_the_quota_of_all_regions_counts_all_pools(project: Project) -> None:
    project.everywhere = 7
    answer = project.ask(L4, {**L4, "name": "other"})
    evidence = answer["codes"]["gpu-quota-short"]["evidence"]
    assert {key: evidence[key] for key in ("found", "limit", "used")} == {
        "found": 8,
        "limit": 7,
        "used": 0,
    }
    assert evidence["pools"] == ["chat", "other"]


def test_gpus_without_a_metric_are_reported_as_unchecked(project: Project) -> None:
    pool = {"name": "h", "instanceTypes": ["a3-highgpu-8g"], "nodes": {"min": 0, "max": 2}}
    unchecked = project.ask(pool)["codes"]["could-not-check"]
    assert "Cloud Quotas" in unchecked["message"]
    assert "16 GPUs" in unchecked["fix"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (None, "reservation-not-found"),
        ({"status": "CREATING"}, "reservation-not-ready"),
        ({"specificReservationRequired": False}, "reservation-not-specific"),
        (
            {
                "specificReservation": {
                    "count": "4",
                    "inUseCount": "2",
                    "instanceProperties": {"machineType": "a3-highgpu-8g"},
                }
            },
            "reservation-full",
        ),
        (
            {
                "specificReservation": {
                    "count": "4",
                    "instanceProperties": {"machineType": "a3-megagpu-8g"},
                }
            },
            "reservation-of-other-machine",
        ),
    ],
)
def test_a_reservation_that_does_not_serve(project: Project, change: Any, code: str) -> None:
    project.reservation = None if change is None else {**RESERVATION, **change}
    found = project.ask(RESERVED)["codes"][code]
    assert found["severity"] == "error"
    assert found["path"].startswith("pools[0].")


def test_a_block_has_its_own_room(project: Project) -> None:
    pool = {
        **RESERVED,
        "capacity": [{"reserved": {"id": "gpus", "zone": "us-central1-a", "blocks": ["b-1"]}}],
    }
    assert "reservation-block-not-found" in project.ask(pool)["codes"]
    project._http.reset()
    project.block = {"name": "b-1", "count": 2, "inUseCount": 1}
    full = project.ask(pool)["codes"]["reservation-full"]
    assert (full["evidence"]["found"], full["evidence"]["limit"]) == (4, 1)


def test_versions_that_are_too_old_or_other(project: Project) -> None:
    project.version = "1.29.4-gke.100"
    codes = project.ask(L4)["codes"]
    assert codes["cluster-version-differs"]["fix"] == 'write kubernetesVersion: "1.29"'
    assert codes["cluster-too-old"]["evidence"]["limit"] == "1.30.1-gke.1156000"


def test_gpudirect_needs_a_cluster_made_for_it(project: Project) -> None:
    project.network = {"datapathProvider": "LEGACY_DATAPATH"}
    codes = project.ask({**RESERVED, "fabric": "tcpx"})["codes"]
    assert codes["cluster-without-dataplane-v2"]["path"] == "pools[0].fabric"
    assert "cluster-without-multi-networking" in codes


def test_autopilot_makes_node_pools_itself(project: Project) -> None:
    project.autopilot = True
    assert project.ask({**L4, "provisioner": "computeClass"})["findings"] == []
    refused = project.ask(L4)["codes"]["autopilot-makes-node-pools"]
    assert (refused["path"], refused["severity"]) == ("pools[0].provisioner", "error")


def test_a_standard_cluster_is_not_taken_for_autopilot(project: Project) -> None:
    project.declared_autopilot = True
    pool = {**L4, "provisioner": "computeClass"}
    refused = project.ask(pool)["codes"]["cluster-is-standard"]
    assert (refused["path"], refused["severity"]) == ("cluster.autopilot", "error")
    project.autopilot = True
    assert "cluster-is-standard" not in project.ask(pool)["codes"]


def test_autopilot_refuses_the_operator(project: Project) -> None:
    project.autopilot = True
    refused = project.ask({**L4, "gke": {"driver": "gpuOperator"}})["codes"]
    assert refused["autopilot-refuses-privileges"]["path"] == "addons.gpuOperator"


def test_what_may_not_be_asked_is_never_taken_for_good(project: Project) -> None:
    project.denied = {"clusters", "machines", "regions", "projects", "reservations"}
    answer = project.ask({**L4, "zones": ["us-central1-a"]}, RESERVED)
    assert answer["asked"] == []
    assert {one["code"] for one in answer["findings"]} == {"could-not-check"}
    needed = {one["fix"] for one in answer["findings"]}
    assert "allow compute.reservations.get" in needed
    assert "allow container.clusters.get" in needed
    assert [f["message"] for f in answer["findings"] if "403" not in f["message"]] == []


def test_without_credentials_nothing_can_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(**_: Any) -> Any:
        raise DefaultCredentialsError("not found")

    monkeypatch.setattr(google.auth, "default", none)
    spec = {
        "catalogue": "2026.11",
        "platform": "gke",
        "cluster": {"name": "ml", "region": "us-central1"},
        "pools": [L4],
    }
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump(spec))
    result = CliRunner().invoke(command, [str(file)])
    assert "gcloud auth application-default login" in str(result.exception)


OLD = {
    "name": "by-hand",
    "config": {
        "machineType": "g2-standard-4",
        "spot": True,
        "accelerators": [
            {
                "acceleratorType": "nvidia-l4",
                "acceleratorCount": "1",
                "gpuSharingConfig": {
                    "gpuSharingStrategy": "TIME_SHARING",
                    "maxSharedClientsPerGpu": "4",
                },
            }
        ],
    },
}
TAKEN_OVER = {
    **L4,
    "importId": f"{PROJECT}/us-central1/ml/by-hand",
    "capacity": [{"spot": {}}],
    "sharing": {"timeSlicing": {"replicas": 4}},
}


def test_a_node_pool_that_is_taken_over_is_what_the_fleet_says(project: Project) -> None:
    project.node_pools = [OLD]
    assert project.ask(TAKEN_OVER)["findings"] == []


def test_what_a_node_pool_is_and_is_not_declared_to_be(project: Project) -> None:
    project.node_pools = [OLD]
    declared = {**TAKEN_OVER, "capacity": [], "sharing": {"mps": {"replicas": 2}}}
    told = [one["message"] for one in project.ask(declared)["findings"]]
    kept = ": an imported node pool keeps its value"
    assert told == [
        f"by-hand has clients 4 by TIME_SHARING, and the pool declares 2 by MPS{kept}",
        f"by-hand has spot true, and the pool declares false{kept}",
    ]


def test_a_node_pool_that_is_not_there_is_not_taken_over(project: Project) -> None:
    project.node_pools = [OLD]
    missing = project.ask({**TAKEN_OVER, "importId": "us-central1/ml/other"})["codes"]
    finding = missing["import-not-found"]
    assert (finding["path"], finding["fix"]) == ("pools[0].importId", "one of by-hand")


@pytest.mark.parametrize(
    ("pool", "version", "floor"),
    [
        ({**L4, "sharing": {"timeSlicing": {"replicas": 2}}}, "1.22.9", "1.23.7-gke.1400"),
        ({**L4, "sharing": {"mps": {"replicas": 2}}}, "1.27.6", "1.27.7-gke.1088000"),
        (
            {**L4, "gpu": None, "instanceTypes": ["tpu7x-standard-4t"]},
            "1.33.9",
            "1.34.0-gke.2201000",
        ),
        ({**L4, "gpu": None, "instanceTypes": ["g4-standard-6"]}, "1.35.1", "1.35.2-gke.1485000"),
    ],
)
def test_what_a_release_does_not_have_yet(
    project: Project, pool: dict[str, Any], version: str, floor: str
) -> None:
    project.version = f"{version}-gke.1"
    old = [
        one["evidence"]["limit"]
        for one in project.ask(pool)["findings"]
        if one["code"] == "cluster-too-old"
    ]
    assert floor in old


def test_a_release_channel_upgrades_all_nodes(project: Project) -> None:
    manual = {**L4, "gke": {"autoUpgrade": False}}
    refused = project.ask(manual)["codes"]["gke-auto-upgrade-off-in-channel"]
    assert (refused["path"], refused["severity"]) == ("pools[0].gke.autoUpgrade", "error")
    assert "gke-auto-upgrade-off-in-channel" not in project.ask(L4)["codes"]
    project.channel = "UNSPECIFIED"
    assert "gke-auto-upgrade-off-in-channel" not in project.ask(manual)["codes"]
