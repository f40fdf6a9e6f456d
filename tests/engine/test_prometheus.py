"""From the exporter's page to the bill: the real Prometheus scrapes, records and alerts.

The exporter is simulated, with the list of counters of our component; rules, labels and the scrape
are the deployed ones, only with shorter intervals.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.cli.cost import command
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dashboards import dashboards
from gpufleet.render.dcgm_metrics import exported
from gpufleet.render.monitoring_artefacts import recording_rules, rule_groups
from gpufleet.render.scrape_objects import scrape_objects
from tests.engine.conftest import require
from tests.engine.dcgm_exporter import exposition, line, served
from tests.engine.prometheus_server import Prometheus, prometheus_server
from tests.unit.cli.test_cost import SPEC
from tests.unit.render.dashboard_queries import queries

pytestmark = [pytest.mark.sandbox]

FLEET = compile_data({**SPEC, "monitoring": {}}).fleet
assert FLEET is not None
MONITORING = FLEET.spec.monitoring
assert MONITORING is not None
WINDOW = 3
"""Seconds of the bill."""
SLICE = {"GPU_I_PROFILE": "1g.10gb", "GPU_I_ID": "7"}
DEVICES = [
    {
        "gpu": "0",
        "UUID": "GPU-l4",
        "modelName": "NVIDIA L4",
        "Hostname": "n1",
        "namespace": "lab-a",
        "pod": "train",
        "container": "c",
    },
    {
        "gpu": "3",
        "UUID": "GPU-a100",
        "modelName": "NVIDIA A100-SXM4-80GB",
        **SLICE,
        "hostname": "n2",  # the label's name after exporter 4.8.2
        "namespace": "lab-b",
        "pod": "notebook",
        "container": "c",
    },
]
VALUES = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": {"n1": 0.9, "n2": 0.02},
    "DCGM_FI_DEV_FB_USED": {"n1": 12_000, "n2": 3_000},
    "DCGM_FI_DEV_FB_FREE": {"n1": 11_000, "n2": 6_500},
    "DCGM_FI_DEV_FB_RESERVED": {"n1": 500, "n2": 200},
    "DCGM_EXP_XID_ERRORS_COUNT": {"n1": 1, "n2": 0},
    "DCGM_FI_DEV_GPU_TEMP": {"n1": 61, "n2": 40},
}


def value(field: str, device: dict[str, str]) -> float:
    node = device.get("Hostname", device.get("hostname", ""))
    return float(VALUES.get(field, {}).get(node, 0))


def cluster() -> str:
    """Metrics of kube-state-metrics for two nodes and two pods."""
    shared, sliced = "nvidia_com_gpu_shared", "nvidia_com_mig_1g_10gb"
    found = [
        line("kube_node_labels", 1, {"node": node, "label_gpufleet_dev_pool": pool})
        for node, pool in (("n1", "chat"), ("n2", "slices"))
    ]
    for node, resource, amount in (("n1", shared, 4), ("n2", sliced, 56)):
        labels = {"node": node, "resource": resource, "unit": "integer"}
        found.append(line("kube_node_status_allocatable", amount, labels))
    for namespace, pod, node, resource in (
        ("lab-a", "train", "n1", shared),
        ("lab-b", "notebook", "n2", sliced),
    ):
        own = {"namespace": namespace, "pod": pod}
        found.append(line("kube_pod_status_phase", 1, {**own, "phase": "Running"}))
        asked = {**own, "container": "c", "node": node, "resource": resource, "unit": "integer"}
        found.append(line("kube_pod_container_resource_requests", 1, asked))
    return "\n".join([*found, ""])


def recorded() -> dict[str, int]:
    """Every recorded series that these two nodes and pods have, and how many of each at least."""
    assert FLEET is not None
    assert MONITORING is not None
    names = {rule["record"] for rule in recording_rules(FLEET, MONITORING)}
    absent = {"gpu:pending:count"}  # nothing waits
    assert absent <= names
    per_pool = {"gpu:team:usd_per_hour": 1}  # both namespaces are of one team
    return {name: per_pool.get(name, 2) for name in names - absent}


def everything_is_recorded(server: Prometheus) -> None:
    found = {name: len(server.ask(name)) for name in recorded()}
    missing = {
        name: (found[name], least) for name, least in recorded().items() if found[name] < least
    }
    assert not missing, missing


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    program = require(("prometheus",))["prometheus"]
    assert FLEET is not None
    assert MONITORING is not None
    folder = tmp_path_factory.mktemp("prometheus")
    groups = rule_groups(FLEET, MONITORING)
    for group in groups:
        group["interval"] = "1s"
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    (scrape,) = scrape_objects(FLEET, MONITORING)
    (endpoint,) = scrape["spec"]["endpoints"]
    pages = {"/metrics": exposition(exported(MONITORING), DEVICES, value), "/cluster": cluster()}
    with served(pages) as exporter:
        address = f"127.0.0.1:{exporter}"
        # As the operator finds pods: the target's own labels collide with the workload's.
        target = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x", "container": "e"}
        configuration = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [
                {
                    "job_name": "nvidia-dcgm-exporter",
                    "honor_labels": endpoint["honorLabels"],
                    "metrics_path": endpoint["path"],
                    "static_configs": [{"targets": [address], "labels": target}],
                },
                {
                    "job_name": "kube-state-metrics",
                    "honor_labels": True,
                    "metrics_path": "/cluster",
                    "static_configs": [{"targets": [address]}],
                },
            ],
        }
        with prometheus_server(program, folder, configuration) as server:
            server.settles(lambda: everything_is_recorded(server))
            yield server


def by(results: list[dict[str, Any]], label: str) -> dict[str, float]:
    return {one["metric"].get(label, ""): float(one["value"][1]) for one in results}


def test_both_spellings_of_the_host_and_the_workloads_pods(prometheus: Prometheus) -> None:
    def check() -> None:
        found = prometheus.ask("gpu:engine_active:ratio")
        assert by(found, "node") == {"n1": 0.9, "n2": 0.02}
        assert by(found, "workload_pod") == {"train": 0.9, "notebook": 0.02}
        sliced = next(one["metric"] for one in found if one["metric"]["node"] == "n2")
        assert (sliced["GPU_I_PROFILE"], sliced["GPU_I_ID"]) == ("1g.10gb", "7")

    prometheus.settles(check)


def test_memory_counts_what_the_driver_keeps(prometheus: Prometheus) -> None:
    def check() -> None:
        assert by(prometheus.ask("gpu:memory_used:ratio"), "node") == pytest.approx(
            {"n1": 12_000 / 23_500, "n2": 3_000 / 9_700}
        )

    prometheus.settles(check)


def test_an_xid_fires_for_the_gpu_that_has_it(prometheus: Prometheus) -> None:
    def check() -> None:
        fired = prometheus.ask('ALERTS{alertname="GpuXid", alertstate="firing"}')
        assert [one["metric"]["UUID"] for one in fired] == ["GPU-l4"]
        assert fired[0]["metric"]["xid"] == "79"

    prometheus.settles(check)


def test_the_recorded_money_is_the_bill(prometheus: Prometheus, tmp_path: Path) -> None:
    """Cost an hour in dashboards, and by `gpufleet cost` from the same series."""
    spec = tmp_path / "fleet.yaml"
    spec.write_text(yaml.safe_dump(SPEC))

    def check() -> None:
        teams = by(prometheus.ask("gpu:team:usd_per_hour"), "team")
        idle = sum(by(prometheus.ask("gpu:idle:usd_per_hour"), "node").values())
        nodes = sum(by(prometheus.ask("gpu:node:usd_per_hour"), "node").values())
        assert sum(teams.values()) + idle == pytest.approx(nodes)
        report = bill(prometheus, tmp_path / "dump.json", spec)
        hours = report["nodeSeconds"] / 2 / 3600
        billed = {row["name"]: row["microUsd"] / 1e6 / hours for row in report["rows"]}
        assert billed["lab"] == pytest.approx(teams["lab"], rel=0.01)
        assert billed["idle"] + billed["stranded"] == pytest.approx(idle, rel=0.01)

    prometheus.settles(check)


def bill(prometheus: Prometheus, dump: Path, spec: Path) -> dict[str, Any]:
    """The report over the last seconds, once every series has been there for all of them."""
    end = time.time()
    answer = prometheus.get(
        "/api/v1/query_range",
        query='{__name__=~"gpu:node:pool|gpu:requested:count"}',
        start=str(end - WINDOW),
        end=str(end),
        step="1",
    )
    assert [len(one["values"]) for one in answer["result"]] == [WINDOW + 1] * 4
    dump.write_text(json.dumps({"data": answer}))
    options = [str(dump), "--spec", str(spec), "--step", "1", "--format", "json"]
    ended = CliRunner().invoke(command, options)
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.output)


def test_every_query_of_the_dashboards_runs(prometheus: Prometheus) -> None:
    """Not only parsed: joins whose sides do not match fail at evaluation."""
    assert FLEET is not None
    assert MONITORING is not None
    asked = [
        query
        for dashboard in dashboards(FLEET, MONITORING)
        for query in queries(dashboard)
        if "kueue_" not in query
    ]

    def check() -> None:
        silent = [query for query in asked if not prometheus.ask(query)]
        # Nothing waits here, and MIG manager failed nowhere.
        quiet = ("gpu:pending:count", 'mig_config_state="failed"')
        assert all(any(one in query for one in quiet) for query in silent), silent
        assert len(asked) - len(silent) >= 20

    prometheus.settles(check)
