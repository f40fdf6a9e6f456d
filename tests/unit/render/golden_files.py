"""Rendered artefacts compared with files in `golden/`.

`UPDATE_GOLDEN=1 pytest tests/unit/render` writes them again; the difference is then reviewed.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name} changed; see golden_files.py"
