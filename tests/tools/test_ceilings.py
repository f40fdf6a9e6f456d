"""`make check` counts lines by package: a ceiling holds, and it follows what was removed."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (
    "# a comment\n"
    "package,folder,without,ceiling,target\n"
    "core,src,src/generated src/other,100,50\n"
    "other,src/other,,10,10\n"
)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("ceilings", ROOT / "tools/ceilings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "ceilings", module)
    spec.loader.exec_module(module)
    return module


def test_lines_are_those_of_python_files_outside_the_excluded_folders(
    tool: ModuleType, tmp_path: Path
) -> None:
    for name, lines in (("a.py", 3), ("b.txt", 7), ("generated/c.py", 11), ("other/d.py", 13)):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text("x = 1\n" * lines)
    core, other = tool.read(TABLE)
    assert core.lines(tmp_path) == 3
    assert other.lines(tmp_path) == 13


def test_a_package_above_its_ceiling_is_a_problem(tool: ModuleType) -> None:
    core, _ = tool.read(TABLE)
    assert tool.problem(core, 100) is None
    assert tool.problem(core, 104) == (
        "core: 104 lines, 4 above the ceiling of 100: remove as many in src (tools/ceilings.csv)"
    )


def test_a_ceiling_more_than_one_percent_above_the_lines_is_a_problem(tool: ModuleType) -> None:
    core, _ = tool.read(TABLE)
    assert tool.problem(core, 100) is None
    assert tool.problem(core, 98) == (
        "core: 98 lines, and the ceiling of 100 is more than 1% above: "
        "lower it with `python tools/ceilings.py --lower`"
    )


def test_ceilings_are_only_lowered(tool: ModuleType) -> None:
    assert tool.lowered(TABLE, {"core": 90, "other": 20}) == TABLE.replace(",100,50", ",90,50")


def test_each_source_file_of_the_three_roots_is_counted_once_or_generated(tool: ModuleType) -> None:
    """No folder of a root is forgotten; the generated argument types do not count."""
    table = (ROOT / "tools/ceilings.csv").read_text()
    counted = sum(ceiling.lines() for ceiling in tool.read(table))
    all_lines = sum(
        len(path.read_bytes().splitlines())
        for root in (
            "components/gpufleet",
            "components/gpufleet_vcenter",
            "policies/gpufleet_policies",
            "planner/gpufleet_planner",
        )
        for path in (ROOT / root).rglob("*.py")
        if not path.is_relative_to(ROOT / "components/gpufleet/arguments")
    )
    assert counted == all_lines
