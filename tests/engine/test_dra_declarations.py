"""Declarations of claims at Kubernetes 1.33 to 1.37: accepted by the server, allocated by the
scheduler, and `check` agrees. `dra_declarations.yaml` has each with the example it follows.

The server is that of 1.36, which emulates its three predecessors; objects for 1.37 are compared
with the schemas of that version alone. The scheduler allocates from the simulated driver's slices.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet.contract.schemas.newer_fields import newer_problems
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.findings import Severity
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.render.dra import claims, device_classes
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_sandbox.api_server import ApiServer
from tests.engine.all_definitions import create
from tests.engine.conftest import Project
from tests.engine.test_dra import Cluster, api, driver, fleet, labels, namespace
from tests.engine.test_dra_before_v1 import PLURALS, emulated
from tests.engine.waiting import until
from tests.unit.render.test_dra_before_v1 import V1BETA1

pytestmark = pytest.mark.sandbox
__all__ = ["api", "fleet", "namespace"]  # fixtures

ROWS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("dra_declarations.yaml").read_text(encoding="utf-8")
)
MINORS = ("1.33", "1.34", "1.35", "1.36")
"""Versions that the server can emulate."""
DRIVER_GATES = {"MPSSupport": True, "TimeSlicingSettings": True}


def compiled(row: dict[str, Any], minor: str) -> Compiled:
    pool = {
        "name": "claims",
        "gpu": "H100-80GB",
        "gpusPerNode": row["gpus"],
        "nodes": {"min": 2, "max": 2},
        "sharing": {"dra": {"namespaces": ["default"], **row.get("dra", {})}},
        "vsphere": {"cpus": 64, "memoryGib": 512, "template": "ubuntu"},
    }
    cluster = {"name": "c", "kubernetesVersion": minor, "featureGates": row.get("gates", {})}
    return compile_data(
        {"catalogue": "2026.11", "platform": "vsphere", "cluster": cluster, "pools": [pool]}
    )


def manifests(row: dict[str, Any], minor: str) -> list[dict[str, Any]]:
    """Classes and claims as they are rendered; none where the declaration is refused."""
    result = compiled(row, minor)
    errors = {one.code for one in result.findings if one.severity is Severity.ERROR}
    assert errors == ({row["refused"]} if "refused" in row else set()), row["name"]
    if result.fleet is None or errors:
        return []
    return [*device_classes(result.fleet), *claims(result.fleet)]


def of_minor(minor: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if minor in row["minors"]]


def test_there_are_thirty_with_sources() -> None:
    assert len({row["name"] for row in ROWS}) == len(ROWS) >= 30
    assert all(row["source"] for row in ROWS)
    assert len([row for row in ROWS if "pods" in row]) >= 18


@pytest.mark.parametrize("minor", [*MINORS, "1.37"])
def test_check_agrees(minor: str) -> None:
    """With the gates of cluster and driver that the declaration needs."""
    major, number = map(int, minor.split("."))
    for row in of_minor(minor):
        made = manifests(row, minor)
        classes = {one["metadata"]["name"] for one in made if one["kind"] == "DeviceClass"}
        place = {
            "kubernetesVersion": minor,
            "featureGates": {**DRIVER_GATES, **row.get("gates", {})},
        }
        for one in made:
            found = validate_text("dra-config", json.dumps(one), context=place).findings
            kept = [
                f
                for f in found
                if f.code != "dra-class-unknown" or f.evidence["value"] not in classes
            ]
            assert kept == [], (row["name"], kept)
            problems = [*schema_problems(one), *newer_problems(one, (major, number))]
            assert problems == [], (row["name"], problems)


@contextmanager
def server_of(folder: Path, minor: str, gates: dict[str, bool]) -> Iterator[ApiServer]:
    with emulated(folder, V1BETA1, minor=minor, **gates) as server:
        admits = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        path, kind = "/api/v1/namespaces/default", "application/merge-patch+json"
        server.request("PATCH", path, json.dumps(admits).encode(), content_type=kind)
        yield server


@pytest.mark.parametrize("minor", MINORS)
def test_the_server_accepts(tmp_path: Path, minor: str) -> None:
    rows = of_minor(minor)
    gates = {name: on for row in rows for name, on in row.get("gates", {}).items()}
    with server_of(tmp_path, minor, gates) as server:
        for row in rows:
            for one in manifests(row, minor):
                path = f"/apis/{one['apiVersion']}/{PLURALS[one['kind']]}"
                answer = create(server, path, one)
                assert answer.status == 201, (row["name"], answer)
                said = [text for text in answer.warnings if "is deprecated" not in text]
                assert said == [], (row["name"], answer)


def as_python(value: Any) -> Any:
    """Keys of a file as arguments of a component are spelled."""
    if isinstance(value, list):
        return [as_python(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key if "." in key else "".join(f"_{c.lower()}" if c.isupper() else c for c in key): (
            as_python(inner)
        )
        for key, inner in value.items()
    }


@pytest.mark.parametrize("row", [one for one in ROWS if "pods" in one], ids=lambda row: row["name"])
def test_the_scheduler_allocates(
    api: client.ApiClient, shared_project: Project, fleet: Cluster, row: dict[str, Any]
) -> None:
    admits = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    client.CoreV1Api(api).patch_namespace(fleet.namespace, admits)
    declared = as_python(row.get("dra", {}))
    shared_project.write(driver(fleet.namespace, declared, row["gpus"]))
    shared_project.run("up")
    fleet.node(row["gpus"], labels({k: v for k, v in declared.items() if k != "claims"}))
    until(lambda: fleet.driver().startswith("running"), lambda: f"driver: {fleet.driver()}")
    for number, pod in enumerate(row["pods"]):
        name = f"pod-{number}"
        if "resource" in pod:
            fleet.asking(name, pod["resource"], pod.get("count", 1))
        elif pod["claim"].rpartition("-")[2].isdigit():
            fleet.sharing(name, f"claims-{pod['claim']}")
        else:
            fleet.claiming(name, f"claims-{pod['claim']}")
        if pod["runs"]:
            fleet.running(name)
        else:
            fleet.stays_pending(name, "cannot allocate all claims")
    given = allocated(fleet)
    wanted = row["devices"]
    if isinstance(wanted, int):
        assert len(given) == wanted, given
    else:
        assert sorted(one.split("-mig-")[1].split("-")[0] for one in given) == sorted(wanted)


def allocated(cluster: Cluster) -> list[str]:
    """Every device of every claim."""
    listed: Any = cluster.custom.list_namespaced_custom_object(
        "resource.k8s.io", "v1", cluster.namespace, "resourceclaims"
    )
    devices: list[Any] = [
        ((one.get("status") or {}).get("allocation") or {}).get("devices") or {}
        for one in listed["items"]
    ]
    return [result["device"] for one in devices for result in one.get("results") or []]
