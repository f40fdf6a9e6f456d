"""One place decides the release of a program: no rule reads a pinned one by itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
RULES = (
    "components/gpufleet/contract",
    "components/gpufleet/rules",
    "components/gpufleet/cluster",
    "components/gpufleet/partition",
    "policies/gpufleet_policies/configurations",
    "policies/gpufleet_policies/rules",
    "policies/gpufleet_policies/readers",
)
ALLOWED = {
    "components/gpufleet/cluster/program.py": "decides it",
    "components/gpufleet/contract/programs/gpu_operator_values.py": "parts of the pinned operator, "
    "against images that values name",
    "components/gpufleet/contract/drivers.py": "the documented range of the pinned release, where "
    "that one is decided",
}


def reads(tree: ast.AST) -> Iterator[str]:
    """Reads of a pinned chart, and constants that are one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "chart" and node.args:
                yield f"line {node.lineno}: .chart(...)"
        elif isinstance(node, ast.Attribute) and node.attr in ("operator_chart", "charts"):
            if node.attr == "operator_chart":
                yield f"line {node.lineno}: .{node.attr}"
            elif isinstance(node.value, ast.Name) and node.value.id == "catalogue":
                yield f"line {node.lineno}: catalogue.charts"
        elif isinstance(node, ast.Assign):
            names = [one.id for one in node.targets if isinstance(one, ast.Name)]
            if any(name.endswith(("DEFAULT_VERSION", "OPERATOR_VERSION")) for name in names):
                yield f"line {node.lineno}: {names[0]}"


def test_no_rule_reads_a_default_release_by_itself() -> None:
    found = {
        str(path.relative_to(ROOT)): list(reads(ast.parse(path.read_text())))
        for folder in RULES
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    assert {path: places for path, places in found.items() if places and path not in ALLOWED} == {}
    assert all(found[path] for path in ALLOWED), "an exception that is not needed any more"
