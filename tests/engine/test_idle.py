"""Notebooks that go to zero under the real KEDA, Prometheus and kube-state-metrics.

First the query alone, under promtool: what is idle to the minute, and what is not known. Then the
whole: KEDA stops and starts StatefulSets and Deployments of the sandbox. There ten minutes of the
query are one, so that the test ends within minutes.
"""

import dataclasses
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet.cost.dump import QUERY, Series
from gpufleet.cost.stopped import Stop, stops
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dcgm_metrics import exported
from gpufleet.render.idle import LEASE, idle_objects
from gpufleet.render.monitoring_artefacts import rule_groups
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import require
from tests.engine.dcgm_exporter import exposition, served
from tests.engine.prometheus_server import Prometheus, prometheus_server
from tests.engine.scaling_programs import keda, kube_state_metrics
from tests.engine.waiting import until
from tests.unit.fleet.test_idle_rules import spec

pytestmark = [pytest.mark.sandbox]

ALICE = 'namespace="research", pod="alice-0"'
DEVICE = 'workload_namespace="research", workload_pod="alice-0", UUID="GPU-{gpu}"'


def figure(values: str, gpu: int = 1) -> dict[str, str]:
    return {"series": f"gpu:engine_active:ratio{{{DEVICE.format(gpu=gpu)}}}", "values": values}


def pod(labels: str = ALICE, created: int = 0) -> list[dict[str, str]]:
    """A pod that runs; when it was made, in seconds of the test's clock."""
    return [
        {"series": f'kube_pod_status_phase{{{labels}, phase="Running"}}', "values": "1x100"},
        {"series": f"kube_pod_created{{{labels}}}", "values": f"{created}x100"},
    ]


def lease(until_second: int = 0) -> dict[str, str]:
    labels = 'namespace="research", scaledobject="alice"'
    return {"series": f"gpufleet_lease_until{{{labels}}}", "values": f"{until_second}x100"}


UNKNOWN = None
CASES: dict[str, tuple[list[dict[str, str]], str, float | None]] = {
    # state: (series, time of the query, its result). `0.6x20` is 21 figures, the
    # last of them of minute 20.
    "idle for 30 minutes": ([*pod(), figure("0.6x20 0.01x60"), lease()], "50m", 0),
    "idle for 29 minutes": ([*pod(), figure("0.6x20 0.01x60"), lease()], "49m", 1),
    "busier than the limit": ([*pod(), figure("0.06x100"), lease()], "60m", 1),
    "a moment of work": ([*pod(), figure("0.01x40 0.3 0.01x40"), lease()], "60m", 1),
    "idle and leased": ([*pod(), figure("0.01x100"), lease(3601)], "60m", 1),
    "the lease has ended": ([*pod(), figure("0.01x100"), lease(3600)], "60m", 0),
    "a lease that is not readable": ([*pod(), figure("0.01x100")], "60m", UNKNOWN),
    "no figures": ([*pod(), lease()], "60m", 1),
    "a gap in the figures": ([*pod(), figure("0.01x35 _x12 0.01x60"), lease()], "60m", 1),
    "not yet 30 minutes old": ([*pod(created=1860), figure("0.01x100"), lease()], "60m", 1),
    "one of two GPUs works": (
        [*pod(), figure("0.01x100"), figure("0.9x100", gpu=2), lease()],
        "60m",
        1,
    ),
    "both of two GPUs idle": (
        [*pod(), figure("0.01x100"), figure("0.02x100", gpu=2), lease()],
        "60m",
        0,
    ),
    "stopped": ([lease()], "60m", 0),
    "stopped, and leased again": ([lease(3700)], "60m", 1),
    "only the pod of another notebook": (
        [*pod('namespace="research", pod="alice-large-0"'), lease()],
        "60m",
        0,
    ),
    "the same name in another namespace": (
        [*pod('namespace="product", pod="alice-0"'), lease()],
        "60m",
        0,
    ),
}


