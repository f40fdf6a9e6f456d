"""Charts of the tree are validated as the objects that `helm template` makes of them."""

import shutil
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gpufleet_policies.resolve.charts import helm
from tests.policies.audit.test_wrappers import audit, write

FEWER = "gpu-count-exceeds-parallelism"
CHART = {
    "charts/server/Chart.yaml": "apiVersion: v2\nname: server\nversion: 1.0.0\n",
    "charts/server/values.yaml": "gpus: 1\nreplicas: 1\nname: llm\n",
    "charts/server/templates/_helpers.tpl": """\
{{- define "server.args" -}}
["--model=/models/own", "--tensor-parallel-size={{ .Values.parallel | default 1 }}"]
{{- end -}}
""",
    "charts/server/templates/server.yaml": """\
{{- if .Values.enabled | default true }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Values.name }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      containers:
        - name: main
          image: vllm/vllm-openai:v0.9.0
          args: {{ include "server.args" . }}
          resources:
            limits:
              nvidia.com/gpu: {{ required "gpus is required" .Values.gpus }}
{{- end }}
""",
}
NEEDED = pytest.mark.skipif(
    helm() is None, reason="helm is not on PATH: run `gpufleet sandbox programs helm`"
)
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: llm, namespace: argocd}
spec:
  destination: {namespace: serving, server: "https://kubernetes.default.svc"}
  source:
    repoURL: https://git.example/fleet
    path: charts/server
    helm:
      valueFiles: [../../values/prod.yaml]
      parameters: [{name: parallel, value: "1"}]
"""


def of(code: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in found["findings"] if one["code"] == code]


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


SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: llms, namespace: argocd}
spec:
  goTemplate: GO
  generators: GENERATORS
  template:
    metadata: {name: 'NAME'}
    spec:
      destination: {namespace: 'NAME', server: "https://kubernetes.default.svc"}
      source: {repoURL: https://git.example/fleet, path: charts/server, helm: HELM}
"""


def set_of(generators: str, helm_part: str, name: str, *, go: bool = False) -> str:
    written = SET.replace("GENERATORS", generators).replace("HELM", helm_part)
    return written.replace("NAME", name).replace("GO", str(go).lower())


@NEEDED
@pytest.mark.parametrize(
    ("written", "more", "expected"),
    [
        (
            set_of(
                "[{list: {elements: [{team: a, gpus: 4}, {team: b, gpus: 1}, "
                "{team: c, gpus: 2}]}}]",
                "{parameters: [{name: gpus, value: '{{gpus}}'}, {name: parallel, value: '1'}]}",
                "{{team}}",
            ),
            {},
            [("Deployment a/llm", 4), ("Deployment c/llm", 2)],
        ),
        (
            set_of(
                "[{git: {directories: [{path: teams/*}, {path: teams/c, exclude: true}]}}]",
                "{valueFiles: ['../../{{.path.path}}/values.yaml']}",
                "{{.path.basename}}",
                go=True,
            ),
            {"teams/a/values.yaml": "gpus: 1\n", "teams/b/values.yaml": "gpus: 2\n",
             "teams/c/values.yaml": "gpus: 8\n"},
            [("Deployment b/llm", 2)],
        ),
        (
            set_of(
                "[{git: {files: [{path: 'teams/**/config.json'}]}}]",
                "{values: 'gpus: {{gpus.count}}'}",
                "{{path.basename}}",
            ),
            {"teams/x/a/config.json": '{"gpus": {"count": 3}}'},
            [("Deployment a/llm", 3)],
        ),
        (
            set_of(
                "[{matrix: {generators: [{list: {elements: [{env: prod}, {env: dev}]}}, "
                "{git: {directories: [{path: 'teams/*'}]}}]}}]",
                "{valueFiles: ['../../{{path}}/{{env}}.yaml']}",
                "{{path[1]}}-{{env}}",
            ),
            {"teams/a/prod.yaml": "gpus: 8\n", "teams/a/dev.yaml": "gpus: 1\n"},
            [("Deployment a-prod/llm", 8)],
        ),
    ],
    ids=["list", "git directories", "git files", "matrix"],
)  # fmt: skip
def test_an_application_set_gives_the_values_of_its_generators(
    tmp_path: Path, written: str, more: dict[str, str], expected: list[tuple[str, int]]
) -> None:
    write(tmp_path, CHART | {"clusters/set.yaml": written} | more)
    found = audit(tmp_path)
    assert [
        (one["object"], f"requests {n} x" in one["text"])
        for one, (_, n) in zip(of(FEWER, found), expected, strict=True)
    ] == [(o, True) for o, _ in expected]
    assert [one for one in found["notJudged"] if one["what"] == "render"] == []


