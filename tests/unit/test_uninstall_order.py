"""docs/uninstall.md: what is destroyed before what, from the declared dependencies.

The engine deletes a resource after every resource that depends on it and after its children. The
recorded registrations equal those of the sources (test_recorded_baseline.py).
"""

import json
from pathlib import Path
from typing import Any

import pytest

RECORDED = sorted(
    file
    for file in (Path(__file__).parents[1] / "recorded" / "a8d13c3" / "resources").glob("*.json")
    if file.stem != "each-component"  # components side by side, not one cluster
)
RELEASE = "kubernetes:helm.sh/v3:Release"
NAMESPACE = "kubernetes:core/v1:Namespace"
NODES = (
    "aws:eks/nodeGroup:NodeGroup",
    "kubernetes:karpenter.sh/v1:NodePool",
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
    "kubernetes:karpenter.sh/v1alpha1:NodeOverlay",
    "gcp:container/nodePool:NodePool",
    "kubernetes:machine.openshift.io/v1beta1:MachineSet",
)
SERVE_NODES = ("karpenter", "cluster-autoscaler", "gpu-operator")
"""Releases that nodes need until they are gone."""
OF_AN_OPERATOR = {
    "kubernetes:mellanox.com/": "network-operator",
    "kubernetes:kueue.x-k8s.io/": "kueue",
    "kubernetes:resource.k8s.io/": "dra",
    "kubernetes:keda.sh/": "keda",
}
"""Kinds of objects, and what the name of the release that serves them contains."""

Resources = dict[str, dict[str, Any]]


def removed_later(resources: Resources, urn: str) -> set[str]:
    """URNs of the resources that stay until this one is gone."""
    reached: set[str] = set()
    waiting = [urn]
    while waiting:
        resource = resources.get(waiting.pop(), {})
        for target in (*resource.get("dependsOn", ()), resource.get("parent", "")):
            if target in resources and target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def releases(resources: Resources, part: str = "") -> set[str]:
    return {u for u, r in resources.items() if r["type"] == RELEASE and part in r["name"]}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_pools_go_before_the_charts_that_serve_them(file: Path) -> None:
    resources: Resources = json.loads(file.read_text())
    fleets = [u for u, r in resources.items() if r["type"] == "gpufleet:index:GpuFleet"]
    for fleet in fleets:
        inside = {u for u in resources if fleet in removed_later(resources, u)}
        serving = [releases(resources, part) & inside for part in SERVE_NODES]
        for node in (u for u in inside if resources[u]["type"] in NODES):
            assert set().union(*serving) <= removed_later(resources, node), node


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_custom_resources_go_before_the_chart_that_serves_them(file: Path) -> None:
    resources: Resources = json.loads(file.read_text())
    for urn, resource in resources.items():
        for prefix, part in OF_AN_OPERATOR.items():
            if resource["type"].startswith(prefix):
                assert releases(resources, part) <= removed_later(resources, urn), urn


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_charts_go_before_the_namespace_they_are_in(file: Path) -> None:
    resources: Resources = json.loads(file.read_text())
    namespaces = {
        r["inputs"]["metadata"]["name"]: u for u, r in resources.items() if r["type"] == NAMESPACE
    }
    for urn in releases(resources):
        namespace = resources[urn]["inputs"].get("namespace")
        if namespace in namespaces:
            assert namespaces[namespace] in removed_later(resources, urn), urn


def test_the_rows_are_seen() -> None:
    kinds = {r["type"] for file in RECORDED for r in json.loads(file.read_text()).values()}
    assert set(NODES) <= kinds
    for prefix in OF_AN_OPERATOR:
        assert any(kind.startswith(prefix) for kind in kinds), prefix
