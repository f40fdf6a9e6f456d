"""Programs that the engine tests of this commit ask for: `make engine` builds no others.

`python -m tests.engine.needed_programs NAME...` prints those of the names that are needed.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.engine.order_of_files import EVERY_COMMIT
from tests.on_change import rests

HERE = Path(__file__).parent
OF_EACH_RUN = "pulumi-language-yaml"
"""The engine environment has it where it is there (`conftest.py`)."""


def needed(files: Iterable[Path]) -> set[str]:
    """Names in `require((...))` of files, and of the modules of this folder that they import."""
    seen: set[Path] = set()
    left = [*files]
    found: set[str] = set()
    while left:
        file = left.pop()
        if file in seen:
            continue
        seen.add(file)
        text = file.read_text(encoding="utf-8")
        for names in re.findall(r"\brequire\(\(([^)]*)\)\)", text):
            found |= {*re.findall(r'"([\w-]+)"', names)}
        for name in re.findall(r"^from tests\.engine\.([\w.]+) import", text, re.MULTILINE):
            left.append(HERE / f"{name.replace('.', '/')}.py")
    return found


def of_this_commit() -> set[str]:
    """Of the files that run with this commit."""
    files = [HERE / name for name in EVERY_COMMIT if not rests(f"tests/engine/{name}")]
    return {OF_EACH_RUN, *needed(files)}


if __name__ == "__main__":
    asked = of_this_commit()
    print(*(name for name in sys.argv[1:] if name in asked))
