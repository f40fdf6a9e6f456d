"""Metrics, recorded series and alerts: the objects, and every name they use."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpufleet.fleet import Fleet
from gpufleet.render.dcgm_metrics import COUNTERS, exported, exporter_csv
from gpufleet.render.monitoring_artefacts import (
    alerts,
    recording_rules,
    rule_groups,
    rule_object,
    validate_alerts,
)
from gpufleet.render.scrape_objects import scrape_objects
from gpufleet.spec.monitoring import Monitoring
from tests.unit.render.fleets import TEAMS, eks, watched
from tests.unit.render.known_series import KNOWN, KUEUE
from tests.unit.render.series_names import names_in
from tests.unit.render.upstream_definitions import assert_accepted

REFERENCE = Path(__file__).parents[4] / "shared/reference/charts"
COUNTERS_FILE = REFERENCE / "dcgm-exporter-4.8.2.default-counters.csv"


def fleet(**monitoring: Any) -> Any:
    return eks(queues={"teams": TEAMS}, monitoring=monitoring)


def settings(**monitoring: Any) -> Monitoring:
    found = fleet(**monitoring).spec.monitoring
    assert found is not None
    return found


def test_the_exporters_list_is_upstreams_with_more_switched_on() -> None:
    if not COUNTERS_FILE.is_file():
        pytest.skip(f"the exporter's own list is not next to the checkout ({COUNTERS_FILE})")
    on: dict[str, str] = {}
    known: dict[str, str] = {}
    for line in COUNTERS_FILE.read_text().splitlines():
        parts = [part.strip(" #") for part in line.split(",", 2)]
        if len(parts) == 3 and parts[0].startswith("DCGM_"):
            known[parts[0]] = parts[1]
            if not line.lstrip().startswith("#"):
                on[parts[0]] = parts[1]
    assert {c.field: c.kind for c in COUNTERS if c.on_by_default} == on
    assert {c.field: c.kind for c in COUNTERS}.items() <= known.items()


def test_the_csv_is_complete_and_well_formed() -> None:
    lines = [line for line in exporter_csv(Monitoring()).splitlines() if line[0] != "#"]
    fields = [re.fullmatch(r"(DCGM_\w+), (gauge|counter|label), [^,]+", line) for line in lines]
    assert all(fields), lines
    assert len({f[1] for f in fields if f}) == len(COUNTERS)


def test_without_profiling_nothing_needs_it() -> None:
    plain = Monitoring.model_validate({"profiling": False})
    assert not [c for c in exported(plain) if c.profiling]
    text = str(rule_groups(fleet(profiling=False), plain))
    assert "DCGM_FI_PROF" not in text
    assert "GpuWithoutTensorCores" not in text
    assert "GpuIdle" in text


@pytest.mark.parametrize("honor", [True, False])
def test_queries_follow_the_setting_of_the_scrape(honor: bool) -> None:
    made = fleet(honorLabels=honor)
    monitoring = made.spec.monitoring
    (scrape,) = scrape_objects(made, monitoring)
    assert scrape["spec"]["endpoints"][0]["honorLabels"] is honor
    expression = recording_rules(made, monitoring)[0]["expr"]
    assert ('"exported_pod"' in expression) is not honor
    assert ('"pod"' in expression) is honor


@pytest.mark.parametrize("made", [fleet(), watched()], ids=["plain", "watched"])
def test_every_series_is_exported_or_recorded_before(made: Fleet) -> None:
    assert made.spec.monitoring is not None
    recorded: set[str] = set()
    for group in rule_groups(made, made.spec.monitoring):
        for rule in group["rules"]:
            unknown = names_in(rule["expr"]) - KNOWN - recorded
            assert not unknown, (rule, unknown)
            recorded |= {rule["record"]} if "record" in rule else set()


def test_dcgm_series_are_on_the_list_the_exporter_gets() -> None:
    made = fleet()
    listed = {counter.field for counter in exported(made.spec.monitoring)}
    used = set().union(
        *(
            names_in(rule["expr"])
            for group in rule_groups(made, made.spec.monitoring)
            for rule in group["rules"]
        )
    )
    assert {name for name in used if name.startswith("DCGM")} <= listed


@pytest.mark.parametrize(
    ("backend", "rules", "scrape"),
    [
        (
            "prometheus",
            "monitoring.coreos.com_prometheusrules.yaml",
            "monitoring.coreos.com_servicemonitors.yaml",
        ),
        (
            "victoriaMetrics",
            "operator.victoriametrics.com_vmrules.yaml",
            "operator.victoriametrics.com_vmservicescrapes.yaml",
        ),
    ],
)
def test_definitions_accept_the_objects(backend: str, rules: str, scrape: str) -> None:
    made = fleet(backend=backend, labels={"release": "kps"})
    rule = rule_object(made, made.spec.monitoring)
    assert rule is not None
    assert rule["metadata"]["labels"]["release"] == "kps"
    assert_accepted(rules, rule)
    scrapes = scrape_objects(made, made.spec.monitoring)
    assert len(scrapes) == 2  # the exporter, and Kueue, whose chart takes no labels
    for one in scrapes:
        assert one["metadata"]["labels"]["release"] == "kps"
        assert_accepted(scrape, one)


@pytest.mark.parametrize(
    ("backend", "definition"),
    [
        ("prometheus", "monitoring.coreos.com_podmonitors.yaml"),
        ("victoriaMetrics", "operator.victoriametrics.com_vmpodscrapes.yaml"),
    ],
)
def test_servers_are_scraped_by_their_pods(backend: str, definition: str) -> None:
    server = {"name": "vllm", "namespace": "product", "labels": {"app": "vllm"}}
    made = fleet(backend=backend, servers=[server])
    scrape = scrape_objects(made, made.spec.monitoring)[-1]
    assert_accepted(definition, scrape)
    assert scrape["spec"]["selector"] == {"matchLabels": {"app": "vllm"}}
    assert scrape["spec"]["podMetricsEndpoints"][0]["port"] == "http"


def test_no_backend_makes_nothing() -> None:
    made = fleet(backend="none")
    assert rule_object(made, made.spec.monitoring) is None
    assert scrape_objects(made, made.spec.monitoring) == []


def test_alerts_can_be_left_out_by_name() -> None:
    made = fleet(alerts={"without": ["GpuIdle", "GpuNothing"]})
    names = [alert["alert"] for alert in alerts(made, made.spec.monitoring)]
    assert "GpuIdle" not in names
    assert len(names) == len(set(names))
    (finding,) = validate_alerts(made)
    assert finding.path == "monitoring.alerts.without[1]"
    assert "'GpuNothing'" in finding.message
    assert alerts(fleet(), Monitoring.model_validate({"alerts": {"enabled": False}})) == []


def test_thresholds_are_the_declarations() -> None:
    made = fleet(alerts={"idlePercent": 12.5, "idleMinutes": 40, "pendingMinutes": 3})
    found = {alert["alert"]: alert for alert in alerts(made, made.spec.monitoring)}
    assert found["GpuIdle"]["expr"].endswith("< 0.125")
    assert (found["GpuIdle"]["for"], found["GpuPodPending"]["for"]) == ("30m", "3m")


def test_prices_are_those_the_fleet_was_compiled_with() -> None:
    made = fleet()
    rules = recording_rules(made, made.spec.monitoring)
    pools = {r["labels"]["pool"]: r for r in rules if r["record"] == "gpu:pool_node:usd_per_hour"}
    for pool in made.pools:
        assert pools[pool.name]["expr"] == f"vector({pool.hourly_usd})"
    units = {
        (r["labels"]["pool"], r["labels"]["resource"]): float(r["expr"][7:-1])
        for r in rules
        if r["record"] == "gpu:unit:usd_per_hour"
    }
    # An L4 offered four times: a quarter of the node each.
    assert units[("chat", "nvidia_com_gpu_shared")] == pytest.approx(
        float(made.pool("chat").hourly_usd) / 4
    )


def test_kueues_series_are_spelt_as_kueue_spells_them() -> None:
    assert all(name.startswith("kueue_") for name in KUEUE)


def test_nodes_that_are_watched_have_alerts_with_their_floors_and_times() -> None:
    made = watched()
    assert made.spec.monitoring is not None
    found = {alert["alert"]: alert for alert in alerts(made, made.spec.monitoring)}
    assert found["GpuNodeUntested"]["for"] == "120m"
    floors = found["GpuPoolAtFloor"]["expr"]
    assert 'label_replace(vector(0), "pool", "lab", "", "")' in floors
    assert 'ceil(count(gpu:node:pool{pool="train"}) * 75 / 100)' in floors
    assert {"GpuNodeRefused", "GpuNodeFenced", "GpuRepairStopped", "GpuLeaseUnknown"} <= set(found)
    plain = {alert["alert"] for alert in alerts(fleet(), settings())}
    assert not plain & {"GpuNodeRefused", "GpuNodeFenced", "GpuPoolAtFloor", "GpuLeaseUnknown"}
