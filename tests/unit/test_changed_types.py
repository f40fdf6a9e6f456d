import grimp
import pytest

from tests.changed_types import files_to_check, included

FILES = {
    "components/gpufleet/low.py": "gpufleet.low",
    "components/gpufleet/middle/__init__.py": "gpufleet.middle",
    "components/gpufleet/high.py": "gpufleet.high",
    "stacks/eks.py": "eks",
}
LOW, MIDDLE, HIGH, STACK = FILES


@pytest.fixture
def graph() -> grimp.ImportGraph:
    made = grimp.ImportGraph()
    made.add_import(importer="gpufleet.middle", imported="gpufleet.low")
    made.add_import(importer="gpufleet.high", imported="gpufleet.middle")
    return made


@pytest.mark.parametrize(
    ("changed", "checked"),
    [
        ([], []),
        (["docs/index.md", "tests/unit/test_structure.py"], []),
        (["docs/index.md", HIGH], [HIGH, STACK]),
        ([LOW], [HIGH, LOW, MIDDLE, STACK]),
        ([STACK], [STACK]),
        ([HIGH, "components/gpufleet/removed.py"], None),
        (["pyproject.toml"], None),
        (["components/gpufleet/__init__.pyi"], None),
    ],
)
def test_what_changed_is_checked_with_all_that_imports_it(
    graph: grimp.ImportGraph, changed: list[str], checked: list[str] | None
) -> None:
    assert files_to_check(changed, FILES, graph) == checked


def test_files_and_modules_are_those_of_the_tree() -> None:
    found = included()
    assert found["components/gpufleet/spec/base.py"] == "gpufleet.spec.base"
    assert found["planner/gpufleet_planner/__init__.py"] == "gpufleet_planner"
    assert found["tools/rule_pages.py"] == "rule_pages"
    assert not [path for path in found if path.startswith("tests/")]
