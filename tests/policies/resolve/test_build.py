"""Kustomizations are built as kustomize builds them, and each field keeps its place."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpufleet_policies.resolve.build import Built, build
from gpufleet_policies.resolve.tree import Tree, UnresolvedError
from tests.policies.audit.test_wrappers import write
from tests.policies.resolve.trees import BASE, OVERLAY, SERVER
from tests.reading import yaml_documents


def built(folder: Path, root: Path | None = None) -> Built:
    return build(str(folder), Tree([f"{root or folder}/x"]))


def command() -> list[str] | None:
    """The real program, alone or as a part of kubectl."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else None


def without_hashes(value: Any) -> Any:
    text = json.dumps(value, default=str)
    return json.loads(re.sub(r"(cfg(?:-prod)?)-[a-z0-9]{10}\b", r"\1", text))


@pytest.mark.parametrize("folder", ["base", "over", "overlays/prod"])
def test_objects_are_those_of_kustomize(tmp_path: Path, folder: str) -> None:
    program = command()
    if program is None:
        pytest.skip("neither kustomize nor kubectl is on PATH")
    write(tmp_path, SERVER if folder == "overlays/prod" else BASE | OVERLAY)
    run = subprocess.run(
        [*program, str(tmp_path / folder)], capture_output=True, text=True, check=True
    )
    real = [without_hashes(one) for one in yaml_documents(run.stdout)]
    found = built(tmp_path / folder, tmp_path)
    ours = [without_hashes(one.data) for one in found.objects]
    by_name = {(one["kind"], one["metadata"]["name"]): one for one in ours}
    assert not found.problems
    assert by_name == {(one["kind"], one["metadata"]["name"]): one for one in real}


def test_a_field_is_placed_where_it_is_written_last(tmp_path: Path) -> None:
    write(tmp_path, SERVER)
    (one,) = built(tmp_path / "overlays/prod", tmp_path).objects
    container: tuple[str | int, ...] = ("spec", "template", "spec", "containers", 0)
    depth, line, file = one.layers.placed((*container, "resources", "limits", "nvidia.com/gpu"))
    assert (depth, line, Path(file).name) == (8, 10, "p.yaml")
    depth, line, file = one.layers.placed((*container, "args", 2))
    assert (depth, line, Path(file).name) == (7, 14, "d.yaml")
    assert one.layers.is_changed


def test_what_is_not_resolved_is_named(tmp_path: Path) -> None:
    remote = "https://github.com/org/repo//base?ref=v1"
    text = f"resources: [{remote}, missing.yaml]\ntransformers: [t.yaml]\n"
    text += "patches: [{target: {kind: Pod}, patch: '{kind: Pod}'}, {path: p.yaml}]\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    write(tmp_path, {"kustomization.yaml": text, "p.yaml": pod})
    assert [(one.object, one.reason.rpartition("/")[2]) for one in built(tmp_path).problems] == [
        ("resources[0]", "base?ref=v1 is on another machine, which an audit does not access"),
        ("resources[1]", "missing.yaml: No such file or directory"),
        ("patches[1]", "Pod a, its object, is missing"),
        ("transformers", "`transformers` is not supported: build it with kustomize"),
    ]


def test_nothing_outside_of_what_is_audited_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"in/kustomization.yaml": "resources: [../out.yaml]\n", "out.yaml": "a: 1\n"})
    (problem,) = built(tmp_path / "in").problems
    assert problem.reason.endswith("out.yaml is outside of the audited files")
    (tmp_path / ".git").mkdir()
    assert not built(tmp_path / "in").problems


def test_a_kustomization_that_is_a_part_of_itself_ends(tmp_path: Path) -> None:
    write(tmp_path, {"kustomization.yaml": "resources: [.]\n"})
    (problem,) = built(tmp_path).problems
    assert problem.reason.endswith("is a part of itself")
    with pytest.raises(UnresolvedError, match="has no kustomization"):
        built(tmp_path / "none")


def test_a_patch_that_does_not_fit_is_a_problem_of_its_object(tmp_path: Path) -> None:
    patch = "[{op: remove, path: /spec/x}]"
    text = f"resources: [p.yaml]\npatches: [{{target: {{kind: Pod}}, patch: '{patch}'}}]\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n"
    write(tmp_path, {"kustomization.yaml": text, "p.yaml": pod})
    (one,) = built(tmp_path).objects
    assert one.problem.endswith("kustomization.yaml does not fit: /spec/x is not there")
