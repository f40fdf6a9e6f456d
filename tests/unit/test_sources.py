"""Tests that rest until the product changes: what they name has every module that they import."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.changed_types import graph, included
from tests.examples import is_named
from tests.on_change import ON_CHANGE
from tests.sources import CORE

ROOT = Path(__file__).parents[2]
WHOLE = [name for name, rested in ON_CHANGE.items() if set(CORE) <= set(rested.sources)]
PATHS = {module: path for path, module in included().items()}


@cache
def imported(file: Path) -> frozenset[str]:
    """Modules, and names of modules, that a file imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return frozenset(found)


def dependencies(file: Path) -> set[str]:
    """Files of the tree that a file of tests imports, directly or through others."""
    helpers, modules, left = {file}, set[str](), [file]
    while left:
        for name in imported(left.pop()):
            helper = ROOT / f"{name.replace('.', '/')}.py"
            if name in graph().modules:
                modules |= {name, *graph().find_upstream_modules(name)}
            elif name.startswith("tests.") and helper.is_file() and helper not in helpers:
                helpers.add(helper)
                left.append(helper)
    ours = {one.relative_to(ROOT).as_posix() for one in helpers - {file}}
    return ours | {PATHS[module] for module in modules}


@pytest.mark.parametrize("name", WHOLE)
def test_a_change_of_what_it_imports_runs_it(name: str) -> None:
    place = ROOT / "tests" / name.partition("::")[0]
    files = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
    sources = ON_CHANGE[name].sources
    unnamed = {
        path
        for file in files
        for path in dependencies(file)
        if not any(is_named(path, end) for end in sources)
    }
    assert unnamed == set()
