"""Malicious or damaged files: a finding or a skip, never a crash, never a hang."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.public_manifests import manifests
from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.limits import MANIFESTS, UnreadableDocumentError
from gpufleet_policies.commands.audit_reports import as_annotations
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.reading import read_input
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.fronts.audit.text import as_text
from gpufleet_policies.readers.document_text import read_documents
from gpufleet_policies.rules.settings import read_settings
from tests.examples import examples
from tests.policies.objects import TODAY
from tests.reading import yaml_documents

STRICT = read_settings({"profile": "strict"})
LONG = "x" * 5000


def validated(folder: Path, text: bytes | str, name: str = "it.yaml") -> Any:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    started = time.process_time()
    result = audit([Input(str(path))], STRICT, TODAY)
    assert time.process_time() - started < 20
    broken = [f for f in result.findings if f.code == "policy-rule-failed"]
    assert broken == [], broken[0].text
    assert "please report it" not in result.files[0].problem, result.files[0].problem
    return result


def billion_laughs() -> str:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 10):
        rows.append(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]")
    return "\n".join(rows)


HOSTILE = {
    "flow nesting": ("[" * 200_000, "nested deeper"),
    "mapping nesting": ("{a: " * 200_000, "nested deeper"),
    "dash nesting": ("- " * 200_000 + "a", "nested deeper"),
    "question nesting": ("? " * 200_000 + "a", "nested deeper"),
    "block nesting": ("".join(" " * n + "a:\n" for n in range(300)), "nested deeper"),
    "growth by aliases": (billion_laughs(), "aliases represent more"),
    "cycle": ("a: &a\n  b: *a\n", "an alias contains itself"),
    "cycle of lists": ("&a [*a]", "an alias contains itself"),
    "merge of itself": ("a: &a\n  <<: *a\n", "an alias contains itself"),
    "no anchor": ("a: *nothing\n", "refers to a value with `&` that is not there"),
    "a list as key": ("[a, b]: c\n", "cannot be a key"),
    "tabs": ("a:\n\t- b\n", "a tab, `@`, `%` or a backtick cannot begin this line"),
    "null byte": ("a: \x00", "characters are not allowed"),
    "no UTF-8": (b"\xff\xfe\xfa", "not UTF-8"),
    "too large": ("#" * (MANIFESTS.size + 1), "more than the limit of 4 MiB"),
    "half a document": ("apiVersion: v1\nkind: {", "a value is missing or not complete here"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_read_is_said_with_its_reason(name: str, tmp_path: Path):
    text, reason = HOSTILE[name]
    assert reason in validated(tmp_path, text).files[0].problem


HARMLESS = {
    "python object": "apiVersion: v1\nkind: Pod\nspec: !!python/object/apply:os.system ['true']\n",
    "binary": 'a: !!binary "***"',
    "empty": "",
    "comments": "# nothing\n---\n# here\n",
    "scalar": "just words\n",
    "list of words": "- a\n- b\n",
    "kind is a list": "apiVersion: v1\nkind: [Pod]\n",
    "unknown kind": "apiVersion: example.com/v1\nkind: Whatever\nspec: {nvidia.com/gpu: 1}\n",
    "items are words": "apiVersion: v1\nkind: PodList\nitems: [a, 1, null, [b]]\n",
    "list in a list": json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "List"}]}),
    "numbers beyond all": "apiVersion: v1\nkind: Pod\nspec: {x: 1e999, y: .nan, z: 0x"
    + "f" * 99
    + "}",
    "long names": f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {LONG}}}\nspec: {{}}\n",
    "merged": "base: &b {apiVersion: v1}\n<<: *b\nkind: Pod\n",
    "windows": "apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: x\r\n",
    "mark in front": "\ufeffapiVersion: v1\nkind: Pod\n",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_odd_but_readable_files_pass(name: str, tmp_path: Path):
    result = validated(tmp_path, HARMLESS[name])
    assert result.files[0].problem == ""


@pytest.mark.parametrize(
    "text", ["{", "[1, 2", '{"a": NaN, "b": [Infinity]}', "[" * 200_000, "null"]
)
def test_json_of_any_kind(text: str, tmp_path: Path):
    validated(tmp_path, text, "it.json")


def test_a_file_of_100_mib_is_refused_unread(tmp_path: Path):
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    started = time.process_time()
    assert "more than the limit" in read_input(Input(str(path))).problem
    assert time.process_time() - started < 1


def test_a_dump_of_many_objects_is_read_whole(tmp_path: Path):
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}
    pods = [{**pod, "metadata": {"name": f"p{number}"}} for number in range(3_000)]
    dump = {"apiVersion": "v1", "kind": "List", "items": pods}
    result = validated(tmp_path, json.dumps(dump), "dump.json")
    assert result.files[0].objects == 3_000


def test_what_templates_fill_in_is_unknown():
    text = (
        "{{- $x := 1 }}\n{{ if .a }}\nkind: Pod\n{{ else }}\nkind: Job\n{{ end }}\n"
        "replicas: {{ .n }}\nname: {{ .a }}-b\nspec:\n  {{- toYaml .Values.spec | nindent 2 }}\n"
        'args: ["{{ .b }}", c]\nresources: {{ toYaml .r |\n   nindent 4 }}\nlast: 1\n'
    )
    (document,) = read_documents(text)
    assert document.is_template
    assert document.data == {
        "kind": "Job",
        "replicas": UNKNOWN,
        "name": UNKNOWN,
        "spec": UNKNOWN,
        "args": [UNKNOWN, "c"],
        "resources": UNKNOWN,
        "last": 1,
    }
    assert document.line_of(["last"]) == 14, "lines stay where they were"


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["sleep", "infinity", "1", "-1", "0.5", "500m", "nvidia.com/gpu", "${X}"]),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
DOCUMENTS = [documents for _, documents, _ in manifests(40)]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, child in children for place in places(child, (*at, key)))]


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    if isinstance(value, dict):
        return {k: replaced(v, place[1:], new) if k == place[0] else v for k, v in value.items()}
    return [replaced(v, place[1:], new) if i == place[0] else v for i, v in enumerate(value)]


@given(data=st.data(), documents=st.sampled_from(DOCUMENTS), value=ANYTHING)
@settings(max_examples=examples(150), deadline=None)
def test_any_value_anywhere_in_manifests(
    data: Any, documents: list[Any], value: Any, tmp_path_factory: pytest.TempPathFactory
):
    place = data.draw(st.sampled_from(places(documents)))
    changed = replaced(documents, place, value)
    texts = changed if isinstance(changed, list) else [changed]
    folder = tmp_path_factory.getbasetemp()
    result = validated(folder, json.dumps(texts), "any.json")
    for finding in result.findings:
        assert finding.line >= 1
        assert finding.text


ROOT = Path(__file__).parents[3]
FILES = sorted(
    path
    for folder in (ROOT.parent / "shared" / "corpora", ROOT / "examples", ROOT / "tests")
    for suffix in ("yaml", "yml", "json")
    for path in folder.rglob(f"*.{suffix}")
    if path.stat().st_size < 40_000
)
"""The project's own files, and public ones where they are next to the checkout."""


