"""Random fleets and teams under the real Kueue 0.19.2: promised quotas are admitted.

A job of one usable unit for each team and pool. If a finding states that no job is ever admitted,
Kueue refuses it too. No node is needed: Kueue admits by quota.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from kubernetes import client, config

from gpufleet.fleet import Fleet
from gpufleet.fleet.team_quotas import TeamQuota, team_quotas
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.kueue_configuration import kueue_configuration
from gpufleet.render.kueue_queues import cluster_queues, cohorts, local_queues, resource_flavor
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.kueue_controller import kueue
from tests.engine.queued_fleet import GROUP
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]
NAMESPACE = "quotas"
NEVER = "team-quota-of-nothing"


def random_fleet(number: int) -> dict[str, Any]:
    """One or two pools and up to four teams; names differ from those of other fleets."""
    draw = Random(number)
    machines: list[dict[str, Any]] = [
        {"instanceTypes": ["p5.48xlarge"], "fabric": "efa", "intent": "training"},
        {"instanceTypes": ["g6.12xlarge"]},
        {"instanceTypes": ["g6.xlarge"], "sharing": {"timeSlicing": {"replicas": 4}}},
    ]
    pools = [
        {
            "name": f"p{number}-{index}",
            "nodes": {"min": 0, "max": draw.randint(1, 4)},
            "zones": ["us-east-1a"],
            **draw.choice(machines),
        }
        for index in range(draw.randint(1, 2))
    ]
    parts = [draw.randint(1, 60) for _ in range(draw.randint(1, 4))]
    whole = max(100, sum(parts))
    teams: list[dict[str, Any]] = [
        {
            "name": f"t{number}-{index}",
            "share": round(part / whole - 0.00005, 4),
            "namespaces": [NAMESPACE],
            **draw.choice([{"borrowing": 0}, {"borrowing": 1}, {}, {}]),
            **draw.choice([{"lending": 0}, {}, {}]),
        }
        for index, part in enumerate(parts)
    ]
    if draw.random() < 0.2:
        pools[0]["team"] = teams[0]["name"]
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": pools,
        "queues": {"teams": teams, "cohort": f"c{number}"},
    }


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(sandbox.kubeconfig)) as found:
        yield found


def objects_of(fleet: Fleet) -> list[tuple[str, dict[str, Any]]]:
    return [
        *(("resourceflavors", resource_flavor(pool, fleet)) for pool in fleet.pools),
        *(("cohorts", one) for one in cohorts(fleet)),
        *(("clusterqueues", one) for one in cluster_queues(fleet)),
        *(("localqueues", one) for one in local_queues(fleet)),
    ]


def job(quota: TeamQuota, name: str) -> Any:
    amount = {quota.resource: str(quota.usable)}
    return {
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": quota.team.name}},
        "spec": {
            "suspend": True,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": {"gpufleet.dev/pool": quota.pool.name},
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "c", "image": "none", "resources": {"limits": amount}}],
                }
            },
        },
    }


def reserved(custom: Any) -> dict[str, bool]:
    """Job -> whether Kueue has reserved quota for it; jobs that it has not looked at are left
    out."""
    found: dict[str, bool] = {}
    for one in custom.list_namespaced_custom_object(*GROUP, NAMESPACE, "workloads")["items"]:
        conditions = {c["type"]: c["status"] for c in one.get("status", {}).get("conditions", [])}
        if "QuotaReserved" in conditions:
            owner = one["metadata"]["ownerReferences"][0]["name"]
            found[owner] = conditions["QuotaReserved"] == "True"
    return found


def admitted_as_promised(
    sandbox: Sandbox, api: client.ApiClient, folder: Path, numbers: range
) -> None:
    fleets: list[tuple[Fleet, set[tuple[object, object]]]] = []
    for number in numbers:
        compiled = compile_data(random_fleet(number))
        assert compiled.fleet is not None
        never = {
            (one.evidence["team"], one.evidence.get("pool"))
            for one in compiled.findings
            if one.code == NEVER and one.severity.value == "error"
        }
        fleets.append((compiled.fleet, never))
    core, custom, batch = (
        client.CoreV1Api(api),
        client.CustomObjectsApi(api),
        client.BatchV1Api(api),
    )
    made_namespace: Any = {"metadata": {"name": NAMESPACE}}
    core.create_namespace(made_namespace)
    made: list[tuple[str, str]] = []
    promised: set[str] = set()
    refused: set[str] = set()
    try:
        with kueue(sandbox, folder, kueue_configuration(fleets[0][0]), [NAMESPACE]):
            for fleet, never in fleets:
                for plural, document in objects_of(fleet):
                    if plural == "localqueues":
                        custom.create_namespaced_custom_object(*GROUP, NAMESPACE, plural, document)
                    else:
                        custom.create_cluster_custom_object(*GROUP, plural, document)
                        made.append((plural, document["metadata"]["name"]))
                assert fleet.spec.queues is not None
                for quota in team_quotas(fleet, fleet.spec.queues):
                    name = f"{quota.team.name}-{quota.pool.name}"
                    if quota.units >= quota.usable:
                        promised.add(name)
                    elif (quota.team.name, quota.pool.name) in never:
                        refused.add(name)
                    else:
                        continue  # it may run on idle quota of others: a warning reports it
                    batch.create_namespaced_job(NAMESPACE, job(quota, name))
            until(
                lambda: promised <= {name for name, on in reserved(custom).items() if on},
                lambda: sorted(promised - {n for n, on in reserved(custom).items() if on}),
            )
            until(lambda: refused <= set(reserved(custom)), lambda: refused)
            assert not {name for name, on in reserved(custom).items() if on} & refused
            batch.delete_collection_namespaced_job(NAMESPACE, propagation_policy="Background")
            for plural, name in reversed(made):
                custom.delete_cluster_custom_object(*GROUP, plural, name)
    finally:
        core.delete_namespace(NAMESPACE)
    assert promised
    assert refused or len(numbers) < 10


@pytest.mark.nightly
def test_fifty_fleets(sandbox: Sandbox, api: client.ApiClient, tmp_path: Path) -> None:
    admitted_as_promised(sandbox, api, tmp_path, range(50))
