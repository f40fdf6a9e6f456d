"""Charts of the tree are rendered with the values of the program that installs them."""

from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write
from tests.policies.resolve.charts import APPLICATION, CHART, FEWER, FLUX, NEEDED, of

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


@NEEDED
def test_a_chart_that_helmfile_does_not_install_is_listed(tmp_path: Path) -> None:
    eight = {"charts/server/values.yaml": "gpus: 8\nreplicas: 1\nname: llm\n"}
    one = "releases: [{name: llm, chart: ./charts/server, installed: INSTALLED}]\n"
    for installed, errors, listed in (("true", 1, []), ("false", 0, ["server"])):
        write(tmp_path, CHART | eight | {"helmfile.yaml": one.replace("INSTALLED", installed)})
        found = audit(tmp_path)
        assert len(of(FEWER, found)) == errors
        left = [one["object"] for one in found["notJudged"] if one["what"] == "render"]
        assert [Path(one).name for one in left] == listed


FLUX_CHART = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: llm, namespace: flux}
spec:
  chart: ./charts/server
  sourceRef: {kind: GitRepository, name: fleet}
  valuesFiles: [./charts/server/values.yaml, ./charts/server/values-prod.yaml]
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llm, namespace: flux}
spec:
  targetNamespace: serving
  chartRef: {kind: HelmChart, name: llm}
"""


@NEEDED
@pytest.mark.parametrize(("prod", "errors"), [(8, 1), (1, 0)])
def test_the_files_of_values_of_a_chart_of_flux_are_read(
    tmp_path: Path, prod: int, errors: int
) -> None:
    """fluxcd/source-controller api/v1 helmchart_types.go: `valuesFiles`."""
    own = f"gpus: {9 - prod}\nreplicas: 1\nname: llm\n"
    files = {"charts/server/values.yaml": own, "charts/server/values-prod.yaml": f"gpus: {prod}\n"}
    write(tmp_path, CHART | files | {"clusters/llm.yaml": FLUX_CHART})
    assert len(of(FEWER, audit(tmp_path))) == errors
