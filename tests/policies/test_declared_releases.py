"""Refusals by later releases of operators, next to the release that is declared."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.contract.schemas.gpu_refusals import refusals
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.wrappers.charts import CHARTS
from tests.policies.objects import TODAY
from tests.reading import read_yaml

CODE = "object-operator-refuses"
ROWS: list[dict[str, Any]] = [
    row
    for row in read_yaml(Path(__file__).with_name("silent_pairs.yaml"))
    if row["rule"] == CODE and "targetRevision" in str(row["objects"])
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["why"])
@pytest.mark.parametrize("release", ["99.0.0", "{{ .Values.version }}"])
def test_a_later_or_unknown_release_refuses_it(row: dict[str, Any], release: str) -> None:
    text = yaml.safe_dump_all(row["objects"], sort_keys=False)
    text = re.sub(r"targetRevision: \S+", f"targetRevision: '{release}'", text)
    found = audit([Input("objects.yaml", content=text.encode())], read_settings({}), TODAY)
    assert CODE in {one.code for one in found.findings}


def test_each_bound_names_a_chart_that_is_read() -> None:
    known = {one.name for one in CHARTS}
    rows = [row for some in refusals().values() for row in some]
    assert {chart for row in rows for chart in row.get("since", {})} <= known
