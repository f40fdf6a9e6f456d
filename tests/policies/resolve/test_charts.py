"""Charts of the tree are validated as the objects that `helm template` makes of them."""

import stat
from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write
from tests.policies.resolve.charts import APPLICATION, CHART, FEWER, NEEDED, of


@NEEDED
def test_a_chart_that_nothing_installs_is_rendered_with_its_values(tmp_path: Path) -> None:
    eight = "charts/server/values-prod.yaml"
    write(tmp_path, CHART | {eight: "gpus: 8\n", "charts/server/values-dev.yaml": "gpus: 1\n"})
    found = audit(tmp_path, "--profile", "prod", "--require-judged")
    (one,) = of(FEWER, found)
    assert one["file"].endswith("charts/server/templates/server.yaml")
    assert one["line"] == 18, "the line of the template that writes the request"
    assert "requests 8 x nvidia.com/gpu" in one["text"]
    assert one["patch"] == [], "no patch fits a template"
    assert found["notJudged"] == []


@NEEDED
def test_an_application_gives_values_and_namespace(tmp_path: Path) -> None:
    write(tmp_path, CHART | {"app.yaml": APPLICATION, "values/prod.yaml": "gpus: 4\n"})
    (one,) = of(FEWER, audit(tmp_path))
    assert one["object"] == "Deployment serving/llm"
    assert "requests 4 x" in one["text"]


@NEEDED
def test_a_release_of_flux_and_one_of_a_helmfile_name_charts_by_path(tmp_path: Path) -> None:
    flux = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llm, namespace: flux}
spec:
  targetNamespace: serving
  chart: {spec: {chart: ./charts/server, sourceRef: {kind: GitRepository, name: fleet}}}
  values: {gpus: 2}
"""
    write(tmp_path, CHART | {"clusters/a/release.yaml": flux})
    assert [one["object"] for one in of(FEWER, audit(tmp_path))] == ["Deployment serving/llm"]
    (tmp_path / "clusters/a/release.yaml").unlink()
    release = "releases: [{name: x, namespace: apps, chart: ../charts/server, values: [v.yaml]}]\n"
    write(tmp_path, {"helmfile/helmfile.yaml": release, "helmfile/v.yaml": "gpus: 2\n"})
    assert [one["object"] for one in of(FEWER, audit(tmp_path))] == ["Deployment apps/llm"]


@NEEDED
def test_a_kustomization_patches_what_its_chart_makes(tmp_path: Path) -> None:
    where = "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu"
    patch = f"[{{op: replace, path: {where}, value: 6}}]"
    files = {
        "kustomization.yaml": """\
namespace: serving
helmGlobals: {chartHome: charts}
helmCharts: [{name: server, releaseName: llm, valuesInline: {gpus: 2}}]
patches: [{path: p.yaml, target: {kind: Deployment}}]
""",
        "p.yaml": f"{patch}\n",
    }
    write(tmp_path, CHART | files)
    found = audit(tmp_path)
    (one,) = of(FEWER, found)
    assert one["object"] == "Deployment serving/llm"
    assert "requests 6 x" in one["text"]
    assert one["file"].endswith("p.yaml"), "the place of the number"
    assert found["notJudged"] == []


@NEEDED
def test_a_chart_of_applications_leads_to_their_charts(tmp_path: Path) -> None:
    apps = {
        "apps/Chart.yaml": "apiVersion: v2\nname: apps\nversion: 1.0.0\n",
        "apps/values.yaml": "gpus: 4\n",
        "apps/templates/app.yaml": APPLICATION.replace(
            "      valueFiles: [../../values/prod.yaml]\n",
            "      valuesObject: {gpus: {{ .Values.gpus }}}\n",
        ),
    }
    write(tmp_path, CHART | apps)
    (one,) = of(FEWER, audit(tmp_path))
    assert "requests 4 x" in one["text"]


@NEEDED
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"charts/server/Chart.yaml": CHART["charts/server/Chart.yaml"] + "dependencies: "
             "[{name: redis, version: 1.0.0, repository: 'https://charts.example'}]\n"},
            "missing in charts/ directory: redis",
        ),
        ({"charts/server/values.yaml": "replicas: 1\nname: llm\n"}, "gpus is required"),
        ({"charts/server/templates/no.yaml": '{{ fail "no model" }}'}, "no model"),
    ],
)  # fmt: skip
def test_what_helm_refuses_is_listed_with_its_reason(
    tmp_path: Path, change: dict[str, str], reason: str
) -> None:
    write(tmp_path, CHART | change)
    found = audit(tmp_path, "--require-judged")
    (one,) = [one for one in found["notJudged"] if one["what"] == "render"]
    assert one["object"].endswith("charts/server")
    assert reason in one["reason"]


@NEEDED
def test_values_that_a_tool_fills_in_are_not_guessed(tmp_path: Path) -> None:
    application = APPLICATION.replace('value: "1"', 'value: "${PARALLEL}"')
    write(tmp_path, CHART | {"app.yaml": application, "values/prod.yaml": "gpus: 4\n"})
    found = audit(tmp_path)
    assert of(FEWER, found) == []
    assert "its value parallel is not known" in [one["reason"] for one in found["notJudged"]]


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A `helm` that does what a script says."""
    program = folder / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_helm_gets_no_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, monkeypatch, 'env > "$0.env"; echo "$@" > "$0.arguments"; exit 1')
    monkeypatch.setenv("HELM_PLUGINS", "/plugins/of/a/user")
    monkeypatch.setenv("HELM_KUBECONTEXT", "production")
    monkeypatch.setenv("KUBECONFIG", "/root/.kube/config")
    write(tmp_path / "repo", CHART)
    audit(tmp_path / "repo")
    environment = dict(
        line.split("=", 1) for line in (tmp_path / "bin/helm.env").read_text().splitlines()
    )
    assert {k for k in environment if k.startswith(("HELM_", "KUBE"))} == {
        "HELM_CONFIG_HOME",
        "HELM_CACHE_HOME",
        "HELM_DATA_HOME",
    }
    arguments = (tmp_path / "bin/helm.arguments").read_text().split()
    assert arguments[0] == "template"
    assert "--dependency-update" not in arguments
    assert "--validate" not in arguments


