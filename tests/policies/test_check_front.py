"""`gpufleet check`: the audit of one file with a context, as a verdict.

`accept` is returned only for a file that was read completely.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.commands.check import command
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.check import CheckedFile, check_file
from gpufleet_policies.rules.settings import read_settings
from tests.policies.audit.wrapper_shapes import FAULT
from tests.policies.configurations.test_wrapped import release
from tests.policies.objects import TODAY

PLUGIN = (
    "version: v1\nsharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: [%s]}}\n"
)
SHARED = PLUGIN % "{name: nvidia.com/gpu, replicas: 4}"
MIG = "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false}]}\n"
POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: c}
spec: {mig: {strategy: %s}}
"""
FINE = release("gpu-operator", "{mig: {strategy: single}}")
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {selector: {app: s}, ports: [{port: 80}]}
"""
FOO = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: foo}\n"
KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
PATCHES = """\
patches:
- target: {kind: ClusterPolicy}
  patch: |-
    - {op: replace, path: /spec/mig/strategy, value: mixd}
"""


def checked(text: str, name: str = "file.yaml", **where: object) -> CheckedFile:
    file = Input(name, content=text.encode())
    return check_file(file, TODAY, read_settings({}), **where)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        (PLUGIN % "{name: nvidia.com/gpu, replicas: 1}", "", "device-plugin-replicas-invalid"),
        (POLICY % "mixd", "", FAULT),
        ("mig: {strategy: mixd}\nmigManager: {}\n", "", FAULT),
        ("mig: {strategy: mixd}\n", "gpu-operator-values.yaml", FAULT),
        (release("gpu-operator", "{mig: {strategy: mixd}}"), "", FAULT),
        (f"{SERVICE}---\n{POLICY % 'mixd'}", "", FAULT),
        (
            "version: v1\nversion: v1\nflags: {migStrategy: none}\n",
            "",
            "config-key-repeated",
        ),
        (f"{MIG}---\na: 1\n", "", "config-second-document"),
        ("configList: []\n", "", "rdma-not-json"),
    ],
)
def test_the_kind_is_recognised(text: str, name: str, code: str) -> None:
    assert code in {one.code for one in checked(text, name or "file.yaml").findings}


@pytest.mark.parametrize(
    ("text", "verdict", "left_out"),
    [
        pytest.param(FINE, "accept", (), id="all of it is read"),
        pytest.param(SHARED, "accept", (), id="a bare configuration"),
        pytest.param(json.dumps({"mig-configs": {}}), "reject", (), id="JSON"),
        pytest.param(f"{FINE}---\n{SERVICE}", "accept", (), id="a kind without GPUs"),
        pytest.param(f"{FINE}---\n{FOO}", "unjudged", ("Foo foo",), id="an unknown kind"),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n"
            "- {apiVersion: example.com/v1, kind: Foo, metadata: {name: foo}}\n"
            "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}\n",
            "unjudged",
            ("Foo foo",),
            id="an item of a List",
        ),
        pytest.param(
            f"{FINE}---\n{release('cert-manager', '{}')}",
            "unjudged",
            ("HelmRelease gpu/x, spec.chart.spec.chart",),
            id="an unknown chart",
        ),
        pytest.param(
            f"{FINE}---\n{release('jupyterhub', '{a: 1}')}",
            "unjudged",
            ("HelmRelease gpu/x, spec.values",),
            id="a chart that is known, and whose values no rule reads",
        ),
        pytest.param(
            release("gpu-operator", "{driver: {version: '${VERSION}'}}"),
            "unjudged",
            ("HelmRelease gpu/x, spec.values.driver.version",),
            id="a variable of Flux",
        ),
        pytest.param(
            POLICY % "'${STRATEGY}'",
            "unjudged",
            ("ClusterPolicy c, spec.mig.strategy",),
            id="a variable in an object",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  config.yaml: |\n"
            "    version: v1\n    mig-configs: {'${A}': [{devices: all, mig-enabled: maybe}]}\n"
            f"---\n{FINE}",
            "unjudged",
            ("ConfigMap m, data[config.yaml]",),
            id="a variable in a ConfigMap",
        ),
        pytest.param(
            f"{FINE}---\n{KUSTOMIZATION}{PATCHES}",
            "unjudged",
            ("Kustomization (unnamed), patches[0].patch",),
            id="a patch in a kustomization",
        ),
        pytest.param(
            f"{FINE}---\n- {{op: replace, path: /spec/x, value: 1}}\n",
            "unjudged",
            ("",),
            id="a JSON patch",
        ),
        pytest.param(
            f"{SERVICE}spec: {{clusterIP: None}}\n---\n{FINE}",
            "unjudged",
            ("spec",),
            id="a key twice",
        ),
        pytest.param(f"{FINE}---\nkind: Deployment\n", "unjudged", ("",), id="no apiVersion"),
        pytest.param(f"{FINE}---\njust words\n", "unjudged", ("",), id="a document of words"),
        pytest.param(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Values.name }}}\n",
            "unjudged",
            ("",),
            id="a template of Helm",
        ),
        pytest.param(
            FINE.replace("values:", "valuesFrom: [{kind: ConfigMap, name: m}], values:"),
            "unjudged",
            ("HelmRelease gpu/x, spec.valuesFrom[0]",),
            id="values that are elsewhere",
        ),
    ],
)
def test_accept_is_said_only_of_what_was_read(
    text: str, verdict: str, left_out: tuple[str, ...]
) -> None:
    found = checked(text)
    assert [str(one) for one in found.findings if found.verdict != verdict] == []
    assert found.verdict == verdict
    assert tuple(one.object for one in found.not_judged) == left_out
    assert all(one.reason and one.file == "file.yaml" for one in found.not_judged)


def run(*arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(command, [*arguments, "-"], input=text)


def test_what_is_not_judged_fails_on_request() -> None:
    text = f"{FINE}---\n{FOO}"
    told = run(text=text)
    assert (told.exit_code, told.stdout.splitlines()[0]) == (0, "-: unjudged")
    assert "not validated -:6 Foo foo: no rule reads objects of example.com/Foo" in told.stdout
    assert run("--require-judged", text=text).exit_code == 1
    assert run("--require-judged", text=FINE).exit_code == 0
    answer = json.loads(run("--format", "json", text=text).stdout)
    (left,) = answer["notJudged"]
    assert set(left) == {"file", "line", "object", "what", "reason"}
    assert (left["what"], left["line"]) == ("kind", 6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ""),
        ("# nothing\n", ""),
        ("---\n---\n", ""),
        (FOO, "Foo foo: no rule reads objects of example.com/Foo"),
        (KUSTOMIZATION + PATCHES, "Kustomization (unnamed), patches[0].patch: a patch is val"),
        (SERVICE, ""),
        (release("cert-manager", "{}"), "no rule reads the values of the chart cert-manager"),
        ("a: 1\n", "not an object, values, plan, state or declaration that a rule reads"),
    ],
)
def test_a_file_of_which_nothing_is_judged_ends_with_2(text: str, reason: str) -> None:
    result = run(text=text)
    assert isinstance(result.exception, UnreadableInputError)  # the program exits 2
    assert reason in str(result.exception)
    assert "no kind is recognised in it; give --as, one of mig-parted" in str(result.exception)
    assert result.stdout == ""
    answer = json.loads(run("--format", "json", text=text).stdout)
    assert answer["verdict"] == "unjudged"


@pytest.mark.parametrize("text", ["a: [", "{{{{", f"{FINE}---\na: ["])
def test_a_text_that_cannot_be_read_is_refused(text: str) -> None:
    result = run("--format", "json", text=text)
    assert result.exit_code == 2
    answer = json.loads(result.stdout)
    assert answer["verdict"] == "reject"
    assert "document-unreadable" in {one["code"] for one in answer["findings"]}


def test_a_named_kind_says_which_objects_it_leaves_out() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n"
    found = checked(f"{POLICY % 'single'}---\n{pod}---\n{FOO}", kind="gpu-operator-values")
    assert sorted(one.object for one in found.not_judged) == ["Foo foo", "Pod p"]
    (reason,) = {one.reason for one in found.not_judged if one.object == "Pod p"}
    assert reason == "gpu-operator-values does not read it: remove --as to validate it"


def test_the_context_holds_for_a_recognised_file() -> None:
    layout = "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true, mig-devices: %s}]}\n"
    fits = layout % "{1g.10gb: 7}"
    found = checked(fits, gpu="A100-80GB", context={"gpusPerNode": 2})
    assert found.verdict == "accept"
    assert found.advertises is not None
    assert dict(found.advertises.allocatable) == {"nvidia.com/mig-1g.10gb": 14}
    refused = checked(layout % "{1g.10gb: 8}", gpu="A100-80GB")
    assert refused.verdict == "reject"
    assert refused.advertises is None
    wrong = checked(f"{fits}", gpu="H1000", context={"gpuPerNode": 2})
    assert {"context-key-unknown", "gpu-unknown"} <= {one.code for one in wrong.findings}
    assert len([one for one in wrong.findings if one.code == "gpu-unknown"]) == 1


def test_settings_and_waivers_are_those_of_the_audit(tmp_path: Path) -> None:
    text = POLICY % "mixd"
    waived = text.replace("{name: c}", "{name: c, annotations: {gpufleet.dev/ignore-%s: %s}}")
    found = checked(waived % (FAULT, '"being tested; until=2027-01-31"'))
    assert FAULT not in {one.code for one in found.findings}
    assert [one.code for one in found.waived] == [FAULT]
    commented = f"# gpufleet:ignore {FAULT} reason=tested until=2027-01-31\n{text}"
    assert FAULT not in {one.code for one in checked(commented).findings}
    settings = tmp_path / "policy.yaml"
    settings.write_text(f"rules: {{{FAULT}: off}}\n")
    assert FAULT in run("--config", "/dev/null", text=text).stdout
    assert FAULT not in run("--config", str(settings), text=text).stdout


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [g6]}]
"""


