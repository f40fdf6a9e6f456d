"""Rules under the real promtool: each alert fires where it should, and is silent elsewhere.

One run of promtool validates all cases: a fleet's rule file, and a unit test file written from the
table below.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.render.dashboards import dashboards
from gpufleet.render.monitoring_artefacts import alerts, rule_groups
from gpufleet.render.scaled_object import query_of
from gpufleet.spec.scaling import KedaScaling
from tests.engine.alert_series import (
    CASES,
    STOPPED,
    allocatable,
    constant,
    cordoned,
    nodes,
    tainted,
)
from tests.engine.conftest import require
from tests.unit.render.dashboard_queries import queries
from tests.unit.render.fleets import TEAMS, compiled

pytestmark = [pytest.mark.sandbox]

POOLS: dict[str, dict[str, Any]] = {
    "chat": {
        "gpu": "L4",
        "nodes": {"min": 2, "max": 2},
        "sharing": {"timeSlicing": {"replicas": 4}},
        "acceptance": {"waitMinutes": 60},
        "health": {"mode": "fence", "floor": {"nodes": 1}},
    },
    "lab": {
        "gpu": "L4",
        "nodes": {"min": 5, "max": 5},
        "intent": "interactive",
        "health": {"mode": "fence", "floor": {"percent": 60}},
        "idle": {"afterMinutes": 30, "notebooks": [{"name": "alice", "namespace": "lab"}]},
    },
    "guests": {
        "gpu": "H100-80GB",
        "nodes": {"min": 0, "max": 2},
        "sharing": {"vgpu": {"profile": "H100-20C", "licenseSecret": "licence"}},
        "vsphere": {"cpus": 8, "memoryGib": 64, "template": "gpu", "attachment": "vgpu"},
    },
}
"""One pool of a constant size that is tested, one of notebooks, one of vGPU guests."""


@pytest.fixture(scope="module")
def fleet() -> Any:
    return observed({})


VSPHERE = {
    name: {"vsphere": {"cpus": 8, "memoryGib": 64, "template": "gpu"}, **pool}
    for name, pool in POOLS.items()
}


ADDONS: dict[str, Any] = {
    "keda": {"enabled": True},
    "gpuOperator": {
        "dcgm": {"enabled": True},
        "driver": {"repository": "registry.example.com/vgpu", "version": "595.91.07"},
        "imagePullSecret": "own",
        "values": {"driver": {"nvidiaDriverCRD": {"enabled": True}}},
    },
}


def observed(monitoring: dict[str, Any]) -> Any:
    teams = {"teams": TEAMS}
    monitoring = {"queryUrl": "http://prometheus.monitoring.svc:9090", **monitoring}
    return compiled("vsphere", VSPHERE, queues=teams, monitoring=monitoring, addons=ADDONS)


def promtool(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = require(("promtool",))["promtool"]
    return subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_every_alert_fires_and_stays_silent(fleet: Any, tmp_path: Path) -> None:
    made = {alert["alert"]: alert for alert in alerts(fleet, fleet.spec.monitoring)}
    assert set(made) == set(CASES)
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": rule_groups(fleet, fleet.spec.monitoring)}))
    tests: list[dict[str, Any]] = []
    for name, (fires, silent, when) in CASES.items():
        for word, series in (("fires", fires), ("silent", silent)):
            # What fires is only counted: its labels and texts are not the point here.
            expected = 1 if word == "fires" else 0
            query = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) or vector(0)'
            tests.append(
                {
                    "name": f"{name} {word}",
                    "interval": "1m",
                    "input_series": series,
                    "promql_expr_test": [
                        {
                            "expr": query,
                            "eval_time": when,
                            "exp_samples": [{"labels": "{}", "value": expected}],
                        }
                    ],
                }
            )
    file = tmp_path / "tests.yaml"
    file.write_text(
        yaml.safe_dump(
            {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests},
            sort_keys=False,
            width=1000,
        )
    )
    ended = promtool("test", "rules", str(file))
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-6000:]


def test_nodes_in_service_and_notebooks_that_are_stopped(fleet: Any, tmp_path: Path) -> None:
    """Not ready, cordoned and untested nodes are out; a notebook without a lease does not count."""
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump({"groups": rule_groups(fleet, fleet.spec.monitoring)})
    )
    ready = 'kube_node_status_condition{node="n4", condition="Ready", status="true"}'
    given = [
        *nodes("chat", "n1", "n2", "n3"),
        *cordoned("n2"),
        constant(tainted("n3", "new"), 1),
        constant('kube_node_labels{node="n4", label_gpufleet_dev_pool="chat"}', 1),
        constant(ready, 0),
        constant('gpufleet_lease_until{namespace="lab", scaledobject="alice"}', 0),
        {
            "series": 'kube_statefulset_replicas{namespace="lab", statefulset="alice"}',
            "values": "1x30 0x450",
        },
        constant('kube_deployment_spec_replicas{namespace="lab", deployment="web"}', 0),
    ]
    stopped = '{namespace="lab", scaledobject="alice"}'
    hours = "sum by (namespace, scaledobject) (sum_over_time(gpu:notebook:stopped[1d:5m])) / 12"
    assert hours in str(dashboards(fleet, fleet.spec.monitoring))
    asked = [
        ("max by (node, pool) (gpu:node:in_service)", '{node="n1", pool="chat"}', "5m", 1),
        (f"max by (namespace, scaledobject) ({STOPPED})", stopped, "30m", 0),
        (f"max by (namespace, scaledobject) ({STOPPED})", stopped, "31m", 1),
        (hours, stopped, "154m", 2),  # 24 samples from minute 35 to minute 150
    ]
    cases = [
        {"expr": expr, "eval_time": when, "exp_samples": [{"labels": labels, "value": value}]}
        for expr, labels, when, value in asked
    ]
    one = {"interval": "1m", "input_series": given, "promql_expr_test": cases}
    file = tmp_path / "tests.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [one]})
    )
    ended = promtool("test", "rules", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_neuron_nodes_count_in_the_unit_of_their_pool(tmp_path: Path) -> None:
    """Each publishes devices and cores; in the other unit it would be there twice."""
    made = compiled(
        "eks",
        {
            "serve": {
                "instanceTypes": ["inf2.xlarge"],
                "nodes": {"min": 0, "max": 2},
                "neuron": {"unit": "core"},
            },
            "train": {"instanceTypes": ["trn1.2xlarge"], "nodes": {"min": 0, "max": 2}},
        },
        monitoring={},
    )
    monitoring = made.spec.monitoring
    assert monitoring is not None
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": rule_groups(made, monitoring)}))
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", str(rules))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    labels = [
        constant(f'kube_node_labels{{node="{node}", label_gpufleet_dev_pool="{pool}"}}', 1)
        for node, pool in (("n1", "serve"), ("n2", "train"))
    ]
    both = [
        allocatable(resource, amount, node)
        for node in ("n1", "n2")
        for resource, amount in (("aws_amazon_com_neuron", 1), ("aws_amazon_com_neuroncore", 2))
    ]
    expected = [
        {"labels": '{node="n1", resource="aws_amazon_com_neuroncore"}', "value": 2},
        {"labels": '{node="n2", resource="aws_amazon_com_neuron"}', "value": 1},
    ]
    asked = {"expr": "sum by (node, resource) (gpu:allocatable:count)", "eval_time": "5m"}
    one = {
        "interval": "1m",
        "input_series": [*labels, *both],
        "promql_expr_test": [{**asked, "exp_samples": expected}],
    }
    file = tmp_path / "tests.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [one]})
    )
    ended = promtool("test", "rules", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_accepts_rules_of_every_setting(fleet: Any, tmp_path: Path) -> None:
    for number, settings in enumerate(({}, {"profiling": False}, {"honorLabels": True})):
        made = observed(settings)
        file = tmp_path / f"rules-{number}.yaml"
        file.write_text(yaml.safe_dump({"groups": rule_groups(made, made.spec.monitoring)}))
        ended = promtool("check", "rules", "--lint=all", "--lint-fatal", str(file))
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_parses_every_query_of_the_dashboards(fleet: Any, tmp_path: Path) -> None:
    found = [
        query
        for dashboard in dashboards(fleet, fleet.spec.monitoring)
        for query in queries(dashboard)
    ]
    assert len(found) > 20
    rules = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(found)]
    file = tmp_path / "queries.yaml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    ended = promtool("check", "rules", "--lint=none", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr


BUSY = 'gpu:engine_active:ratio{workload_namespace="product", workload_pod="chat-1a2b-abc'
PODS = 'kube_pod_status_phase{namespace="product", phase="Running", pod="chat-1a2b-abc'


@pytest.mark.parametrize(
    ("activity", "others", "wanted"),
    [
        ((0.9, 0.85), (), 4),  # above 80 % on average: twice, of which two are added at a time
        ((0.9, 0.5), (), 2),
        ((0.21, 0.21), (), 2),
        ((0.1, 0.1), (), 1),
        ((0.9, 0.9), (0.0, 0.0, 0.0), 4),  # pods of chat-large are not counted
    ],
)
def test_two_thresholds_ask_for_replicas(
    activity: tuple[float, ...], others: tuple[float, ...], wanted: int, tmp_path: Path
) -> None:
    scaling = KedaScaling.model_validate(
        {
            "target": {"name": "chat", "namespace": "product"},
            "workload": "serving",
            "min": 1,
            "max": 8,
            "server": "http://prometheus:9090",
            "on": [{"signal": "gpuUtilisation", "thresholds": {}}],
        }
    )
    given = [
        constant(f'{start}{number:02}"}}', value)
        for number, value in enumerate(activity)
        for start, value in ((BUSY, value), (PODS, 1))
    ]
    given += [
        constant(f'{start.replace("chat-", "chat-large-")}{number:02}"}}', value)
        for number, value in enumerate(others)
        for start, value in ((BUSY, value), (PODS, 1))
    ]
    asked = {
        "expr": query_of(scaling, scaling.on[0]),
        "eval_time": "5m",
        "exp_samples": [{"labels": "{}", "value": wanted}],
    }
    one = {"interval": "1m", "input_series": given, "promql_expr_test": [asked]}
    (tmp_path / "rules.yaml").write_text("groups: []\n")
    file = tmp_path / "tests.yaml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [one]}))
    ended = promtool("test", "rules", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr
