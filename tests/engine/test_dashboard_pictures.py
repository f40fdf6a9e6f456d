"""The dashboards over one day of a fleet, as pictures of the documentation.

The real promtool turns the day's series into blocks and evaluates our rules over them; the real
Prometheus answers each panel's query. `GPUFLEET_WRITE_PICTURES=1` writes docs/monitoring.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dashboards import dashboards
from gpufleet.render.monitoring_artefacts import rule_groups
from tests.engine.conftest import require
from tests.engine.dashboard_picture import Answer, draw
from tests.engine.fleet_day import BEGIN, END, SPEC, STEP, day
from tests.engine.prometheus_server import prometheus_server

pytestmark = [pytest.mark.sandbox]

PAGES = Path(__file__).parents[2] / "docs" / "monitoring"
SILENT = {"Nodes that could not be cut", "Waiting for a slice"}
"""Panels of faults that this day does not have."""


def as_recorded(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule that promtool evaluates over the past: it leaves out alerts.

    An alert becomes a series as Prometheus records it, once its expression had a result at each
    step of its `for`.
    """
    if "record" in rule:
        return rule
    minutes = int(rule.get("for", "0m").removesuffix("m"))
    steps = minutes * 60 // STEP
    lasting = f"count_over_time(({rule['expr']})[{minutes}m:{STEP}s]) >= {steps}"
    return {
        "record": "ALERTS",
        "expr": f"({lasting if steps else rule['expr']}) * 0 + 1",
        "labels": rule["labels"] | {"alertname": rule["alert"], "alertstate": "firing"},
    }


def levels(rules: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rules by their order: a rule reads only series that are scraped or recorded before."""
    found: list[list[dict[str, Any]]] = []
    left = rules
    while left:
        open_names = {rule["record"] for rule in left}
        ready = [rule for rule in left if not any(name in rule["expr"] for name in open_names)]
        assert ready, left
        found.append(ready)
        left = [rule for rule in left if rule not in ready]
    return found


def test_each_dashboard_shows_the_day(tmp_path: Path) -> None:
    programs = require(("prometheus", "promtool"))
    compiled = compile_data(SPEC)
    fleet = compiled.fleet
    assert fleet is not None
    monitoring = fleet.spec.monitoring
    assert monitoring is not None

    def blocks_from(*arguments: str) -> None:
        done = subprocess.run(
            [str(programs["promtool"]), "tsdb", "create-blocks-from", *arguments],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    (tmp_path / "day.txt").write_text(day())
    data = str(tmp_path / "data")
    blocks_from("openmetrics", str(tmp_path / "day.txt"), data)
    given = [rule for group in rule_groups(fleet, monitoring) for rule in group["rules"]]
    span = (f"--start={BEGIN}", f"--end={END}", f"--eval-interval={STEP}s")
    for number, rules in enumerate(levels([as_recorded(rule) for rule in given])):
        file = tmp_path / f"rules-{number}.yaml"
        file.write_text(yaml.safe_dump({"groups": [{"name": "day", "rules": rules}]}))
        with prometheus_server(programs["prometheus"], tmp_path, {}) as server:
            url = f"--url={server.base}"
            blocks_from("rules", *span, url, f"--output-dir={data}", str(file))
    written = os.environ.get("GPUFLEET_WRITE_PICTURES") == "1"
    folder = PAGES if written else tmp_path
    with prometheus_server(programs["prometheus"], tmp_path, {}) as server:

        def ask(query: str) -> Answer:
            return server.get("/api/v1/query", query=query, time=str(END))["result"]

        def ask_range(query: str) -> Answer:
            window = {"start": str(BEGIN), "end": str(END), "step": "720"}
            return server.get("/api/v1/query_range", query=query, **window)["result"]

        broken = ask('ALERTS{alertname="GpuXid"}')
        made = dashboards(fleet, monitoring)
        silent = {
            title
            for page in made
            for title in draw(page, ask, ask_range, (BEGIN, END), folder / f"{page['uid']}.svg")
        }
    assert len(made) == 4
    assert silent == SILENT
    assert [one["metric"]["xid"] for one in broken] == ["79"]
