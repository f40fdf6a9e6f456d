"""Karpenter's definitions as a separate release, by Helm itself: prerequisites of an installed
cluster, changes of an update, and the objects that stay.

Charts have the shape of the vendor's: definitions in the folder `crds` of one, in templates of the
other (aws/karpenter-provider-aws v1.14.1 `charts/karpenter-crd`). The definition is the core's own,
under another group, so that other tests keep theirs.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet.platforms.eks.karpenter_values import KEPT
from gpufleet_sandbox.engine_result import EngineError
from tests.engine.conftest import Project
from tests.engine.karpenter_controller import definitions

pytestmark = [pytest.mark.sandbox]

GROUP = "takeover.example.com"
CRD = f"nodepools.{GROUP}"
PAGE = Path(__file__).parents[2] / "docs" / "karpenter.md"
ANNOTATIONS = """
    {{- with .Values.additionalAnnotations }}
      {{- toYaml . | nindent 4 }}
    {{- end }}"""
PROGRAM = """
import pulumi
import pulumi_kubernetes as k8s

before = []
if {released}:
    before.append(
        k8s.helm.v3.Release(
            "definitions", name="karpenter-crd", namespace="kube-system",
            chart={definitions!r}, values={values!r},
        )
    )
k8s.helm.v3.Release(
    "karpenter", name="karpenter", namespace="kube-system", chart={chart!r},
    opts=pulumi.ResourceOptions(depends_on=before),
)
"""


def chart(folder: Path, name: str, files: dict[str, str]) -> str:
    for file, text in files.items():
        path = folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    about = {"apiVersion": "v2", "name": name, "version": "1.0.0", "type": "application"}
    (folder / name / "Chart.yaml").write_text(yaml.safe_dump(about))
    return str(folder / name)


@pytest.fixture
def charts(tmp_path: Path, cluster: Any) -> Iterator[dict[str, str]]:
    """The main chart has a definition without a column that the newer one has."""
    source = next(one for one in definitions() if "nodepools" in one.name)
    newer = source.read_text().replace("karpenter.sh", GROUP)
    older = yaml.safe_load(newer)
    (version,) = older["spec"]["versions"]
    version["additionalPrinterColumns"] = version["additionalPrinterColumns"][:1]
    template = newer.replace("  annotations:", f"  annotations:{ANNOTATIONS}", 1)
    note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: karpenter-note}\n"
    files = {"crds/nodepools.yaml": yaml.safe_dump(older), "templates/note.yaml": note}
    made = {
        "chart": chart(tmp_path, "karpenter", files),
        "definitions": chart(tmp_path, "karpenter-crd", {"templates/nodepools.yaml": template}),
    }
    yield made
    client.ApiextensionsV1Api(cluster).delete_custom_resource_definition(CRD)


def program(charts: dict[str, str], *, released: bool) -> dict[str, str]:
    return {"__main__.py": PROGRAM.format(released=released, values=dict(KEPT), **charts)}


def documented_ownership() -> dict[str, str]:
    """The keys that docs/karpenter.md tells to write on definitions."""
    (block,) = re.findall(r"```sh\n(crds=.*?)```", PAGE.read_text(), re.DOTALL)
    return dict(re.findall(r" ([a-z.]+/[a-z-]+)=(\S+)", block))


def test_an_installed_cluster_hands_its_definitions_over(
    cluster_project: Callable[..., Project], cluster: Any, charts: dict[str, str]
) -> None:
    api = client.ApiextensionsV1Api(cluster)

    def columns() -> int:
        found = api.read_custom_resource_definition(CRD)
        return len(found.spec.versions[0].additional_printer_columns or ())

    project = cluster_project(program(charts, released=False))
    project.run("up")
    assert columns() == 1

    project.write(program(charts, released=True))
    with pytest.raises(EngineError, match="invalid ownership metadata"):
        project.run("up")
    assert columns() == 1

    owner = documented_ownership()
    label = "app.kubernetes.io/managed-by"
    metadata = {"labels": {label: owner.pop(label)}, "annotations": owner}
    api.patch_custom_resource_definition(CRD, {"metadata": metadata})
    project.run("up")
    assert columns() > 1

    project.run("destroy")
    assert columns() > 1, "a definition takes every object of its kind with it"
