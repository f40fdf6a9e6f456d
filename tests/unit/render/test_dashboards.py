"""Dashboards in Grafana's format: shape, layout, and every series that they query."""

import json
import re
from typing import Any

import jsonschema
import pytest

from gpufleet.render.dashboards import dashboard_config_maps, dashboards
from gpufleet.render.monitoring_artefacts import recording_rules
from tests.unit.render.dashboard_queries import queries
from tests.unit.render.fleets import TEAMS, compiled, eks, watched
from tests.unit.render.known_series import KNOWN
from tests.unit.render.series_names import names_in

FLEET = eks(queues={"teams": TEAMS}, monitoring={}, budget={"usdPerHour": 900})
MONITORING = FLEET.spec.monitoring
assert MONITORING is not None
WATCHED = watched()
assert WATCHED.spec.monitoring is not None
ALL = {one["uid"]: one for one in dashboards(FLEET, MONITORING)}
ALL["watched"] = dashboards(WATCHED, WATCHED.spec.monitoring)[0]

# What Grafana 10 and later need of a panel to draw it, written for the kinds we use.
PANEL: dict[str, Any] = {
    "type": "object",
    "required": ["id", "type", "title", "gridPos"],
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "type": {"enum": ["row", "timeseries", "stat", "bargauge", "table"]},
        "title": {"type": "string", "minLength": 1},
        "gridPos": {
            "type": "object",
            "required": ["h", "w", "x", "y"],
            "additionalProperties": False,
            "properties": {
                "h": {"type": "integer", "minimum": 1},
                "w": {"type": "integer", "minimum": 1, "maximum": 24},
                "x": {"type": "integer", "minimum": 0, "maximum": 23},
                "y": {"type": "integer", "minimum": 0},
            },
        },
        "targets": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["refId", "expr", "datasource", "legendFormat"],
                "properties": {"refId": {"pattern": "^[A-Z]$"}, "expr": {"minLength": 1}},
            },
        },
        "fieldConfig": {
            "type": "object",
            "required": ["defaults", "overrides"],
            "properties": {
                "defaults": {
                    "type": "object",
                    "required": ["unit", "thresholds"],
                    "properties": {
                        "unit": {
                            "enum": ["short", "percentunit", "currencyUSD", "celsius", "watt", "s"]
                        }
                    },
                }
            },
        },
    },
    "if": {"properties": {"type": {"const": "row"}}},
    "else": {"required": ["targets", "fieldConfig", "options", "datasource"]},
}


def test_there_is_one_for_fleet_team_slices_and_cost() -> None:
    made = ["gpufleet-fleet", "gpufleet-team", "gpufleet-slices", "gpufleet-cost"]
    assert list(ALL) == [*made, "watched"]
    titles = {panel["title"] for panel in ALL["watched"]["panels"]}
    assert {"Nodes in service", "Stopped when idle"} <= titles
    assert "Nodes in service" not in {p["title"] for p in ALL["gpufleet-fleet"]["panels"]}


def test_only_what_has_something_to_show() -> None:
    plain = compiled(
        "vsphere",
        {
            "own": {
                "gpu": "L4",
                "nodes": {"min": 1, "max": 1},
                "vsphere": {"cpus": 8, "memoryGib": 64, "template": "t"},
            }
        },
        monitoring={},
    )
    assert plain.spec.monitoring is not None
    assert [one["uid"] for one in dashboards(plain, plain.spec.monitoring)] == ["gpufleet-fleet"]


@pytest.mark.parametrize("uid", list(ALL))
def test_panels_are_well_formed(uid: str) -> None:
    for panel in ALL[uid]["panels"]:
        jsonschema.Draft202012Validator(PANEL).validate(panel)
    assert ALL[uid]["schemaVersion"] == 39
    ids = [panel["id"] for panel in ALL[uid]["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("uid", list(ALL))
def test_panels_do_not_overlap(uid: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in ALL[uid]["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("uid", list(ALL))
def test_every_series_is_exported_or_recorded(uid: str) -> None:
    fleet = WATCHED if uid == "watched" else FLEET
    assert fleet.spec.monitoring is not None
    recorded = {rule["record"] for rule in recording_rules(fleet, fleet.spec.monitoring)}
    for query in queries(ALL[uid]):
        unknown = names_in(query) - KNOWN - recorded - {"ALERTS"}
        assert not unknown, (query, unknown)


@pytest.mark.parametrize("uid", list(ALL))
def test_legends_name_labels_that_the_query_keeps(uid: str) -> None:
    for panel in ALL[uid]["panels"]:
        for target in panel.get("targets", []):
            kept = re.findall(r"by \(([^)]*)\)", target["expr"])
            if not kept or not target["legendFormat"]:
                continue
            outer = {label.strip() for label in kept[0].split(",")}
            asked = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert asked <= outer, (panel["title"], asked - outer)


def test_config_maps_carry_the_sidecars_label() -> None:
    assert MONITORING is not None
    maps = dashboard_config_maps(FLEET, MONITORING)
    assert len(maps) == 4
    for one in maps:
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        ((name, text),) = one["data"].items()
        assert name == f"{json.loads(text)['uid']}.json"
        assert len(text) < 500_000  # of the megabyte a ConfigMap may hold


def test_dashboards_can_be_switched_off() -> None:
    off = eks(monitoring={"dashboards": {"enabled": False}})
    assert off.spec.monitoring is not None
    assert dashboard_config_maps(off, off.spec.monitoring) == []


def test_the_budget_is_the_red_line() -> None:
    (panel,) = (p for p in ALL["gpufleet-cost"]["panels"] if p["title"] == "An hour costs")
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [step["value"] for step in steps] == [None, 720.0, 900.0]


def test_a_gpu_that_pods_share_counts_once() -> None:
    """Each of its pods may have a series of the whole GPU."""
    asked = [one for one in queries(ALL["gpufleet-fleet"]) if "gpu:" in one]
    measured = [one for one in asked if re.search("engine_active|memory_used|power:watts", one)]
    assert len(measured) == 5
    for query in measured:
        assert re.search(r"^\(?(avg|sum)( by \(node\) )?.*max by \((node, )?UUID", query), query
