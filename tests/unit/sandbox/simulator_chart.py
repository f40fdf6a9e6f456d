"""A simulator chart for tests: its files, its schema's result, its rendering by Helm."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.reading import yaml_data

ROOT = Path(__file__).parents[3]
CHARTS = ROOT / "sandbox/gpufleet_sandbox/charts"
UPSTREAM = ROOT.parent / "shared/reference/charts"
HELM = os.environ.get("GPUFLEET_TEST_HELM") or shutil.which("helm")

Values = dict[str, Any]


def load(path: Path) -> Any:
    return yaml_data(path.read_text())


def violations(chart: str, values: Values) -> list[str]:
    """Result of the chart's schema for all of its values."""
    schema = json.loads((CHARTS / chart / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(values)]


def upstream(chart: str, version: str) -> Values:
    """The values of the vendor's chart; skips where they are not."""
    path = UPSTREAM / f"{chart}-{version}.values.yaml"
    if not path.is_file():
        pytest.skip(f"upstream's values are not next to the checkout ({path})")
    return load(path)


def laid_over(base: Values, over: Values) -> Values:
    """As Helm merges, except that null stays: the schema validates it too."""
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = laid_over(result[key], value) if both else value
    return result


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is not a mapping, and every empty mapping, by dotted key."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    else:
        yield path, value


def template(
    chart: str, folder: Path, values: Values, *options: str
) -> "subprocess.CompletedProcess[str]":
    """Output of `helm template`; skips without Helm."""
    if HELM is None:
        pytest.skip("no helm on PATH (GPUFLEET_TEST_HELM names one); engine tests render too")
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    command = [HELM, "template", "r", str(CHARTS / chart), "-f", str(file), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)
