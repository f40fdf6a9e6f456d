"""Record the visible results of the tree on PYTHONPATH: files, compiled fleets, plans, resources.

    PYTHONPATH=TREE/components:TREE/policies:. python -m tests.recorded.record TREE FOLDER

writes `declarations/`, `workloads/`, `render/`, `compile/`, `plan/` and `resources/` below FOLDER.
TREE is the checkout whose stacks and examples are read, and must be the one that PYTHONPATH names.
`tests/unit/test_recorded_baseline.py` compares the recordings with the tree of the tests.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

import gpufleet
from tests.recorded.commands import compiled, planned, rendered
from tests.recorded.differences import dumped
from tests.recorded.programs import programs
from tests.recorded.registrations import registered


def write(folder: Path, part: str, name: str, document: Any) -> Path:
    """Write one recording and return its file."""
    file = folder / part / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dumped(document), encoding="utf-8")
    return file


def record_resources(tree: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Record every program's resources. Returns the FleetSpecs in the examples' programs."""
    specs: dict[str, dict[str, Any]] = {}
    original = gpufleet.GpuFleet

    for name, program in programs(tree, folder / "declarations").items():

        class Watched(original):
            def __init__(self, called: str, args: Any, *more: Any, **options: Any) -> None:
                specs[name] = json.loads(json.dumps(args["spec"]))  # noqa: B023  used at once
                super().__init__(called, args, *more, **options)

        gpufleet.GpuFleet = Watched
        with tempfile.TemporaryDirectory() as home:
            write(folder, "resources", name, registered(program, Path(home)))
    gpufleet.GpuFleet = original
    return {name: spec for name, spec in specs.items() if not name.startswith("stacks-")}


def record(tree: Path, folder: Path) -> None:
    """Record everything."""
    assert Path(gpufleet.__file__).is_relative_to(tree), f"PYTHONPATH names {gpufleet.__file__}"
    for part in ("declarations", "workloads", "render", "compile", "plan", "resources"):
        shutil.rmtree(folder / part, ignore_errors=True)
    declarations = folder / "declarations"
    declarations.mkdir(parents=True)
    for file in sorted((tree / "stacks").glob("Pulumi.*.yaml")):
        shutil.copy(file, declarations)
    specs = record_resources(tree, folder)
    for file in sorted((tree / "examples" / "plan").glob("*.yaml")):
        workloads = folder / "workloads" / file.name
        workloads.parent.mkdir(exist_ok=True)
        shutil.copy(file, workloads)
        specs[f"plan-{file.stem}"] = planned(file)
        write(folder, "plan", file.stem, specs[f"plan-{file.stem}"])
    for name, spec in sorted(specs.items()):
        text = yaml.safe_dump(spec, sort_keys=False)
        (declarations / f"{name}.yaml").write_text(text, encoding="utf-8")
    for file in sorted(declarations.glob("*.yaml")):
        write(folder, "compile", file.stem, compiled(file))
        with tempfile.TemporaryDirectory() as out:
            write(folder, "render", file.stem, rendered(file, Path(out)))


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
