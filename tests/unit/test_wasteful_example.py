"""examples/wasteful: its README has the rules' findings about its fleet and workloads."""

import ast
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet_policies.commands.audit import command

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/wasteful"
README = " ".join((EXAMPLE / "README.md").read_text().split())
WORDS = ("no", "one", "two", "three", "four", "five")


def fleet() -> dict[str, Any]:
    program = ast.parse((EXAMPLE / "__main__.py").read_text())
    (value,) = [
        node.value
        for node in program.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLEET"
    ]
    return ast.literal_eval(value)


def workloads(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Objects of the example, without the engine: its constructors record their arguments."""
    made: list[dict[str, Any]] = []

    def making(api: str, kind: str) -> Callable[..., None]:
        def make(_name: str, *, opts: object, **inputs: Any) -> None:
            made.append({"apiVersion": api, "kind": kind, **inputs})

        return make

    provider = SimpleNamespace(
        apps=SimpleNamespace(v1=SimpleNamespace(Deployment=making("apps/v1", "Deployment"))),
        core=SimpleNamespace(v1=SimpleNamespace(Pod=making("v1", "Pod"))),
    )
    monkeypatch.setitem(sys.modules, "pulumi_kubernetes", provider)
    functions = runpy.run_path(str(EXAMPLE / "workloads.py"))
    functions["wasteful_chat"](None)
    functions["forgotten_shell"](None)
    text = json.dumps(made).replace("match_labels", "matchLabels")  # as the provider writes it
    return json.loads(text)


def test_the_readme_counts_and_quotes_the_findings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "fleet.yaml").write_text(json.dumps(fleet()))
    documents = workloads(monkeypatch)
    (tmp_path / "workloads.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    settings = str(ROOT / "policies/gpu-policy.yaml")
    result = CliRunner().invoke(command, [str(tmp_path), "--config", settings, "--format", "json"])
    found = json.loads(result.stdout)["findings"]
    stops = [one for one in found if one["level"] == "mandatory"]
    advice = [one for one in found if one["level"] == "advisory"]
    counted = f"{WORDS[len(stops)]} mandatory violations and {WORDS[len(advice)]} advisory ones"
    assert f"The preview ends with {counted}" in README
    (oversized,) = [one for one in found if one["code"] == "gpu-oversized-for-model"]
    assert oversized["message"].partition("; it wastes")[0] in README