@given(data=st.data(), path=st.sampled_from(FILES), value=ANYTHING)
@settings(max_examples=examples(1200), deadline=None)
def test_any_value_anywhere_in_files(
    data: Any, path: Path, value: Any, tmp_path_factory: pytest.TempPathFactory
):
    try:
        found = list(yaml_documents(path.read_text(encoding="utf-8")))
        documents = [one for one in found if isinstance(one, dict)]
    except (yaml.YAMLError, ValueError):
        documents = []
    assume(documents)
    document = data.draw(st.sampled_from(documents))
    for _ in range(data.draw(st.integers(1, 4))):
        document = replaced(document, data.draw(st.sampled_from(places(document))), value)
    validated(tmp_path_factory.getbasetemp(), json.dumps(document, default=str), "any.json")


NO_TEXTS = {
    "name of a volume": """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: a, image: a, volumeMounts: [{name: b, mountPath: /b}]}]
  volumes: [{name: [], emptyDir: {}}]
""",
    "name of a volume claim": """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  volumeClaimTemplates: [{metadata: {name: {}}}]
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: a}], resourceClaims: [{name: []}]}
""",
    "name of a variable": """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: dcgm-exporter}
spec:
  template:
    spec:
      containers:
      - {name: a, image: dcgm-exporter:4.8.2, env: [{name: [{}], value: a}], volumeMounts: []}
""",
    "request of a claim": """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests: [""]
    config:
    - opaque:
        driver: gpu.nvidia.com
        parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
""",
}


@pytest.mark.parametrize("text", NO_TEXTS.values(), ids=NO_TEXTS)
def test_what_is_no_text_where_one_belongs(text: str, tmp_path: Path):
    validated(tmp_path, text)


@pytest.mark.parametrize("edition", ["2027.01", "", None, ["2026.11"]])
def test_a_fleet_of_an_edition_that_is_not_installed_is_not_judged(edition: Any, tmp_path: Path):
    recorded = (ROOT / "tests/recorded/a8d13c3/compile/eks-training.json").read_text()
    fleet = json.loads(recorded)
    assert validated(tmp_path, json.dumps(fleet), "it.json").not_judged == ()
    fleet["fleet"]["catalogue"] = edition
    assert len(validated(tmp_path, json.dumps(fleet), "it.json").not_judged) == 1


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"\n #?,<%{}\t1.~"), max_size=60))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_read_or_refused(text: str):
    try:
        found = read_documents(text)
    except UnreadableDocumentError:
        return
    try:
        expected = [d for d in yaml.load_all(text, _Words) if d is not None]
    except (yaml.YAMLError, TypeError, ValueError):
        return
    if "{{" not in text and "<<" not in text:
        assert len(found) >= len(expected) - text.count("~")
        assert all(document.line >= 1 for document in found)


class _Words(yaml.SafeLoader):
    """Every scalar a text."""


def test_depth_is_bounded_at_a_known_number():
    read_documents("[" * (MANIFESTS.depth - 1) + "]" * (MANIFESTS.depth - 1))
    with pytest.raises(UnreadableDocumentError, match="nested deeper than 100 levels"):
        read_documents("[" * (MANIFESTS.depth + 1) + "]" * (MANIFESTS.depth + 1))


WRITES_LINES = """\
apiVersion: v1
kind: Pod
metadata: {name: "x\\n::error file=a::mine\\e[31m", namespace: "\\u2028n"}
spec:
  containers:
  - name: "c\\r\\n::stop-commands::mine"
    image: x
    command: [sleep, infinity]
    resources: {limits: {nvidia.com/gpu: 1, cpu: 1, memory: 1Gi}}
"""


def test_no_name_writes_lines_of_its_own_into_a_log(tmp_path: Path):
    result = validated(tmp_path, WRITES_LINES)
    text = "\n".join(as_text(result, lambda words, _: words))
    assert [line for line in text.splitlines() if line.startswith("::")] == []
    assert len(list(as_annotations(result))) == len(result.findings)
    assert all("\n" not in line for line in as_annotations(result))
    for mark in ("\x1b", "\u2028", "\r"):
        assert mark not in text
    assert "x ::error file=a::mine [31m" in text
