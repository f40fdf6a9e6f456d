"""Values of the charts of DCGM's exporter, Karpenter, Kueue and KEDA in what installs them."""

from pathlib import Path

import pytest

from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.configurations.test_wrapped import checked, release
from tests.policies.objects import TODAY

KARPENTER = (
    Path.home()
    / "go/pkg/mod/github.com/aws"
    / "karpenter-provider-aws@v1.15.1/charts/karpenter/values.yaml"
)


def said(kind: str, text: str) -> dict[str, str]:
    return {one.path: one.code for one in checked(text, kind).findings}


@pytest.mark.parametrize(
    ("chart", "version", "values", "path", "code"),
    [
        ("keda", "2.20.2", '{crds: {install: "false"}}', "crds.install", "wrong-type"),
        ("kueue", "0.19.2", "{enablePrometeus: true}", "enablePrometeus", "key-misspelt"),
        # A key of another release may be one there: the newest known here does not have it.
        ("kueue", "0.14.1", "{enablePrometeus: true}", "enablePrometeus", "key-unknown"),
        ("karpenter", "1.15.1", "{replicas: two}", "replicas", "value-invalid"),
        ("dcgm-exporter", "4.8.2", '{rbac: "true"}', "rbac", "key-unknown"),
    ],
)
def test_values_of_a_release_are_those_of_its_chart(
    chart: str, version: str, values: str, path: str, code: str
) -> None:
    text = release(chart, values, version)
    assert said(f"{chart}-values", text) == {f"spec.values.{path}": f"config-{code}"}


def test_files_that_others_published_lose_what_they_declare() -> None:
    # A Karpenter release and a Kueue tutorial for Flux, as they are on GitHub.
    resources = '{request: {cpu: "50m", mem: "64Mi"}, limit: {cpu: "1", mem: "512Mi"}}'
    assert said("karpenter-values", f"controller: {{resources: {resources}}}") == {
        "controller.resources.request": "config-key-misspelt",
        "controller.resources.limit": "config-key-misspelt",
    }
    kueue = "controllerManager: {replicas: 2, manager: {podVisibilityOnDemand: true}}"
    assert said("kueue-values", kueue) == {
        "controllerManager.manager.podVisibilityOnDemand": "config-key-unknown"
    }


def test_an_older_release_is_not_said_to_ignore_a_key() -> None:
    text = release("karpenter", "{settings: {aws: {clusterName: a}}}", "0.31.0")
    (found,) = checked(text, "karpenter-values").findings
    assert found.message.startswith("the karpenter chart of v1.15.1 does not know `aws`")


@pytest.mark.skipif(not KARPENTER.exists(), reason="Go's module cache has no Karpenter 1.15.1")
def test_the_default_values_of_karpenter_are_accepted() -> None:
    assert not validate_text("karpenter-values", KARPENTER.read_text(encoding="utf-8")).findings


def test_audit_judges_values_files_and_releases_of_these_charts(tmp_path: Path) -> None:
    (tmp_path / "keda-values.yaml").write_text('webhooks: {enabled: "false"}\n')
    (tmp_path / "release.yaml").write_text(release("kueue", '{enablePrometheus: "false"}'))
    result = audit(find_inputs([str(tmp_path)]), read_settings({}), TODAY)
    found = {(Path(one.file).name, one.code) for one in result.findings}
    assert {
        ("keda-values.yaml", "config-wrong-type"),
        ("release.yaml", "config-wrong-type"),
    } <= found
