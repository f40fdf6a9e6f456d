"""Output of `gpufleet` commands for a declaration, as plain data."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import yaml

from gpufleet.cli import main

INDEX = "gpufleet-files.json"
"""The list of the files that `gpufleet render` wrote, in the same folder."""


def gpufleet(*arguments: str) -> str:
    """Standard output of a command that must succeed."""
    code: object = 0
    output, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before, sys.argv = sys.argv, ["gpufleet", *arguments]
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
    assert not code, (arguments, errors.getvalue())
    output.seek(0)
    return output.read()


def compiled(declaration: Path) -> dict[str, Any]:
    """The document of `gpufleet compile --format json`."""
    return json.loads(gpufleet("compile", str(declaration), "--format", "json"))


def planned(workloads: Path) -> dict[str, Any]:
    """The FleetSpec of `gpufleet plan --format json`."""
    return json.loads(gpufleet("plan", str(workloads), "--format", "json"))["spec"]


def rendered(declaration: Path, folder: Path) -> dict[str, Any]:
    """Every file that `gpufleet render` writes: path -> kind and parsed content.

    Args:
        declaration: File of the FleetSpec or of a stack.
        folder: An empty folder.
    """
    gpufleet("render", str(declaration), "--out", str(folder))
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    kinds = {entry["path"]: entry["kind"] for entry in index["files"]}
    found = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    assert set(found) == {*kinds, INDEX}
    return {name: {"kind": kinds[name], "content": _parsed(found[name])} for name in sorted(kinds)}


def _parsed(file: Path) -> Any:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        return json.loads(text)
    if file.suffix in {".yaml", ".yml"}:
        return [_plain(document) for document in yaml.safe_load_all(text)]
    return text.splitlines()


def _plain(value: Any) -> Any:
    """YAML has dates and numeric keys, JSON does not."""
    return json.loads(json.dumps(value, default=str))
