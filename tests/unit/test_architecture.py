"""ARCHITECTURE.md is right: its worked examples work, its list of files is the tested one.

The examples are the blocks ```` ```diff ```` of the page. They are applied to a copy of the tree.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reading import yaml_data
from tests.unit.copied_tree import ROOT, Edit, apply_edits, copy_tree, gpufleet, python
from tests.unit.test_platform_names import LISTED

PAGE = (ROOT / "ARCHITECTURE.md").read_text()
BLOCKS = re.findall(r"^```diff\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILE = "+++ "
LONGEST_PAGE = 200
"""Lines. A page that is read in five minutes."""

FLEET = """
catalogue: "2026.11"
platform: eks
cluster: {name: factory, region: us-east-1, kubernetesVersion: "1.36"}
pools:
  - {name: groups, gpu: L4, nodes: {min: 0, max: 2}, eks: {detailedMonitoring: true}}
  - name: karpenter
    gpu: L4
    nodes: {min: 0, max: 2}
    provisioner: karpenter
    eks: {detailedMonitoring: true}
"""

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: server
          image: registry.example/server:latest
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def edits_of(block: str) -> Iterator[Edit]:
    """The edit of each file; a file with added lines alone gets them at its end."""
    lines = block.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(FILE)]
    assert starts[0] == 0, "a block begins with the name of a file"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name, body = lines[start].removeprefix(FILE), lines[start + 1 : end]
        assert all(line[:1] in ("+", " ") for line in body), name
        old = "".join(f"{line[1:]}\n" for line in body if line[0] == " ")
        new = "".join(f"{line[1:]}\n" for line in body)
        text = (ROOT / name).read_text()
        yield (name, old, new) if old else (name, text, text + new)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product, and of the tests that the examples edit, with the examples."""
    made = copy_tree(tmp_path_factory.mktemp("tree"), "tests/policies", "tests/unit/render")
    shutil.copy(ROOT / "tests/reading.py", made / "tests")
    for block in BLOCKS:
        apply_edits(made, edits_of(block))
    return made


def test_the_page_is_short_and_has_three_examples() -> None:
    assert len(PAGE.splitlines()) <= LONGEST_PAGE
    assert len(BLOCKS) == 3


def test_the_gpu_is_known(tree: Path) -> None:
    listed = gpufleet(tree, "catalogue", "gpus", "--gpu", "A2", "--format", "json")
    assert listed.returncode == 0, listed.stderr
    (row,) = json.loads(listed.stdout)
    assert (row["key"], row["compute_capability"]) == ("A2", "8.6")
    placed = gpufleet(tree, "partition", "--gpu", "A2", "--want", '{"1g.5gb": 1}')
    assert placed.returncode == 1
    assert "A2 has no MIG [mig-unsupported]" in placed.stderr


def test_the_option_is_rendered(tree: Path, tmp_path: Path) -> None:
    fleet, out = tmp_path / "fleet.yaml", tmp_path / "out"
    fleet.write_text(FLEET)
    ran = gpufleet(tree, "render", str(fleet), "--out", str(out))
    assert ran.returncode == 0, ran.stderr
    group = yaml_data((out / "clouds/aws/groups.yaml").read_text())
    assert group["launchTemplate"]["monitoring"] == {"enabled": True}
    classes = [
        document
        for file in (out / "manifests/karpenter").glob("*.yaml")
        if (document := yaml_data(file.read_text()))["kind"] == "EC2NodeClass"
    ]
    assert [document["spec"]["detailedMonitoring"] for document in classes] == [True]


def test_the_rule_reports_a_violation(tree: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "deployment.yaml"
    manifest.write_text(DEPLOYMENT)
    ran = gpufleet(tree, "audit", str(manifest), "--profile", "strict")
    assert ran.returncode == 1, ran.stderr
    assert "gpu-image-tag-latest" in ran.stdout
    assert "runs registry.example/server:latest" in ran.stdout


def test_the_cases_of_the_examples_pass(tree: Path) -> None:
    """The row of the option and the case of the rule, in the tests of the copy."""
    tests = ("tests/policies/test_cases.py", "tests/unit/render/test_platforms.py")
    chosen = "gpu-image-tag-latest or detailedMonitoring or has_a_row"
    ran = python(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", chosen)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_page_lists_the_files_that_a_new_platform_edits() -> None:
    listed = PAGE.partition("a new one edits them:")[2].partition("Files that")[0]
    named = {f"components/gpufleet/{name}" for name in re.findall(r"`([\w/]+\.py)`", listed)}
    assert named == set(LISTED)