@pytest.mark.parametrize("kind", [None, "karpenter"])
def test_a_pool_without_limits_has_one_rule(kind: str | None) -> None:
    found = checked(POOL, kind=kind)
    assert found.verdict == "reject"
    assert [one.path for one in found.findings if one.code == "gpu-pool-unbounded"] == [
        "spec.limits"
    ]
    bounded = checked(
        POOL.replace("spec:\n  t", "spec:\n  limits: {nvidia.com/gpu: 4}\n  t"), kind=kind
    )
    assert "gpu-pool-unbounded" not in {one.code for one in bounded.findings}


@pytest.mark.parametrize("kind", ["gpu-operator-values", "device-plugin-values", "device-plugin"])
def test_a_text_of_another_program_ends_with_2(kind: str) -> None:
    """An unknown key next to those of the chart is ignored; a text of unknown keys only is not."""
    foreign = "services: {web: {image: nginx}}\nvolumes: {data: {}}\n"
    result = run("--as", kind, text=foreign)
    assert result.exit_code == 2
    assert f"{kind} has none of the keys of the text (services, volumes)" in result.output
    own = {"device-plugin": "version: v1", "device-plugin-values": "gfd: {enabled: true}"}
    known = own.get(kind, "driver: {enabled: false}")
    mixed = run("--as", kind, text=f"services: {{web: 1}}\n{known}\n")
    assert mixed.exit_code == 0
    assert "config-key-unknown" in mixed.output


COMPOSE = 'version: "3.9"\nservices: {web: {image: nginx}}\n'


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("device-plugin", COMPOSE, "knows version, and no other key"),
        ("mig-parted", COMPOSE, "knows version, and no other key"),
        (
            "gpu-operator-values",
            "driver: {enabled: false}\nworker: {replicas: 2}\nfrontend: {replicas: 1}\n",
            "knows driver, and no other key of the text (frontend, worker)",
        ),
        ("karpenter", COMPOSE, "there is no NodePool"),
        (
            "kueue",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n",
            "there is no object of Kueue here",
        ),
    ],
)
def test_a_text_of_another_program_that_shares_a_key_ends_with_2(
    kind: str, text: str, said: str
) -> None:
    result = run("--as", kind, text=text)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())


def test_one_own_key_or_a_misspelt_one_is_not_another_program() -> None:
    own = run("--as", "gpu-operator-values", text="driver: {enabled: false}\nservices: {web: 1}\n")
    assert own.exit_code == 0
    misspelt = "driver: {enabled: false}\ntoolkt: {enabled: false}\nservices: {web: 1}\nb: 1\n"
    assert run("--as", "gpu-operator-values", text=misspelt).exit_code < 2
