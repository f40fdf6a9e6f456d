"""No circle of imports has more than three files."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE_ROOTS = ("components", "policies", "planner", "sandbox")
LARGEST = 3
"""Files of one circle: a type and its parts may name each other."""

REGISTRY = "gpufleet.platforms.registry"
LOOK_PLATFORMS_UP = (
    "gpufleet.cli.",
    "gpufleet.hosting",
    "gpufleet.platforms.compiled",
    "gpufleet_planner.",
    "gpufleet_policies.commands.",
)
"""Programs, and the function that they compile with. Everything else is handed the platform."""


@cache
def modules() -> dict[str, ast.Module]:
    found: dict[str, ast.Module] = {}
    for root in SOURCE_ROOTS:
        for path in (ROOT / root).rglob("*.py"):
            parts = path.relative_to(ROOT / root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if name:
                found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(nodes: list[ast.stmt], *, types: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run when the module is imported; `types`: and those for type checkers."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If):
            if types or "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from imported(node.body, types=types)
            yield from imported(node.orelse, types=types)


def graph(*, types: bool) -> dict[str, set[str]]:
    known = modules()
    found: dict[str, set[str]] = {}
    for name, tree in known.items():
        targets: set[str] = set()
        for node in imported(tree.body, types=types):
            if isinstance(node, ast.Import):
                targets |= {one.name for one in node.names}
            else:
                parts = {f"{node.module}.{one.name}" for one in node.names}
                targets |= {one for one in parts if one in known}
                targets |= {node.module or ""} if parts - targets else set()
        found[name] = {one for one in targets if one in known and one != name}
    return found


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of modules that reach each other (Tarjan's strongly connected components)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in edges[name]:
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            at = stack.index(name)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for name in edges:
        if name not in order:
            visit(name)
    return [one for one in found if len(one) > 1]


def test_no_circle_of_imports_has_more_than_three_files() -> None:
    assert [one for one in circles(graph(types=False)) if len(one) > LARGEST] == []


def test_names_for_type_checkers_make_no_larger_circle() -> None:
    assert [one for one in circles(graph(types=True)) if len(one) > LARGEST] == []


def test_only_programs_look_a_platform_up() -> None:
    importers = {name for name, targets in graph(types=True).items() if REGISTRY in targets}
    assert importers, REGISTRY
    assert {name for name in importers if not name.startswith(LOOK_PLATFORMS_UP)} == set()
