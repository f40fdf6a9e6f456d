"""Charts with helpers, dependencies and archives."""

import shutil
import tarfile
from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write
from tests.policies.resolve.charts import FEWER, NEEDED, of

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers:
    - name: c
      image: vllm/vllm-openai:v0.9.0
      args: [--model=/m]
      resources:
        limits: {LIMIT: 4}
"""
POD_CHART = {
    "Chart.yaml": "apiVersion: v2\nname: NAME\nversion: 1.0.0\n",
    "templates/pod.yaml": POD.replace("LIMIT", "nvidia.com/gpu"),
}


def chart(folder: str, name: str, change: dict[str, str] | None = None) -> dict[str, str]:
    files = POD_CHART | (change or {})
    return {f"{folder}/{file}": text.replace("NAME", name) for file, text in files.items()}


def archive(folder: Path, name: str) -> None:
    """`helm package` of the chart `name` in a folder, which is removed."""
    with tarfile.open(folder / f"{name}-1.0.0.tgz", "w:gz") as packed:
        packed.add(folder / name, arcname=name)
    shutil.rmtree(folder / name)


@NEEDED
def test_gpus_that_only_a_helper_requests_are_found(tmp_path: Path) -> None:
    helper = '{{- define "limits" }}\n{nvidia.com/gpu: 4}\n{{- end }}\n'
    pod = POD.replace("{LIMIT: 4}", '{{ include "limits" . | trim }}')
    write(tmp_path, chart("c", "one", {"templates/_x.tpl": helper, "templates/pod.yaml": pod}))
    (one,) = of(FEWER, audit(tmp_path))
    assert one["object"] == "Pod one"


def parts(row: str) -> str:
    return f"apiVersion: v2\nname: NAME\nversion: 1.0.0\ndependencies: [{row}]\n"


NO_POD = {"templates/pod.yaml": ""}


@NEEDED
def test_a_dependency_in_a_folder_of_the_tree_is_part_of_a_chart(tmp_path: Path) -> None:
    """Its own dependency too; neither is rendered a second time, with its own values alone."""
    inner = "{name: inner, alias: again, version: 1.0.0, repository: 'file://../inner'}"
    middle = "{name: middle, version: 1.0.0, repository: 'file://../lib/middle'}"
    write(
        tmp_path,
        chart("app", "app", NO_POD | {"Chart.yaml": parts(middle)})
        | chart("lib/middle", "middle", NO_POD | {"Chart.yaml": parts(inner)})
        | chart("lib/inner", "inner"),
    )
    found = audit(tmp_path)
    (one,) = of(FEWER, found)
    assert one["file"].endswith("lib/inner/templates/pod.yaml")
    assert one["line"] == 6
    assert [one for one in found["notJudged"] if one["what"] in ("render", "template")] == []


@NEEDED
def test_a_dependency_out_of_the_tree_is_not_read(tmp_path: Path) -> None:
    row = "{name: lib, version: 1.0.0, repository: 'file://../../lib'}"
    write(tmp_path / "repo", chart("app", "app", NO_POD | {"Chart.yaml": parts(row)}))
    write(tmp_path, chart("lib", "lib"))
    found = audit(tmp_path / "repo", "--allow-nothing")
    assert of(FEWER, found) == []
    assert "lib is not among the files" in str([one["reason"] for one in found["notJudged"]])


@NEEDED
@pytest.mark.parametrize("is_archive", [False, True])
def test_a_vendored_part_is_placed_where_it_is(tmp_path: Path, is_archive: bool) -> None:
    write(tmp_path, chart("app", "app", NO_POD) | chart("app/charts/folder", "inner"))
    if is_archive:
        (tmp_path / "app/charts/folder").rename(tmp_path / "app/charts/inner")
        archive(tmp_path / "app/charts", "inner")
    found = audit(tmp_path)
    (one,) = of(FEWER, found)
    place = "inner-1.0.0.tgz" if is_archive else "folder/templates/pod.yaml"
    assert one["file"] == str(tmp_path / "app/charts" / place)
    assert one["line"] == (1 if is_archive else 6)


@NEEDED
def test_an_archive_without_gpus_makes_no_chart_of_gpus(tmp_path: Path) -> None:
    pod = POD.replace("LIMIT", "cpu")
    write(tmp_path, chart("app", "app", NO_POD) | chart("app/charts/inner", "inner",
          {"templates/pod.yaml": pod + '{{ fail "rendered" }}'}))  # fmt: skip
    archive(tmp_path / "app/charts", "inner")
    assert audit(tmp_path, "--allow-nothing")["notJudged"] == []
