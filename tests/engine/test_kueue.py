"""The queues of a fleet under the real Kueue 0.19.2, on nodes that advertise by simulated operands.

Kueue reads the configuration that our chart values carry; the fleet is deployed by GpuFleet.
"""

import dataclasses
import json
import re
import ssl
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config

from gpufleet.catalogue import load
from gpufleet.fleet import Fleet, compile_data
from gpufleet.fleet.model import NodeRange
from gpufleet.render.kueue_configuration import kueue_configuration
from gpufleet.render.series import KUEUE
from gpufleet.render.simulated_node import simulated_nodes
from gpufleet.sandbox.certificates import Certificates
from gpufleet.sandbox.engine import Engine
from gpufleet.sandbox.sandbox import Sandbox
from tests.engine.kueue_controller import kueue
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

GROUP = ("kueue.x-k8s.io", "v1beta2")
SLICE = "nvidia.com/mig-3g.40gb"
GPU = "nvidia.com/gpu"
SPEC: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "sandbox",
    "cluster": {"name": "queued"},
    "pools": [
        {"name": "whole", "gpu": "L4", "nodes": {"min": 2, "max": 2}},
        {
            "name": "slices",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 1, "max": 1},
            "sharing": {
                "mig": {"strategy": "mixed", "layouts": [{"gpus": 1, "devices": {"3g.40gb": 2}}]}
            },
        },
        {"name": "burst", "gpu": "L40S", "nodes": {"min": 0, "max": 2}},
        {
            "name": "rack",
            "gpu": "T4",
            "nodes": {"min": 2, "max": 2},
            "labels": {"example.com/rack": "r1"},
        },
        {
            "name": "claims",
            "gpu": "H100-80GB",
            "gpusPerNode": 8,
            "nodes": {"min": 1, "max": 1},
            "sharing": {"dra": {"namespaces": ["red"]}},
        },
    ],
    "addons": {"kueue": {"ownership": "existing"}},
    "queues": {
        "teams": [{"name": "red", "share": 0.5}, {"name": "blue", "share": 0.5}],
        "topologies": [
            {
                "name": "racks",
                "levels": ["example.com/rack", "kubernetes.io/hostname"],
                "pools": ["rack"],
            }
        ],
        "priorities": [{"name": "urgent", "value": 1000}],
        "createNamespaces": True,
    },
}
PROGRAM = f"""
import json
import os

import pulumi
import pulumi_kubernetes as kubernetes

from gpufleet import GpuFleet

cluster = kubernetes.Provider("cluster", kubeconfig=os.environ["KUBECONFIG"])
options = pulumi.ResourceOptions(providers=[cluster])
GpuFleet("fleet", {{"spec": json.loads({json.dumps(SPEC)!r})}}, options)
"""


class Queued:
    """The deployed fleet, and the jobs of one test."""

    def __init__(self, api: client.ApiClient, fleet: Fleet) -> None:
        self.fleet = fleet
        self.batch = client.BatchV1Api(api)
        self.core = client.CoreV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self.made: list[tuple[str, str]] = []
        self.metrics = 0
        """Port of Kueue's own metrics."""

    def job(
        self,
        team: str,
        name: str,
        pool: str,
        resource: str,
        count: int = 1,
        priority: str | None = None,
        pods: int = 1,
        annotations: dict[str, str] | None = None,
    ) -> None:
        """A suspended Job, as people write them: Kueue decides when it starts."""
        self.made.append((team, name))
        container = {"name": "c", "image": "none", "resources": {"limits": {resource: str(count)}}}
        template = {
            "metadata": {
                "annotations": {"sandbox.gpufleet.dev/run-for": "12h", **(annotations or {})}
            },
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"gpufleet.dev/pool": pool},
                "containers": [container],
            },
        }
        labels = {"kueue.x-k8s.io/queue-name": team}
        if priority is not None:
            labels["kueue.x-k8s.io/priority-class"] = priority
        self.batch.create_namespaced_job(
            team,
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {
                    "suspend": True,
                    "backoffLimit": 0,
                    "parallelism": pods,
                    "completions": pods,
                    "template": template,
                },
            },
        )

    def runs(self, team: str, name: str) -> bool:
        pods = self.core.list_namespaced_pod(team, label_selector=f"job-name={name}").items
        return any(pod.status.phase == "Running" for pod in pods)

    def running(self, team: str, *names: str) -> None:
        for name in names:
            until(
                lambda name=name: self.runs(team, name),
                lambda name=name: (name, self.conditions(team, name)),
            )

    def conditions(self, team: str, name: str) -> dict[str, tuple[str, str, str]]:
        """Conditions of the job's workload: status, reason, message."""
        listed = self.custom.list_namespaced_custom_object(*GROUP, team, "workloads")["items"]
        for workload in listed:
            if any(o["name"] == name for o in workload["metadata"].get("ownerReferences", [])):
                return {
                    c["type"]: (c["status"], c["reason"], c["message"])
                    for c in workload.get("status", {}).get("conditions", [])
                }
        return {}

    def waits(self, team: str, name: str, because: str) -> None:
        def told() -> bool:
            status, _, message = self.conditions(team, name).get("QuotaReserved", ("", "", ""))
            return status == "False" and because in message

        until(told, lambda: self.conditions(team, name))
        assert not self.runs(team, name)

    def end(self, team: str, name: str) -> None:
        self.batch.delete_namespaced_job(name, team, propagation_policy="Background")
        self.made.remove((team, name))

    def clear(self) -> None:
        for team, name in list(self.made):
            self.end(team, name)
        until(
            lambda: (
                not any(
                    self.custom.list_namespaced_custom_object(*GROUP, team, "workloads")["items"]
                    for team in ("red", "blue")
                )
            ),
            lambda: "workloads are left",
        )


