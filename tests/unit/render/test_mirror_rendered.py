"""The vendors' own charts, rendered by Helm with a fleet's values, name the mirror only.

Charts are those that Go modules carry: of the project's programs Kueue 0.19.2, NVIDIA's device
plugin 0.19.0 and Karpenter 1.14.1, and NVIDIA's DRA driver 0.5.0. They skip without Helm or the
module (`gpufleet sandbox programs kueue nvidia-parsers karpenter` and `go mod download
sigs.k8s.io/dra-driver-nvidia-gpu@v0.5.0` fetch them). `WITHOUT` names the charts that no module
contains: for those, test_mirror.py reads the vendors' values files, next to the checkout.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from gpufleet.render.mirror import mirror_list
from gpufleet.render.releases import releases
from tests.unit.render.mirror_fleets import MIRROR, SPECS, mirror_fleet
from tests.unit.sandbox.simulator_chart import HELM

MODULES = Path(os.environ.get("GOMODCACHE") or Path.home() / "go/pkg/mod")
CHARTS = {
    "kueue": ("eks-autoscaler-queues", "sigs.k8s.io/kueue@v0.19.2/charts/kueue"),
    "nvidia-device-plugin": (
        "sandbox-plugin-chart",
        "github.com/!n!v!i!d!i!a/k8s-device-plugin@v0.19.0/deployments/helm/nvidia-device-plugin",
    ),
    "karpenter": (
        "eks-karpenter",
        "github.com/aws/karpenter-provider-aws@v1.14.1/charts/karpenter",
    ),
    "dra-driver-nvidia-gpu": (
        "eks-dra",
        "sigs.k8s.io/dra-driver-nvidia-gpu@v0.5.0/deployments/helm/dra-driver-nvidia-gpu",
    ),
}
WITHOUT = {
    **dict.fromkeys(
        ("gpu-operator", "network-operator", "dcgm-exporter"),
        "the module proxy has no archive of the release",
    ),
    **dict.fromkeys(
        ("keda", "cluster-autoscaler", "aws-efa-k8s-device-plugin"),
        "the chart is in a repository that is not a Go module",
    ),
    "neuron-helm-chart": "the chart is published in a registry alone",
}
"""Charts of a fleet that cannot be rendered here."""


def rendered(chart: str, tmp_path: Path, registry: str | None) -> set[str]:
    spec, folder = CHARTS[chart]
    if HELM is None or not (MODULES / folder).is_dir():
        pytest.skip(f"no Helm (GPUFLEET_TEST_HELM names one), or no {MODULES / folder}")
    fleet = mirror_fleet(spec, registry=registry)
    (release,) = (one for one in releases(fleet) if one.chart.name == chart)
    copy = tmp_path / "chart"
    shutil.copytree(MODULES / folder, copy)
    subprocess.run(["chmod", "-R", "u+w", copy], check=True)
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(release.values))
    command = [HELM, "template", "r", str(copy), "-f", str(values), "--kube-version", "1.36.0"]
    command += ["--namespace", release.namespace]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'^\s*(?:- )?image: "?([^"\s]+)"?$', text, re.MULTILINE))


def test_every_chart_of_a_fleet_is_rendered_or_named() -> None:
    installed = {one.chart.name for name in SPECS for one in releases(mirror_fleet(name))}
    assert installed == CHARTS.keys() | WITHOUT.keys()


@pytest.mark.parametrize("chart", CHARTS)
def test_no_reference_is_foreign(chart: str, tmp_path: Path) -> None:
    found = rendered(chart, tmp_path, MIRROR)
    assert found
    assert [one for one in found if not one.startswith(f"{MIRROR}/")] == []


@pytest.mark.parametrize("chart", CHARTS)
def test_the_list_holds_what_was_rendered(chart: str, tmp_path: Path) -> None:
    """Repositories: the chart of the device plugin is a minor version older than the pin, and the
    tag of Kueue's in git names its staging registry."""
    spec, _ = CHARTS[chart]
    listed = {
        repository(one.target)
        for one in mirror_list(mirror_fleet(spec, registry=MIRROR)).images
        if chart in one.users
    }
    assert {repository(one) for one in rendered(chart, tmp_path, MIRROR)} == listed


def repository(reference: str) -> str:
    """Without tag and digest."""
    return reference.partition("@")[0].rpartition(":")[0]
