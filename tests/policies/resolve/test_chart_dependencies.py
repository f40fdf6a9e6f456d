"""Dependencies of charts that are not rendered: which a release installs, with which values.

Helm, Charts: "Tags and Condition fields in dependencies" (v3.18.6 pkg/chartutil/dependencies.go);
argoproj/argo-cd#24754: a dependency with `enabled: false` that a condition switches off.
"""

from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write

CHART = """\
apiVersion: v2
name: NAME
version: 0.1.0
dependencies:
- {name: gpu-operator, version: v25.3.0, repository: "https://x", condition: "gpu.enabled"}
- {name: nvidia-device-plugin, version: 0.17.1, repository: "https://x", tags: [plugin, old]}
"""
BOTH = "gpu-operator: {driver: {enabled: false}}\nnvidia-device-plugin: {migStrategy: none}\n"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu, namespace: argocd}
spec:
  destination: {namespace: gpu, server: "https://kubernetes.default.svc"}
  source:
    repoURL: https://example.org/fleet
    path: charts/gpu
    helm: {valuesObject: VALUES}
"""


def plugins(folder: Path) -> list[str]:
    """Objects that run a second device plugin."""
    found = audit(folder, "--profile", "prod")
    return [one["object"] for one in found["findings"] if one["code"] == "two-advertisers"]


@pytest.mark.parametrize("name", ["stack", "gpu-operator"])
@pytest.mark.parametrize(
    ("more", "installs"),
    [
        ("gpu: {enabled: true}", True),
        ("gpu: {}", True),
        ("gpu: {enabled: 'false'}", True),
        ("gpu: {enabled: false}", False),
        ("tags: {plugin: false}", False),
        ("tags: {plugin: false, old: true}", True),
    ],
)
def test_a_condition_or_a_tag_switches_a_dependency_off(
    more: str, installs: bool, name: str, tmp_path: Path
) -> None:
    """Also in a chart with the name of the one that it brings along."""
    chart = CHART.replace("NAME", name)
    write(tmp_path, {"charts/gpu/Chart.yaml": chart, "charts/gpu/values.yaml": f"{BOTH}{more}\n"})
    assert bool(plugins(tmp_path)) is installs


def test_values_of_an_environment_switch_it_on(tmp_path: Path) -> None:
    files = {
        "charts/gpu/Chart.yaml": CHART.replace("NAME", "stack"),
        "charts/gpu/values.yaml": f"{BOTH}gpu: {{enabled: false}}\n",
    }
    write(tmp_path, {**files, "charts/gpu/values-dev.yaml": "gpu: {}\n"})
    assert not plugins(tmp_path)
    write(tmp_path, {"charts/gpu/values-prod.yaml": "gpu: {enabled: true}\n"})
    assert plugins(tmp_path)


@pytest.mark.parametrize(
    ("values", "installs"), [("{gpu: {enabled: true}}", True), ("{gpu: {enabled: false}}", False)]
)
def test_values_of_a_release_decide_about_its_dependencies(
    values: str, installs: bool, tmp_path: Path
) -> None:
    other = str(not installs).lower()
    files = {
        "charts/gpu/Chart.yaml": CHART.replace("NAME", "stack"),
        "charts/gpu/values.yaml": f"{BOTH}gpu: {{enabled: {other}}}\n",
        "apps/gpu.yaml": APPLICATION.replace("VALUES", values),
    }
    write(tmp_path, files)
    found = plugins(tmp_path)
    assert bool(found) is installs
    assert all(one.startswith("Application") for one in found), "where its values are"


@pytest.mark.parametrize(("switch", "installs"), [("true", True), ("false", False)])
def test_values_without_their_chart_have_the_usual_switch(
    switch: str, installs: bool, tmp_path: Path
) -> None:
    values = "gpu-operator: {enabled: SWITCH, driver: {enabled: false}}\n"
    values += "nvidia-device-plugin: {enabled: true, migStrategy: none}\n"
    write(tmp_path, {"values.yaml": values.replace("SWITCH", switch)})
    assert bool(plugins(tmp_path)) is installs


RELEASE = """\
resource "helm_release" "gpu" {
  name       = "gpu-operator"
  namespace  = "gpu-operator"
  chart      = CHART
  MORE
}
resource "helm_release" "plugin" {
  name       = "plugin"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
}
"""


@pytest.mark.parametrize(
    ("chart", "more", "installs"),
    [
        ('"gpu-operator"', 'repository = "https://helm.ngc.nvidia.com/nvidia"', True),
        ('"gpu-operator"', "repository = var.mirror", False),
        ('"gpu-operator"', "count = var.is_on ? 1 : 0", False),
        ('"${path.module}/charts/gpu-operator"', "", False),
        ("var.chart", "", False),
    ],
)
def test_defaults_are_those_of_a_known_chart(
    chart: str, more: str, installs: bool, tmp_path: Path
) -> None:
    """A chart of the tree, or of another repository, may have other values than the published."""
    write(tmp_path, {"main.tf": RELEASE.replace("CHART", chart).replace("MORE", more)})
    assert bool(plugins(tmp_path)) is installs
    assert bool(audit(tmp_path)["notJudged"]) is not installs


def test_a_copy_of_a_chart_has_its_own_values(tmp_path: Path) -> None:
    files = {
        "main.tf": RELEASE.replace("CHART", '"./charts/gpu-operator"').replace("MORE", ""),
        "charts/gpu-operator/Chart.yaml": "apiVersion: v2\nname: gpu-operator\nversion: v25.3.0\n",
        "charts/gpu-operator/values.yaml": "devicePlugin: {enabled: true}\n",
    }
    write(tmp_path, files)
    assert plugins(tmp_path)
    write(tmp_path, {"charts/gpu-operator/values.yaml": "devicePlugin: {enabled: false}\n"})
    assert not plugins(tmp_path)
