"""Default values of chart releases have no finding at their own version."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufleet_policies.configurations.kinds import validate_text
from tests.reading import read_yaml

HERE = Path(__file__).parent
CHARTS = ("gpu-operator", "network-operator", "device-plugin", "dra-driver")
REFUSED_BY_ITSELF = {"dra-driver": ["dra-chart-gpus-override"]}
"""The chart's templates fail with its own defaults, until GPUs are turned on or off."""


def patched(values: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(values) if isinstance(values, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


def releases(chart: str) -> Iterator[tuple[str, dict[str, Any]]]:
    file = HERE / f"{chart.replace('-', '_')}_releases.yaml"
    values: dict[str, Any] = {}
    for release in read_yaml(file):
        values = release.get("values") or patched(values, release["patch"])
        yield release["version"], copy.deepcopy(values)


RELEASES = [
    pytest.param(chart, version, values, id=f"{chart} {version}")
    for chart in CHARTS
    for version, values in releases(chart)
]


@pytest.mark.parametrize(("chart", "version", "values"), RELEASES)
def test_default_values_have_no_finding(chart: str, version: str, values: dict[str, Any]) -> None:
    release = version.lstrip("v").partition("-")[0]
    judgement = validate_text(f"{chart}-values", json.dumps(values), context={"version": release})
    codes = [one.code for one in judgement.findings]
    assert codes == REFUSED_BY_ITSELF.get(chart, []), judgement.findings