def test_a_chart_that_takes_too_long_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, monkeypatch, "exec sleep 60")
    monkeypatch.setattr("gpufleet_policies.resolve.charts._SECONDS", 0.2)
    write(tmp_path / "repo", CHART)
    reasons = [one["reason"] for one in audit(tmp_path / "repo")["notJudged"]]
    assert "helm needs more than 0.2 s" in reasons


def test_a_link_out_of_the_tree_is_not_given_to_helm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, monkeypatch, "exit 0")
    write(tmp_path / "repo", CHART)
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "repo/charts/server/secret.txt").symlink_to(tmp_path / "secret.txt")
    reasons = [one["reason"] for one in audit(tmp_path / "repo")["notJudged"]]
    assert "a link leads out of the audited files" in reasons


def test_a_schema_of_values_is_none(tmp_path: Path) -> None:
    schema = '{"$schema": "http://json-schema.org/schema#", "description": "x", "type": "object"}'
    write(tmp_path, {"nvidia-device-plugin/values.schema.json": schema, "a.yaml": "gpus: 1\n"})
    found = audit(tmp_path, "--allow-nothing")
    assert (found["findings"], found["notJudged"]) == ([], [])


def test_without_helm_templates_are_read_as_far_as_they_are_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("GPUFLEET_CACHE", str(tmp_path / "none"))
    write(tmp_path / "repo", CHART | {"app.yaml": APPLICATION, "values/prod.yaml": "gpus: 4\n"})
    found = audit(tmp_path / "repo", "--require-judged")
    assert {one["what"] for one in found["notJudged"]} >= {"render", "template"}
    assert "helm is not installed" in [one["reason"] for one in found["notJudged"]]


@NEEDED
def test_a_value_is_not_part_of_a_reason(tmp_path: Path) -> None:
    template = '{{ fail (printf "the key %s is too short" .Values.name) }}\n'
    write(
        tmp_path,
        CHART
        | {
            "charts/server/templates/fails.yaml": template,
            "charts/server/values-own.yaml": "name: not-to-be-seen\n",
        },
    )
    assert "not-to-be-seen" not in str(audit(tmp_path)["notJudged"])


@NEEDED
def test_a_comment_waives_the_object_of_its_name_only(tmp_path: Path) -> None:
    one = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers:
    - name: c
      image: x:1
      resources:
        requests:
          # gpufleet:ignore gpu-request-differs-from-limit reason=x until=2027-01-01
          nvidia.com/gpu: 1
        limits: {nvidia.com/gpu: 2}
"""
    first = "{{- if .Values.first }}\n" + one.replace("NAME", "one") + "---\n{{- end }}\n"
    second = one.replace("NAME", "two").replace("# gpufleet:ignore", "# not waived:")
    write(tmp_path, CHART | {"charts/server/templates/pods.yaml": first + second})
    assert len(of("gpu-request-differs-from-limit", audit(tmp_path))) == 1
