"""Every object that the recorded declarations render fits the schema of its kind."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.contract.schemas.validator import has_schema, schema_problems
from tests.reading import yaml_documents
from tests.recorded.commands import rendered
from tests.recorded.differences import recordings
from tests.recorded.programs import DECLARATIONS

WITHOUT = frozenset(
    {
        # Definitions that the catalogue does not have: the sandbox has its own copies.
        "cloud.google.com",
        "config.kueue.x-k8s.io",  # a program's file, which no API server sees
        "nfd.openshift.io",
    }
)
"""API groups of rendered objects that have no schema."""
FOLDER = "/${DATACENTER}/vm/gpu"
"""Replacement of the variable in a rendered MachineSet: an absolute path."""


def objects(value: Any) -> list[dict[str, Any]]:
    """Objects of Kubernetes among rendered files, as text or data."""
    if isinstance(value, str):
        try:
            documents = list(yaml_documents(value))
        except yaml.YAMLError:
            return []
        return [
            one
            for document in documents
            if not isinstance(document, str)
            for one in objects(document)
        ]
    if isinstance(value, list):
        return [found for one in value for found in objects(one)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str):
        return [value]
    return [found for one in value.values() for found in objects(one)]


@pytest.mark.parametrize("name", recordings("render"))
def test_rendered_objects_fit_their_schemas(name: str, tmp_path: Path) -> None:
    judged = 0
    problems: list[str] = []
    made = json.dumps(rendered(DECLARATIONS / f"{name}.yaml", tmp_path / "out"))
    for document in objects(json.loads(made.replace("${FOLDER}", FOLDER))):
        version, kind = document["apiVersion"], document["kind"]
        if not has_schema(version, kind):
            assert version.partition("/")[0] in WITHOUT, f"{version} {kind}"
            continue
        judged += 1
        problems += [f"{kind}: {one.path}: {one.message}" for one in schema_problems(document)]
    assert problems == []
    assert judged or name == "Pulumi.gke-dev"  # it renders compute classes alone
