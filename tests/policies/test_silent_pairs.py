"""Legal objects next to each other for which a rule of rules/pairs.py has no finding."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY
from tests.reading import read_yaml

ROWS: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("silent_pairs.yaml"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['rule']}: {row['why']}")
def test_nothing_is_found(row: dict[str, Any]) -> None:
    text = yaml.safe_dump_all(row["objects"], sort_keys=False)
    found = audit([Input("objects.yaml", content=text.encode())], read_settings({}), TODAY)
    assert not found.unread
    assert row["rule"] not in {one.code for one in found.findings}