def test_the_query_to_the_minute(tmp_path: Path) -> None:
    program = require(("promtool",))["promtool"]
    fleet = compile_data(spec()).fleet
    assert fleet is not None
    alice = idle_objects(fleet)[0]
    query = alice["spec"]["triggers"][0]["metadata"]["query"]
    tests = [
        {
            "name": name,
            "interval": "1m",
            "input_series": series,
            "promql_expr_test": [
                {
                    "expr": query,
                    "eval_time": moment,
                    "exp_samples": [] if answer is None else [{"labels": "{}", "value": answer}],
                }
            ],
        }
        for name, (series, moment, answer) in CASES.items()
    ]
    (tmp_path / "rules.yaml").write_text("groups: []\n")
    (tmp_path / "tests.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": tests})
    )
    ended = subprocess.run(
        [str(program), "test", "rules", "tests.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


NODE = "idle-lab-0"
NOTEBOOKS = {
    "alice": "StatefulSet",
    "bob": "Deployment",
    "carol": "StatefulSet",
    "dave": "StatefulSet",
}
"""Idle; at work; idle and leased; without figures."""
ACTIVE = {"alice": 0.01, "bob": 0.8, "carol": 0.01}


@dataclasses.dataclass
class Lab:
    """The notebooks of a namespace, and what measures them."""

    namespace: str
    apps: client.AppsV1Api
    core: client.CoreV1Api
    custom: client.CustomObjectsApi
    pages: dict[str, str]
    prometheus: Prometheus | None = None
    fleet: Fleet | None = None

    def make(self, name: str) -> None:
        labels = {"app": name}
        container = {"name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        given = {
            "metadata": {"name": name},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "containers": [container],
                        "nodeSelector": {"gpufleet.dev/pool": "lab"},
                    },
                },
            },
        }
        if NOTEBOOKS[name] == "Deployment":
            self.apps.create_namespaced_deployment(self.namespace, given)
        else:
            given["spec"]["serviceName"] = name
            self.apps.create_namespaced_stateful_set(self.namespace, given)

    def replicas(self, name: str) -> int:
        read: Callable[..., Any] = (
            self.apps.read_namespaced_deployment
            if NOTEBOOKS[name] == "Deployment"
            else self.apps.read_namespaced_stateful_set
        )
        return int(read(name, self.namespace).spec.replicas)

    def all_replicas(self) -> dict[str, int]:
        return {name: self.replicas(name) for name in NOTEBOOKS}

    def pods(self) -> dict[str, str]:
        """Notebook -> name of its pod that runs."""
        return {
            one.metadata.labels["app"]: one.metadata.name
            for one in self.core.list_namespaced_pod(self.namespace).items
            if one.status.phase == "Running" and one.metadata.deletion_timestamp is None
        }

    def measure(self, active: dict[str, float]) -> None:
        """Output of the exporter from now on."""
        assert self.fleet is not None
        monitoring = self.fleet.spec.monitoring
        assert monitoring is not None
        devices = [
            {
                "gpu": str(index),
                "UUID": f"GPU-{name}",
                "modelName": "NVIDIA L4",
                "Hostname": NODE,
                "namespace": self.namespace,
                "pod": found,
                "container": "c",
            }
            for index, (name, found) in enumerate(sorted(self.pods().items()))
            if name in active
        ]

        def value(field: str, device: dict[str, str]) -> float:
            is_activity = field == "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
            return active[device["UUID"].removeprefix("GPU-")] if is_activity else 0

        self.pages["/metrics"] = exposition(exported(monitoring), devices, value)

    def lease(self, name: str, moment: str | None) -> None:
        body = {"metadata": {"annotations": {LEASE: moment}}}
        self.custom.patch_namespaced_custom_object(
            "keda.sh", "v1alpha1", self.namespace, "scaledobjects", name, body
        )

    def condition(self, name: str, kind: str) -> str:
        found = self.custom.get_namespaced_custom_object(
            "keda.sh", "v1alpha1", self.namespace, "scaledobjects", name
        )
        of = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", [])}
        return of.get(kind, "")

    def deactivated(self, name: str) -> datetime | None:
        """When KEDA reported that it stopped a notebook."""
        for event in self.core.list_namespaced_event(self.namespace).items:
            if (event.reason, event.involved_object.name) == ("KEDAScaleTargetDeactivated", name):
                return event.event_time or event.last_timestamp or event.first_timestamp
        return None

    def ledger(self, since: float) -> list[Stop]:
        assert self.prometheus is not None
        assert self.fleet is not None
        window = {"start": str(int(since)), "end": str(int(time.time())), "step": "1"}
        answer = self.prometheus.get("/api/v1/query_range", query=QUERY, **window)
        series = [
            Series(one["metric"], tuple((int(float(m)), float(v)) for m, v in one["values"]))
            for one in answer["result"]
        ]
        found, unknown = stops(self.fleet, series, 1)
        assert unknown == []
        return found


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def faster(document: dict[str, Any]) -> dict[str, Any]:
    """The same query with one minute for ten."""
    text = json.dumps(document)
    for slow, fast in (("[10m", "[1m"), (">= 10", ">= 1"), (">= 600", ">= 60")):
        assert slow in text
        text = text.replace(slow, fast)
    return {**json.loads(text), "spec": {**json.loads(text)["spec"], "pollingInterval": 5}}