@pytest.fixture(scope="module")
def cluster_client(sandbox: Sandbox) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(sandbox.kubeconfig)) as api:
        yield api


@pytest.fixture(scope="module")
def deployed(
    sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory, cluster_client: client.ApiClient
) -> Iterator[Queued]:
    fleet = compile_data(SPEC).fleet
    assert fleet is not None
    folder = tmp_path_factory.mktemp("queued")
    (folder / "Pulumi.yaml").write_text("name: queued\nruntime: python\n")
    (folder / "__main__.py").write_text(textwrap.dedent(PROGRAM))
    engine = Engine(sandbox.environment(), folder)
    engine.stack_init("queued")
    work = tmp_path_factory.mktemp("kueue")
    queued = Queued(cluster_client, fleet)
    with kueue(sandbox, work, kueue_configuration(fleet), ("red", "blue")) as metrics:
        queued.metrics = metrics
        try:
            engine.up("queued", timeout=240)
            until(
                lambda: _advertised(queued.core) == {GPU: 11, SLICE: 2},
                lambda: _advertised(queued.core),
                60,
            )
            yield queued
        finally:
            engine.destroy("queued")
            for team in ("red", "blue"):
                queued.core.delete_namespace(team)


@pytest.fixture
def queued(deployed: Queued) -> Iterator[Queued]:
    yield deployed
    deployed.clear()


def _advertised(core: client.CoreV1Api) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in core.list_node(label_selector="gpufleet.dev/pool").items:
        for name, amount in (node.status.allocatable or {}).items():
            if name.startswith("nvidia.com/") and amount != "0":
                found[name] = found.get(name, 0) + int(amount)
    return found


def test_every_queue_is_active_with_the_quota_of_its_share(queued: Queued) -> None:
    for team in ("red", "blue"):

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
    for team in ("red", "blue"):
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
    assert queued.conditions("red", "usual")["Preempted"][1] == "InClusterQueue"


def test_a_pool_without_nodes_grows_by_its_queue(queued: Queued) -> None:
    """Quota counts the largest size, so the job is admitted; its pod then asks for the node."""
    started = time.monotonic()
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
    # An autoscaler answers with a node as the pool describes it: labels, taints, machine.
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
        assert time.monotonic() - started < 75
    finally:
        queued.clear()
        queued.core.delete_node(node.name)


def test_kueue_exports_what_alerts_and_dashboards_ask_for(
    queued: Queued, sandbox: Sandbox, cluster_client: client.ApiClient
) -> None:
    """Every series of our list, with the labels that the queries sum by."""
    queued.job("red", "counted", "whole", GPU)
    queued.running("red", "counted")
    page = _metrics(queued, sandbox, cluster_client)
    samples = [line for line in page.splitlines() if not line.startswith("#")]
    found = {re.split(r"[{ ]", line, maxsplit=1)[0] for line in samples}
    assert found >= KUEUE - {"kueue_evicted_workloads_total", "kueue_preempted_workloads_total"}
    # Counters appear with the first of their kind; the test of borrowing may have run elsewhere.
    declared = set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
    assert "kueue_cluster_queue_nominal_quota" in declared
    quota = [line for line in samples if line.startswith("kueue_cluster_queue_nominal_quota{")]
    assert any(f'resource="{SLICE}"' in line and 'cluster_queue="red"' in line for line in quota)
    assert (
        sum(float(line.rsplit(" ", 1)[1]) for line in quota if f'resource="{SLICE}"' in line) == 2
    )


def _metrics(queued: Queued, sandbox: Sandbox, api: client.ApiClient) -> str:
    """The page, as a Prometheus with the rights to it reads it."""
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
        request = urllib.request.Request(
            f"https://127.0.0.1:{queued.metrics}/metrics",
            headers={"Authorization": f"Bearer {token}"},
        )
        context = ssl.create_default_context(cafile=str(authority))
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:
            return answer.read().decode()
    finally:
        rights.delete_cluster_role_binding("queued-metrics-reader")
