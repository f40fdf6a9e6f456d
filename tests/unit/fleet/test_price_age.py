"""A year later: every outdated figure is named, and once. The edition's own files have their
dates."""

import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.catalogue.edition import DATA
from gpufleet.cli.compile import command as compile_command
from gpufleet.cli.explain import command as explain_command
from gpufleet_planner.commands.plan import command as plan_command

FOLDER = DATA / "2026.11"
REGION = "us-east-1"
AS_OF = date(2027, 11, 21)
LIMITS = {"onDemand": 365, "spot": 120}


def lines(table: str) -> list[dict[str, Any]]:
    text = (FOLDER / f"{table}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def figures() -> dict[tuple[str, str], date]:
    """(machine type, way of buying) -> the day of the price that counts: that of the region, else
    the first of the file, from the files."""
    days = {row["key"]: date.fromisoformat(row["date"]) for row in lines("sources")}
    found: dict[tuple[str, str], date] = {}
    for row in lines("prices-aws"):
        key = (row["instance"], row["buy"])
        if row.get("offer", "priced") == "priced" and (key not in found or row["region"] == REGION):
            day = row.get("date")
            found[key] = days[row["source"]] if day is None else date.fromisoformat(day)
    return found


def fleet(types: list[str]) -> str:
    pools = [
        {
            "name": f"p{number}-{buy.lower()}",
            "instanceTypes": [name],
            "nodes": {"min": 0, "max": 1},
            "capacity": [{buy: {}}],
        }
        for number, name in enumerate(types)
        for buy in ("onDemand", "spot")
    ]
    head = {"catalogue": "2026.11", "platform": "eks",
            "cluster": {"name": "ml", "region": REGION}}  # fmt: skip
    return json.dumps({**head, "pools": pools})


def old_of(stdout: str) -> list[str]:
    findings = json.loads(stdout)["findings"]
    found = [one for one in findings if one["code"] == "price-old"]
    assert len(found) <= 1, "once for a fleet"
    return found[0]["evidence"]["prices"] if found else []


TYPES = ["g6.xlarge", "g6.48xlarge", "g5.xlarge", "g6e.2xlarge", "p4d.24xlarge", "p5.48xlarge"]


@pytest.mark.parametrize(
    ("as_of", "too_old"), [(AS_OF, LIMITS), (date(2026, 11, 23), {}), (date(2027, 6, 1), LIMITS)]
)
def test_every_figure_is_named_once_when_it_is_too_old(
    as_of: date, too_old: dict[str, int], tmp_path: Path
) -> None:
    days = figures()
    expected = {
        f"{name} as {buy} ({day})"
        for (name, buy), day in days.items()
        if name in TYPES and as_of - day > timedelta(LIMITS[buy])
    }
    assert bool(expected) == bool(too_old)
    spec = tmp_path / "fleet.json"
    spec.write_text(fleet(TYPES), encoding="utf-8")
    words = [str(spec), "--as-of", as_of.isoformat()]
    named = old_of(CliRunner().invoke(compile_command, [*words, "--format", "json"]).stdout)
    assert sorted(named) == sorted(expected)
    explained = old_of(CliRunner().invoke(explain_command, [*words, "--format", "json"]).stdout)
    assert sorted(explained) == sorted(expected)


PLAN = """
catalogue: "2026.11"
cluster: {name: ml, region: us-east-1}
platform: eks
workloads:
  - {name: chat, workload: inference, model: Llama-3.1-8B, context: 8192, prompt: 1024,
     output: 256, target: {requestsPerSecond: 2}}
"""


def test_a_plan_names_what_its_cost_rests_on(tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(PLAN, encoding="utf-8")

    def plan(*options: str) -> dict[str, Any]:
        answer = CliRunner().invoke(plan_command, [str(file), "--format", "json", *options])
        assert answer.exit_code == 0, answer.output
        return json.loads(answer.stdout)

    assert not old_of(json.dumps(plan()))
    later = plan("--as-of", AS_OF.isoformat())
    named = old_of(json.dumps(later))
    pools = later["spec"]["pools"]
    bought = {
        (name, "spot" if "spot" in pool["capacity"][0] else "onDemand")
        for pool in pools
        for name in pool["instanceTypes"]
    }
    days = figures()
    expected = {f"{name} as {buy} ({days[name, buy]})" for name, buy in bought}
    assert expected <= set(named)
    assert all(re.fullmatch(r"\S+ as (onDemand|spot) \(\d{4}-\d\d-\d\d\)", one) for one in named)
    assert len(named) == len(set(named))
