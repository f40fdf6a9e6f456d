"""Argo CD's and Flux's objects: read by the readers that `gpufleet audit` opens them with."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.cli.render import command
from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.render.gitops import gitops_steps
from gpufleet.render.releases import releases
from gpufleet_policies.wrappers.registry import releases_of
from tests.reading import yaml_documents
from tests.unit.render.mirror_fleets import SPECS, mirror_fleet

REPO = "https://git.example.com/platform"


def run(name: str, out: Path, tool: str, *more: str, **changes: Any) -> Result:
    spec = yaml.safe_dump({"catalogue": "2026.11", **SPECS[name], **changes})
    arguments = ["-", "--out", str(out), "--for", tool, "--repo", REPO, "--repo-path", "gpu", *more]
    return CliRunner().invoke(command, arguments, input=spec)


def objects(out: Path, pattern: str) -> list[dict[str, Any]]:
    found = [one for file in sorted(out.glob(pattern)) for one in yaml_documents(file.read_text())]
    assert found
    return found


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("tool", ["argocd", "flux"])
def test_every_chart_is_released_with_the_values_of_the_fleet(
    name: str, tool: str, tmp_path: Path
) -> None:
    assert run(name, tmp_path, tool).exit_code == 0
    pattern = "argocd/applications.yaml" if tool == "argocd" else "flux/releases/*/release.yaml"
    read: dict[str, Any] = {}
    fleet = mirror_fleet(name)
    if not releases(fleet):
        return
    for document in objects(tmp_path, pattern):
        for one in releases_of(document):
            if one.chart is None:  # an Application of a folder with manifests
                assert one.held is not None
                assert one.held.name.startswith("gpu/waves/")
                continue
            read[one.chart] = (one.version, [source.written for source in one.sources])
    assert read == {r.chart.name: (r.version, [r.values]) for r in releases(fleet)}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("tool", ["argocd", "flux"])
def test_each_object_fits_the_definition_of_its_kind(name: str, tool: str, tmp_path: Path) -> None:
    """The definitions are those of Argo CD v3.6.1 and of Flux' controllers (tools/schemas)."""
    assert run(name, tmp_path, tool).exit_code == 0
    for one in objects(tmp_path, f"{tool}/**/*.yaml"):
        assert has_schema(one["apiVersion"], one["kind"]), one["kind"]
        assert [str(problem) for problem in schema_problems(one)] == []


@pytest.mark.parametrize("name", SPECS)
def test_each_manifest_is_in_the_folder_of_one_step(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path, "argocd").exit_code == 0
    sources = [one["spec"]["source"] for one in objects(tmp_path, "argocd/applications.yaml")]
    folders = {source["path"] for source in sources if "path" in source}
    assert folders == {f"gpu/{folder.relative_to(tmp_path)}" for folder in tmp_path.glob("waves/*")}
    assert not (tmp_path / "manifests").exists()


