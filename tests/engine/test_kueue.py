"""The queues of a fleet under the real Kueue 0.19.2, on nodes that advertise by simulated operands.

Kueue reads the configuration that our chart values carry; the fleet is deployed by GpuFleet.
"""

import dataclasses
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from kubernetes import client, config

from gpufleet.catalogue import load
from gpufleet.fleet.model import NodeRange
from gpufleet.platforms.sandbox.simulated_node import simulated_nodes
from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.queued_fleet import GPU, GROUP, SLICE, TEAMS, Queued, queued_fleet
from tests.engine.waiting import until
from tests.unit.render.known_series import KUEUE

pytestmark = [pytest.mark.sandbox]


@pytest.fixture(scope="module")
def cluster_client(sandbox: Sandbox) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(sandbox.kubeconfig)) as api:
        yield api


@pytest.fixture(scope="module")
def deployed(
    sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory, cluster_client: client.ApiClient
) -> Iterator[Queued]:
    with queued_fleet(sandbox, tmp_path_factory.mktemp("queued"), cluster_client) as queued:
        yield queued


@pytest.fixture
def queued(deployed: Queued) -> Iterator[Queued]:
    yield deployed
    deployed.clear()


def test_every_queue_is_active_with_the_quota_of_its_share(queued: Queued) -> None:
    for team in TEAMS:

        def active(team: str = team) -> bool:
            status = queued.custom.get_cluster_custom_object(*GROUP, "clusterqueues", team).get(
                "status", {}
            )
            return any(
                c["type"] == "Active" and c["status"] == "True"
                for c in status.get("conditions", [])
            )

        until(active, lambda team=team: team)
    quota: dict[tuple[str, str], int] = {}
    for team in TEAMS:
        spec = queued.custom.get_cluster_custom_object(*GROUP, "clusterqueues", team)["spec"]
        for group in spec["resourceGroups"]:
            for flavor in group["flavors"]:
                for entry in flavor["resources"]:
                    key = (flavor["name"], entry["name"])
                    quota[key] = quota.get(key, 0) + int(entry["nominalQuota"])
    assert quota[("slices", SLICE)] == 2
    assert quota[("slices", GPU)] == 7
    assert quota[("whole", GPU)] == 2
    assert quota[("burst", GPU)] == 2  # its largest size, though it has no node


def test_a_team_borrows_and_the_owner_gets_it_back(queued: Queued) -> None:
    queued.job("blue", "own", "whole", GPU)
    queued.running("blue", "own")
    queued.job("blue", "borrowed", "whole", GPU)
    queued.running("blue", "borrowed")
    queued.job("red", "owner", "whole", GPU)
    queued.running("red", "owner")

    def preempted() -> list[str]:
        return [
            name
            for name in ("own", "borrowed")
            if queued.conditions("blue", name).get("Preempted", ("", "", ""))[1]
            == "InCohortReclamation"
        ]

    (loser,) = until(preempted, lambda: queued.conditions("blue", "borrowed"))
    queued.waits("blue", loser, "insufficient")
    (winner,) = {"own", "borrowed"} - {loser}
    assert queued.runs("blue", winner)
    queued.end("red", "owner")
    queued.running("blue", loser)  # idle quota is lent again


def test_a_mig_job_waits_for_its_slice_and_not_for_any_gpu(queued: Queued) -> None:
    for name in ("first", "second"):
        queued.job("blue", name, "slices", SLICE)
    queued.running("blue", "first", "second")
    queued.job("blue", "third", "slices", SLICE)
    queued.waits("blue", "third", SLICE)
    queued.job("blue", "whole-gpus", "slices", GPU, 7)  # every whole GPU of the node is free
    queued.running("blue", "whole-gpus")
    assert not queued.runs("blue", "third")
    queued.end("blue", "first")
    queued.running("blue", "third")


def test_a_gang_stands_in_one_domain_or_waits(queued: Queued) -> None:
    """Two pods of a GPU each: a rack has room for them, a machine of one GPU has not."""
    within = "kueue.x-k8s.io/podset-required-topology"
    queued.job("red", "apart", "rack", GPU, pods=2, annotations={within: "kubernetes.io/hostname"})
    queued.waits("red", "apart", "topology")
    queued.job("red", "together", "rack", GPU, pods=2, annotations={within: "example.com/rack"})

    def placed() -> set[str]:
        pods = queued.core.list_namespaced_pod("red", label_selector="job-name=together").items
        return {pod.spec.node_name for pod in pods if pod.status.phase == "Running"}

    until(lambda: placed() == {"queued-rack-0", "queued-rack-1"}, placed)
    assert not queued.runs("red", "apart")


