"""A type checker shows the mistakes of a user's program.

The programs are not run. The mistakes are those of a check of 28 November 2026 and more of the
kind: wrong keys, wrong words, wrong shapes.
"""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "typed_programs"
ROOT = Path(__file__).parents[3]


def statements(program: Path) -> dict[int, int]:
    """Line -> first line of its statement."""
    return {
        line: one.lineno
        for one in ast.parse(program.read_text()).body
        for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }


def test_every_planted_mistake_is_shown_and_nothing_else(tmp_path: Path) -> None:
    programs = shutil.copytree(FOLDER, tmp_path / "programs")
    settings = {
        "include": ["programs"],
        "extraPaths": [str(ROOT / "components"), str(ROOT / "policies")],
        "typeCheckingMode": "standard",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    pyright = Path(sys.executable).with_name("pyright")
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable, "--project", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    shown: set[tuple[str, int]] = set()
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        program = Path(one["file"])
        line = one["range"]["start"]["line"] + 1
        shown.add((program.name, statements(program)[line]))
    planted = [
        (program.name, statements(program)[number])
        for program in programs.glob("*.py")
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if line.endswith("# wrong")
    ]
    assert len(list(programs.glob("*.py"))) == 5
    assert len(planted) == 26
    assert sorted(shown) == sorted(planted)