@NEEDED
@pytest.mark.parametrize(
    "generators",
    ["[{clusters: {}}]", "[{pullRequest: {github: {owner: a, repo: b}}}]",
     "[{git: {directories: [{path: elsewhere/*}]}}]",
     "[{list: {elements: [{team: a, gpus: 4}]}, selector: {matchLabels: {team: b}}}]"],
)  # fmt: skip
def test_what_a_generator_gives_from_elsewhere_is_not_known(
    tmp_path: Path, generators: str
) -> None:
    eight = {"charts/server/values.yaml": "gpus: 8\nreplicas: 1\nname: llm\n"}
    values = "{parameters: [{name: gpus, value: '{{metadata.labels.gpus}}'}]}"
    write(tmp_path, CHART | eight | {"set.yaml": set_of(generators, values, "x")})
    found = audit(tmp_path)
    assert of(FEWER, found) == []
    assert "its value gpus is not known" in [one["reason"] for one in found["notJudged"]]


@NEEDED
@pytest.mark.parametrize("path", ["'charts/{{name}}'", "'{{metadata.annotations.path}}'"])
def test_a_chart_that_a_path_with_a_variable_may_mean_is_listed(tmp_path: Path, path: str) -> None:
    eight = {"charts/server/values.yaml": "gpus: 8\nreplicas: 1\nname: llm\n"}
    written = set_of("[{clusters: {}}]", "{}", "x").replace("path: charts/server", f"path: {path}")
    write(tmp_path, CHART | eight | {"set.yaml": written})
    found = audit(tmp_path)
    assert of(FEWER, found) == []
    (one,) = [one for one in found["notJudged"] if one["what"] == "render"]
    assert "may install it, with values not known" in one["reason"]


@NEEDED
@pytest.mark.parametrize("extra", ["templatePatch: 'spec: {}'", ""])
def test_a_patch_of_a_template_may_change_any_value(tmp_path: Path, extra: str) -> None:
    written = set_of("[{list: {elements: [{gpus: 4}]}}]", "{values: 'gpus: {{gpus}}'}", "x")
    write(tmp_path, CHART | {"set.yaml": f"{written}  {extra}\n"})
    found = audit(tmp_path)
    assert [bool(of(FEWER, found)), any("templatePatch" in str(o) for o in found["notJudged"])] == [
        not extra,
        bool(extra),
    ]


FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llm, namespace: flux}
spec:
  targetNamespace: serving
  chart:
    spec:
      chart: ./charts/server
      sourceRef: {kind: GitRepository, name: fleet}
      valuesFiles: FILES