def test_claims_count_against_quota(queued: Queued) -> None:
    """A template's device counts under the name that our configuration maps its class to."""
    queued.made.append(("red", "claiming"))
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"gpufleet.dev/pool": "claims"},
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "claims-gpu"}],
        "containers": [{"name": "c", "image": "none", "resources": {"claims": [{"name": "gpu"}]}}],
    }
    queued.batch.create_namespaced_job(
        "red",
        {
            "metadata": {"name": "claiming", "labels": {"kueue.x-k8s.io/queue-name": "red"}},
            "spec": {
                "suspend": True,
                "parallelism": 3,
                "completions": 3,
                "template": {
                    "metadata": {"annotations": {"sandbox.gpufleet.dev/run-for": "12h"}},
                    "spec": pod,
                },
            },
        },
    )
    queued.running("red", "claiming")

    def used() -> dict[str, str]:
        status = queued.custom.get_cluster_custom_object(*GROUP, "clusterqueues", "red")["status"]
        return {
            resource["name"]: resource["total"]
            for flavor in status.get("flavorsUsage", [])
            if flavor["name"] == "claims"
            for resource in flavor["resources"]
        }

    until(lambda: used().get("gpufleet.dev/gpu-claims") == "3", used)


def test_priority_decides_within_a_team(queued: Queued) -> None:
    queued.job("red", "usual", "slices", SLICE, 2)
    queued.running("red", "usual")
    queued.job("red", "urgent", "slices", SLICE, priority="urgent")
    queued.running("red", "urgent")
    until(
        lambda: queued.conditions("red", "usual").get("Preempted", ("", ""))[1] == "InClusterQueue",
        lambda: queued.conditions("red", "usual"),
    )


def test_a_pool_without_nodes_grows_by_its_queue(queued: Queued) -> None:
    """Quota counts the maximum size, so the job is admitted; its pod then requests the node."""
    queued.job("red", "burst", "burst", GPU)
    until(
        lambda: queued.conditions("red", "burst").get("Admitted", ("",))[0] == "True",
        lambda: queued.conditions("red", "burst"),
    )
    pods = until(
        lambda: queued.core.list_namespaced_pod("red", label_selector="job-name=burst").items,
        lambda: "no pod",
    )
    until(
        lambda: any(
            c.reason == "Unschedulable"
            for c in queued.core.read_namespaced_pod(pods[0].metadata.name, "red").status.conditions
            or []
        ),
        lambda: "the pod asks for no node",
    )
    # An autoscaler adds a node with the pool's labels, taints and machine.
    pool = queued.fleet.pool("burst")
    grown = dataclasses.replace(pool, nodes=NodeRange(1, 1, 2))
    (node,) = simulated_nodes(grown, load(), prefix="queued", region="sandbox")
    metadata = {
        **node.metadata,
        "name": node.name,
        "labels": {**node.metadata["labels"], "kubernetes.io/hostname": node.name},
    }
    queued.core.create_node({"metadata": metadata, "spec": node.spec})
    try:
        queued.running("red", "burst")
    finally:
        queued.clear()
        queued.core.delete_node(node.name)


def test_kueue_exports_what_alerts_and_dashboards_ask_for(
    queued: Queued, sandbox: Sandbox, cluster_client: client.ApiClient
) -> None:
    """Every series of our list, with the labels that the queries sum by."""
    queued.job("red", "counted", "whole", GPU)
    queued.running("red", "counted")
    # Counters appear with the first of their kind; the test of borrowing may have run elsewhere.
    wanted = KUEUE - {"kueue_evicted_workloads_total", "kueue_preempted_workloads_total"}
    with metrics_reader(queued, sandbox, cluster_client) as page:
        told = until(
            lambda: text if wanted <= set(map(series, samples(text := page()))) else "",
            lambda: samples(page()),
        )
    declared = set(re.findall(r"^# TYPE (\S+)", told, re.MULTILINE))
    assert "kueue_cluster_queue_nominal_quota" in declared
    quota = [one for one in samples(told) if series(one) == "kueue_cluster_queue_nominal_quota"]
    of_slices = [one for one in quota if f'resource="{SLICE}"' in one]
    assert any('cluster_queue="red"' in one for one in of_slices)
    assert sum(float(one.rsplit(" ", 1)[1]) for one in of_slices) == 2


def samples(page: str) -> list[str]:
    return [line for line in page.splitlines() if not line.startswith("#")]


def series(sample: str) -> str:
    return re.split(r"[{ ]", sample, maxsplit=1)[0]


@contextmanager
def metrics_reader(
    queued: Queued, sandbox: Sandbox, api: client.ApiClient
) -> Iterator[Callable[[], str]]:
    """Reads Kueue's page, as a Prometheus with the rights to it does."""
    account = {"metadata": {"name": "metrics-reader"}}
    queued.core.create_namespaced_service_account("red", account)
    binding = {
        "metadata": {"name": "queued-metrics-reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "metrics-reader", "namespace": "red"}],
    }
    rights = client.RbacAuthorizationV1Api(api)
    rights.create_cluster_role_binding(binding)
    try:
        token = queued.core.create_namespaced_service_account_token(
            "metrics-reader", "red", {"spec": {}}
        ).status.token
        authority = Certificates(sandbox.layout.certificates).authority
        context = ssl.create_default_context(cafile=str(authority))

        def read() -> str:
            request = urllib.request.Request(
                f"https://127.0.0.1:{queued.metrics}/metrics",
                headers={"Authorization": f"Bearer {token}"},
            )
            try:
                with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                    return answer.read().decode()
            except urllib.error.HTTPError as refused:
                if refused.code not in (401, 403):
                    raise
                return ""  # the API server needs a moment to apply a role

        yield read
    finally:
        rights.delete_cluster_role_binding("queued-metrics-reader")