def test_waves_follow_what_names_what(tmp_path: Path) -> None:
    run("vsphere-network", tmp_path, "argocd")
    waves = {
        one["metadata"]["name"]: int(one["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])
        for one in objects(tmp_path, "argocd/applications.yaml")
    }
    assert sorted(waves, key=lambda name: waves[name]) == [
        "ml-before",
        "ml-network-operator",
        "ml-network",
        "ml-gpu-operator",
    ]
    names = sorted(path.name for path in tmp_path.glob("waves/0-before/*"))
    assert "network-operator-namespace.yaml" in names
    assert "gpu-operator-mig-parted.yaml" in names


def test_flux_waits_for_the_wave_before(tmp_path: Path) -> None:
    run("vsphere-network", tmp_path, "flux")
    _, *made = objects(tmp_path, "flux/kustomizations.yaml")
    after = {
        one["metadata"]["name"]: [other["name"] for other in one["spec"].get("dependsOn", [])]
        for one in made
    }
    assert after == {
        "ml-before": [],
        "ml-network-operator": ["ml-before"],
        "ml-network": ["ml-network-operator"],
        "ml-gpu-operator": ["ml-network"],
    }
    assert all(one["spec"]["wait"] for one in made)
    assert (tmp_path / "flux/releases/ml-gpu-operator/release.yaml").is_file()
    paths = {one["spec"]["path"] for one in made}
    assert "./gpu/flux/releases/ml-gpu-operator" in paths


def test_certificates_of_controllers_are_left_alone(tmp_path: Path) -> None:
    run("eks-autoscaler-queues", tmp_path, "argocd")
    made = {one["metadata"]["name"]: one["spec"] for one in objects(tmp_path, "argocd/appl*")}
    ignored = made["ml-kueue"]["ignoreDifferences"]
    assert {
        "group": "admissionregistration.k8s.io",
        "kind": "ValidatingWebhookConfiguration",
        "jqPathExpressions": [".webhooks[]?.clientConfig.caBundle"],
    } in ignored
    assert "ignoreDifferences" not in made["ml-before"]
    run("eks-autoscaler-queues", tmp_path / "flux", "flux")
    _, release = objects(tmp_path / "flux", "flux/releases/ml-kueue/release.yaml")
    assert {
        "paths": ["/spec/conversion/webhook/clientConfig/caBundle"],
        "target": {"group": "apiextensions.k8s.io", "kind": "CustomResourceDefinition"},
    } in release["spec"]["driftDetection"]["ignore"]


def test_an_oci_chart_is_named_as_each_tool_wants_it(tmp_path: Path) -> None:
    """Argo CD: `repoURL` without `oci://`; Flux: a HelmRepository of type oci."""
    run("eks-autoscaler-queues", tmp_path, "argocd")
    made = {one["metadata"]["name"]: one["spec"] for one in objects(tmp_path, "argocd/appl*")}
    source = made["ml-kueue"]["source"]
    assert (source["repoURL"], source["chart"]) == ("registry.k8s.io/kueue/charts", "kueue")
    run("eks-autoscaler-queues", tmp_path / "flux", "flux")
    repository, release = objects(tmp_path / "flux", "flux/releases/ml-kueue/release.yaml")
    assert repository["spec"]["url"] == "oci://registry.k8s.io/kueue/charts"
    assert repository["spec"]["type"] == "oci"
    assert release["spec"]["chart"]["spec"]["chart"] == "kueue"


def test_charts_come_from_the_declared_source(tmp_path: Path) -> None:
    source = {"charts": {"source": {"oci": "oci://registry.example.com/charts"}}}
    run("eks-autoscaler-queues", tmp_path, "argocd", addons=source)
    made = {one["metadata"]["name"]: one["spec"] for one in objects(tmp_path, "argocd/appl*")}
    assert made["ml-gpu-operator"]["source"]["repoURL"] == "registry.example.com/charts"


def test_argo_cd_learns_when_a_policy_is_ready(tmp_path: Path) -> None:
    run("eks-karpenter", tmp_path, "argocd")
    (config,) = objects(tmp_path, "argocd/argocd-cm.yaml")
    assert set(config["data"]) == {
        "resource.customizations.health.argoproj.io_Application",
        "resource.customizations.health.nvidia.com_ClusterPolicy",
        "resource.customizations.health.mellanox.com_NicClusterPolicy",
    }


def test_a_value_that_only_the_cloud_gives_is_named(tmp_path: Path) -> None:
    text = run("eks-karpenter", tmp_path, "argocd").stderr
    assert "chart karpenter needs settings.interruptionQueue" in text
    values = {"settings": {"interruptionQueue": "ml-karpenter"}}
    given = {"karpenter": {"values": values}}
    assert "interruptionQueue" not in run("eks-karpenter", tmp_path, "argocd", addons=given).stderr


def test_both_options_belong_together(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["-", "--out", str(tmp_path), "--for", "flux"], input="{}")
    assert result.exit_code == 2
    assert "--for and --repo are only used together" in result.stderr


def test_steps_are_named_once() -> None:
    for name in SPECS:
        names = [step.name for step in gitops_steps(mirror_fleet(name))]
        assert len(names) == len(set(names)), json.dumps(names)