"""


@NEEDED
@pytest.mark.parametrize(
    ("files", "objects"),
    [
        ("[./charts/server/values.yaml, ./charts/server/eight.yaml]", ["Deployment serving/llm"]),
        ("[./charts/server/eight.yaml]", ["Deployment serving/own"]),
    ],
)
def test_values_files_of_flux_replace_those_of_the_chart(
    tmp_path: Path, files: str, objects: list[str]
) -> None:
    """Without its own values.yaml the chart has no value `name` that a file of the list lacks."""
    own = CHART["charts/server/templates/server.yaml"].replace(
        ".Values.name", '.Values.name | default "own"'
    )
    eight = "gpus: 8\nreplicas: 1\n"
    write(tmp_path, CHART | {
        "charts/server/templates/server.yaml": own, "charts/server/eight.yaml": eight,
        "release.yaml": FLUX.replace("FILES", files)})  # fmt: skip
    assert [one["object"] for one in of(FEWER, audit(tmp_path))] == objects


@NEEDED
def test_values_files_that_are_missing_leave_a_chart_unresolved(tmp_path: Path) -> None:
    write(tmp_path, CHART | {"release.yaml": FLUX.replace("FILES", "[./elsewhere.yaml]")})
    found = audit(tmp_path)
    assert of(FEWER, found) == []
    assert "elsewhere.yaml" in str([one["reason"] for one in found["notJudged"]])


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


@NEEDED
def test_helm_has_one_time_for_all_charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufleet_policies.resolve.charts.SECONDS_OF_RUN", 0.01)
    files = {f"charts/server/values-{n}.yaml": "gpus: 4\n" for n in range(9)}
    write(tmp_path, CHART | files)
    reasons = [one["reason"] for one in audit(tmp_path)["notJudged"] if one["what"] == "render"]
    assert len(reasons) == 10
    assert set(reasons[1:]) == {"the 0.01 s of helm for one run are used up"}


@NEEDED
@pytest.mark.parametrize("name", ["llm_server", "2048", "Llm.Server", "9" * 60])
def test_names_that_helm_refuses_and_numbers_are_rendered(tmp_path: Path, name: str) -> None:
    flux = FLUX.replace("FILES", "[./charts/server/values.yaml]").replace(
        "{name: llm, namespace: flux}", f"{{name: {name}, namespace: flux}}"
    )
    values = {"charts/server/values.yaml": "gpus: 2\nreplicas: 1\nname: llm\n"}
    write(tmp_path, CHART | values | {"release.yaml": flux})
    assert [one["object"] for one in of(FEWER, audit(tmp_path))] == ["Deployment serving/llm"]


@NEEDED
def test_values_with_underscores_dots_and_numbers_as_names(tmp_path: Path) -> None:
    template = CHART["charts/server/templates/server.yaml"].replace(
        '{{ required "gpus is required" .Values.gpus }}',
        '{{ index .Values.per_node "h100.80gb" "8" }}',
    )
    application = APPLICATION.replace(
        '{name: parallel, value: "1"}', r"{name: 'per_node.h100\.80gb.8', value: '4'}"
    )
    write(tmp_path, CHART | {"app.yaml": application, "values/prod.yaml": "{}\n",
          "charts/server/templates/server.yaml": template})  # fmt: skip
    (one,) = of(FEWER, audit(tmp_path))
    assert "requests 4 x" in one["text"]


@NEEDED
@pytest.mark.parametrize(
    ("file", "written", "reason"),
    [
        ("release.yaml", FLUX.replace("FILES", "[]") + "  values: {gpus: 4}\n"
         "  postRenderers: [{kustomize: {}}]\n", "postRenderers"),
        ("app.yaml", APPLICATION.replace("    helm:\n", "    plugin: {name: x}\n    helm:\n"),
         "plugin"),
    ],
)  # fmt: skip
def test_what_changes_objects_after_helm_is_not_guessed(
    tmp_path: Path, file: str, written: str, reason: str
) -> None:
    write(tmp_path, CHART | {file: written, "values/prod.yaml": "gpus: 4\n"})
    found = audit(tmp_path)
    assert of(FEWER, found) == []
    assert reason in str([one["reason"] for one in found["notJudged"]])


RELEASE = """\
resource "helm_release" "llm" {
  name      = "llm"
  namespace = "serving"
  chart     = CHART
  values    = VALUES
  MORE
}
"""
MODULE = 'module "llm" {\n  source = "../modules/llm"\n  gpus   = 4\n}\n'


def terraform(chart: str, values: str = "[]", more: str = "") -> str:
    return RELEASE.replace("CHART", chart).replace("VALUES", values).replace("MORE", more)


@NEEDED
@pytest.mark.parametrize(
    "files",
    [
        {"main.tf": terraform('"./charts/server"', more='set {\n name = "gpus"\n value = 4\n }')},
        {"infra/main.tf": terraform('"${path.module}/../charts/server"',
         more='set = [{ name = "gpus", value = "4" }]')},
        {"infra/main.tf": terraform('"../charts/server"', '[file("${path.module}/llm.yaml")]'),
         "infra/llm.yaml": "gpus: 4\n"},
        {"live/main.tf": MODULE, "modules/llm/main.tf": 'variable "gpus" {}\n' + terraform(
         '"../../charts/server"', '[yamlencode({ gpus = var.gpus })]')},
        {"Pulumi.yaml": "name: x\nruntime: yaml\nresources:\n  llm:\n"
         "    type: kubernetes:helm.sh/v3:Release\n    properties: {chart: ./charts/server, "
         "name: llm, namespace: serving, values: {gpus: 4}}\n"},
    ],
    ids=["set block", "set list", "file", "module", "pulumi"],
)  # fmt: skip
def test_a_release_of_a_program_gives_its_values(tmp_path: Path, files: dict[str, str]) -> None:
    eight = {"charts/server/values.yaml": "gpus: 8\nreplicas: 1\nname: llm\n"}
    write(tmp_path, CHART | eight | files)
    (one,) = of(FEWER, audit(tmp_path))
    assert one["object"] == "Deployment serving/llm"
    assert "requests 4 x" in one["text"]


@NEEDED
@pytest.mark.parametrize(
    ("values", "more"),
    [
        ("[]", 'set {\n name = "gpus"\n value = var.gpus\n }'),
        ("[]", 'dynamic "set" {\n for_each = var.set\n content { name = "gpus" }\n }'),
        ("[]", 'set_sensitive {\n name = "gpus"\n value = "4"\n }'),
        ("var.values", ""),
        ('[templatefile("${path.module}/llm.yaml", { gpus = 4 })]', ""),
        ('[file("missing.yaml")]', ""),
        ("[<<-EOT\n    gpus: ${var.gpus}\n  EOT\n  ]", ""),
        ("[]", 'postrender {\n binary_path = "./patch.sh"\n }'),
    ],
)
def test_values_that_only_a_plan_knows_are_not_the_defaults(
    tmp_path: Path, values: str, more: str
) -> None:
    eight = {"charts/server/values.yaml": "gpus: 8\nreplicas: 1\nname: llm\n"}
    write(tmp_path, CHART | eight | {"main.tf": terraform('"./charts/server"', values, more)})
    found = audit(tmp_path)
    assert of(FEWER, found) == []
    assert [one["object"] for one in found["notJudged"] if one["what"] == "render"] == [
        str(tmp_path / "charts/server")
    ]


HELMFILE = "releases: [{name: llm, namespace: apps, chart: charts/server, MORE}]\n"


@NEEDED
@pytest.mark.parametrize(
    ("name", "more", "gpus"),
    [
        ("helmfile.yaml", "set: [{name: gpus, value: 4}]", 4),
        ("helmfile.yaml.gotmpl", "values: [v.yaml]", 2),
        ("helmfile.yaml", "values: [v.yaml.gotmpl]", None),
        ("helmfile.yaml", "values: ['{{ .Environment.Name }}.yaml']", None),
        ("helmfile.yaml", "values: [v.yaml], secrets: [s.yaml]", None),
        ("helmfile.yaml", "values: [v.yaml], strategicMergePatches: [{}]", None),
    ],
)
def test_a_helmfile_gives_its_values_or_none(
    tmp_path: Path, name: str, more: str, gpus: int | None
) -> None:
    files = {
        "charts/server/values.yaml": "gpus: 8\nreplicas: 1\nname: llm\n",
        name: HELMFILE.replace("MORE", more),
        "v.yaml": "gpus: 2\n",
        "v.yaml.gotmpl": "gpus: {{ .Values.gpus }}\n",
    }
    write(tmp_path, CHART | files)
    found = audit(tmp_path)
    requested = [one["text"].partition(" x ")[0].rpartition(" ")[2] for one in of(FEWER, found)]
    assert requested == ([] if gpus is None else [str(gpus)])
    assert any(one["what"] == "render" for one in found["notJudged"]) is (gpus is None)


@NEEDED
def test_an_application_set_that_a_chart_makes_has_its_own_templates(tmp_path: Path) -> None:
    written = set_of(
        "[{list: {elements: [{team: a, gpus: 4}]}}]",
        "{parameters: [{name: gpus, value: '{{`{{gpus}}`}}'}]}",
        "{{`{{team}}`}}",
    )
    apps = {
        "apps/Chart.yaml": "apiVersion: v2\nname: apps\nversion: 1.0.0\n",
        "apps/templates/set.yaml": written,
    }
    write(tmp_path, CHART | apps)
    assert [one["object"] for one in of(FEWER, audit(tmp_path))] == ["Deployment a/llm"]


@NEEDED
def test_a_release_may_name_the_folder_by_a_chart_object(tmp_path: Path) -> None:
    release = FLUX.partition("  chart:")[0] + "  chartRef: {kind: HelmChart, name: c}\n"
    named = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: c, namespace: flux}
spec: {chart: ./charts/server, sourceRef: {kind: GitRepository, name: fleet}}
"""
    write(tmp_path, CHART | {"r.yaml": release + "  values: {gpus: 4}\n", "c.yaml": named})
    assert [one["object"] for one in of(FEWER, audit(tmp_path))] == ["Deployment serving/llm"]


@NEEDED
def test_a_namespace_that_is_not_known_is_not_part_of_a_name(tmp_path: Path) -> None:
    written = set_of(
        "[{matrix: {generators: [{clusters: {}}, {list: {elements: [{gpus: 4}]}}]}}]",
        "{values: 'gpus: {{gpus}}'}",
        "{{name}}",
    )
    write(tmp_path, CHART | {"set.yaml": written})
    assert [one["object"] for one in of(FEWER, audit(tmp_path))] == ["Deployment llm"]
