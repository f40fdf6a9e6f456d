import json
from typing import Any

import pytest

from gpufleet.addons.gpu_monitoring import GpuMonitoring
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.gpu_fleet import GpuFleet

RELEASE = "kubernetes:helm.sh/v3:Release"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
RULE = "kubernetes:monitoring.coreos.com/v1:PrometheusRule"
SCRAPE = "kubernetes:monitoring.coreos.com/v1:ServiceMonitor"


def args(monitoring: dict[str, Any] | None = None, **more: Any) -> Any:
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "region": "us-east-1",
        "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 3}}],
        "monitoring": monitoring or {},
        **more,
    }


def test_rules_scrape_and_dashboards(run: Any) -> None:
    recorded = run(lambda: GpuMonitoring("m", args({"labels": {"release": "kps"}})))
    groups = [group["name"] for group in recorded.one(RULE).inputs["spec"]["groups"]]
    assert groups == ["gpufleet-recorded", "gpufleet-alerts"]
    scrape = recorded.one(SCRAPE).inputs
    assert scrape["metadata"]["labels"]["release"] == "kps"
    assert scrape["spec"]["namespaceSelector"] == {"matchNames": ["gpu-operator"]}
    drawn = {m.inputs["metadata"]["name"]: m.inputs["data"] for m in recorded.all(CONFIG_MAP)}
    assert set(drawn) == {"gpufleet-fleet", "gpufleet-cost"}
    assert json.loads(drawn["gpufleet-cost"]["gpufleet-cost.json"])["title"] == "GPU cost"
    assert recorded.all(RELEASE) == []  # the GPU Operator brings the exporter


def test_without_an_operator_the_exporter_comes_by_its_own_chart(run: Any) -> None:
    off = {"gpu_operator": {"enabled": False}, "device_plugin": {"enabled": True}}
    recorded = run(lambda: GpuMonitoring("m", args({"profiling": False}, addons=off)))
    release = recorded.one(RELEASE)
    assert release.inputs["chart"] == "dcgm-exporter"
    assert release.inputs["version"] == "4.8.2"
    values = release.inputs["values"]
    assert values["serviceMonitor"] == {"enabled": False}
    assert "DCGM_FI_PROF" not in values["customMetrics"]
    assert values["securityContext"]["capabilities"] == {"add": [], "drop": ["ALL"]}
    assert recorded.one(SCRAPE).inputs["spec"]["endpoints"][0]["port"] == "metrics"


def test_victoria_metrics_gets_its_own_kinds_and_no_other(run: Any) -> None:
    recorded = run(lambda: GpuMonitoring("m", args({"backend": "victoriaMetrics"})))
    kinds = {r.type.rsplit(":", 1)[1] for r in recorded.resources}
    assert {"VMRule", "VMServiceScrape"} < kinds
    assert not kinds & {"PrometheusRule", "ServiceMonitor"}


def test_unknown_alerts_are_named(run: Any) -> None:
    recorded = run(lambda: GpuMonitoring("m", args({"alerts": {"without": ["GpuTired"]}})))
    (warned,) = recorded.warnings
    assert "'GpuTired' is not an alert of this fleet" in warned


def test_wrong_settings_are_refused(run: Any) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuMonitoring("m", args({"interval_seconds": 5, "scrape_timeout_seconds": 10}))
        assert "over the limit" in str(caught.value)

    assert run(program).resources == []


def test_a_fleet_tells_the_operator_what_to_measure(run: Any) -> None:
    spec = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "ml"},
        "pools": [
            {
                "name": "slices",
                "instanceTypes": ["p4de.24xlarge"],
                "nodes": {"min": 1, "max": 1},
                "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
            }
        ],
        "monitoring": {"podLabels": ["^app$"], "intervalSeconds": 15},
    }
    recorded = run(lambda: GpuFleet("fleet", {"spec": spec}))
    exporter = recorded.one(RELEASE).inputs["values"]["dcgmExporter"]
    assert exporter["serviceMonitor"] == {"enabled": False}
    assert exporter["enablePodLabels"] is True
    assert exporter["env"] == [{"name": "DCGM_EXPORTER_INTERVAL", "value": "15000"}]
    name = exporter["config"]["name"]
    (files,) = (m for m in recorded.all(CONFIG_MAP) if m.inputs["metadata"]["name"] == name)
    assert "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL, counter" in files.inputs["data"]["dcgm-metrics.csv"]
    assert recorded.one(RULE).parent == "fleet-monitoring"


def test_no_monitoring_makes_nothing_of_it(run: Any) -> None:
    spec = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "ml"},
        "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
    }
    recorded = run(lambda: GpuFleet("fleet", {"spec": spec}))
    assert recorded.all(RULE) == []
    assert not [r for r in recorded.resources if "monitoring" in r.name]