@pytest.fixture
def lab(sandbox: Sandbox, cluster: Any, namespace: str, tmp_path: Path) -> Iterator[Lab]:
    programs = require(("prometheus", "keda", "kube-state-metrics"))
    made = Lab(
        namespace,
        client.AppsV1Api(cluster),
        client.CoreV1Api(cluster),
        client.CustomObjectsApi(cluster),
        {"/metrics": ""},
    )
    offered = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}
    made.core.create_node(
        {
            "metadata": {"name": NODE, "labels": {"gpufleet.dev/pool": "lab"}},
            "status": {"allocatable": offered, "capacity": offered},
        }
    )
    notebooks = [
        {"name": name, "namespace": namespace, "kind": kind} for name, kind in NOTEBOOKS.items()
    ]
    idle = {"afterMinutes": 10, "notebooks": notebooks}
    machine = {"instanceTypes": ["g6.xlarge"], "gpu": None}
    try:
        with (
            served(made.pages) as exporter,
            kube_state_metrics(sandbox, tmp_path) as states,
            keda(sandbox, tmp_path),
        ):
            fleet = compile_data(spec(idle, pool=machine)).fleet
            assert fleet is not None
            assert fleet.spec.monitoring is not None
            groups = rule_groups(fleet, fleet.spec.monitoring)
            for group in groups:
                group["interval"] = "1s"
            (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
            address = [f"127.0.0.1:{exporter}"]
            configuration = {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": ["rules.yaml"],
                "scrape_configs": [
                    {
                        "job_name": "nvidia-dcgm-exporter",
                        "static_configs": [
                            {"targets": address, "labels": {"namespace": "gpu-op", "pod": "dcgm"}}
                        ],
                    },
                    {
                        "job_name": "kube-state-metrics",
                        "honor_labels": True,
                        "static_configs": [{"targets": [f"127.0.0.1:{states}"]}],
                    },
                ],
            }
            with prometheus_server(programs["prometheus"], tmp_path, configuration) as server:
                url = {"queryUrl": server.base}
                made.fleet = compile_data(spec(idle, pool=machine, monitoring=url)).fleet
                made.prometheus = server
                yield made
    finally:
        made.core.delete_node(NODE)


def test_the_idle_one_stops_and_the_leased_and_the_busy_go_on(lab: Lab) -> None:
    began = time.time()
    for name in NOTEBOOKS:
        lab.make(name)
    until(lambda: len(lab.pods()) == len(NOTEBOOKS), lab.pods)
    assert lab.fleet is not None
    lab.measure(ACTIVE)
    leased_until = time.time() + 170
    for document in idle_objects(lab.fleet):
        if document["metadata"]["name"] == "carol":
            document["metadata"]["annotations"] = {LEASE: in_seconds(170)}
        lab.custom.create_namespaced_custom_object(
            "keda.sh", "v1alpha1", lab.namespace, "scaledobjects", faster(document)
        )
    until(lambda: lab.replicas("alice") == 0, lab.all_replicas)
    stopped_at = time.time()
    # No earlier than its time: pods are a minute old, with a minute of figures.
    assert stopped_at - began >= 60
    assert lab.all_replicas() == {"alice": 0, "bob": 1, "carol": 1, "dave": 1}
    lab.measure({name: ACTIVE[name] for name in ("bob", "carol")})

    until(lambda: lab.replicas("carol") == 0, lab.all_replicas, seconds=300)
    assert time.time() >= leased_until - 1
    assert lab.all_replicas() == {"alice": 0, "bob": 1, "carol": 0, "dave": 1}

    # A user extends the lease to restart it; an unreadable time changes nothing.
    lab.lease("alice", in_seconds(600))
    until(lambda: lab.replicas("alice") == 1, lab.all_replicas)
    restarted_at = time.time()
    lab.lease("carol", "tomorrow")
    until(lambda: lab.condition("carol", "Ready") == "False", "an error of KEDA")
    assert lab.replicas("carol") == 0

    until(lambda: "alice" in lab.pods(), lab.pods)
    time.sleep(5)  # a scrape and an evaluation
    alice, carol = lab.ledger(began)
    assert (alice.notebook, carol.notebook) == (
        f"{lab.namespace}/alice",
        f"{lab.namespace}/carol",
    )
    event = lab.deactivated("alice")
    assert event is not None
    assert abs(alice.start - event.timestamp()) <= 10
    assert abs(alice.end - restarted_at) <= 10
    assert alice.units == carol.units == {"nvidia.com/gpu": 1}
    # One L4 of g6.xlarge in us-east-1, on demand: 0.8048 USD/h.
    assert alice.micro_usd == round(804_800 * (alice.end - alice.start) / 3600)
