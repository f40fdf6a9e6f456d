"""Registrations of a program, compared with a file in `golden/`.

`UPDATE_GOLDEN=1 pytest tests/unit/components` writes the files again; the difference is reviewed.
"""

import json
import os
from pathlib import Path
from typing import Any

from tests.unit.components.conftest import Recording

FOLDER = Path(__file__).parent / "golden"


def assert_snapshot(name: str, recording: Recording) -> None:
    """The exact inputs of every resource, with parents and dependencies."""
    found = [
        {
            "type": one.type,
            "name": one.name,
            "parent": one.parent,
            "dependsOn": one.depends_on,
            "inputs": whole(one.inputs),
        }
        for one in sorted(recording.resources, key=lambda one: (one.type, one.name))
    ]
    text = json.dumps(found, indent=2, sort_keys=True) + "\n"
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} changed; see snapshots.py"


def whole(value: Any) -> Any:
    """Numbers cross the engine's interface as floats."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
