"""Refusals by the server and by operators of objects that their definitions accept.

Expected: kubernetes v1.36.3 `pkg/apis/core/validation/validation.go`; k8s-nim-operator
`internal/shared/pvc.go`.
"""

import copy
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gpufleet.contract.programs.dra_cel_functions import cel, compiled, functions
from gpufleet.contract.programs.go_json import json_problem
from gpufleet.contract.schemas.gpu_refusals import refusals, refused_by_code
from gpufleet.contract.schemas.problems import SchemaProblemKind
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.documents.paths import values_at
from tests.reading import yaml_data

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, labels: {team: ml}}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      restartPolicy: Always
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}
      tolerations:
      - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
      - {key: example.com/old, operator: Exists, effect: NoExecute, tolerationSeconds: 9}
      - {operator: Exists}
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
      initContainers: [{name: fetch, image: "fetch:1"}]
      containers:
      - name: server
        image: server:1
        env: [{name: A, value: b}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        ports: [{containerPort: 8000, name: http}, {containerPort: 9000, name: metrics}]
        resources:
          claims: [{name: gpu}]
          limits: {cpu: 4, memory: 8Gi}
          requests: {cpu: 500m, memory: 8Gi}
        livenessProbe: {httpGet: {path: /, port: 8000}, successThreshold: 1}
        volumeMounts: [{name: m, mountPath: /m}, {name: m, mountPath: /n}]
      volumes: [{name: m, emptyDir: {}}, {name: s, emptyDir: {medium: Memory}}]
"""
POD = "spec.template.spec"
CONTAINER = f"{POD}.containers.0"
BROKEN: list[tuple[str, Any, str, str]] = [
    (
        f"{POD}.resourceClaims.0",
        {"name": "gpu"},
        f"{POD}.resourceClaims[0]",
        "an entry names neither resourceClaimName nor resourceClaimTemplateName",
    ),
    (
        f"{POD}.resourceClaims.0.resourceClaimName",
        "two",
        f"{POD}.resourceClaims[0]",
        "an entry has resourceClaimName and resourceClaimTemplateName",
    ),
    (
        f"{CONTAINER}.resources.claims.0.name",
        "card",
        f"{CONTAINER}.resources.claims[0].name",
        "no entry of resourceClaims is called 'card'",
    ),
]


def changed(document: Any, path: str, value: object) -> Any:
    """A copy with one value."""
    result = copy.deepcopy(document)
    here, steps = result, path.split(".")
    for step in steps[:-1]:
        here = here[int(step)] if isinstance(here, list) else here[step]
    here[int(steps[-1]) if isinstance(here, list) else steps[-1]] = value
    return result


def shown(path: str) -> str:
    return re.sub(r"\.(\d+)", r"[\1]", path)


def test_a_deployment_that_the_server_takes() -> None:
    assert schema_problems(yaml_data(DEPLOYMENT)) == ()


@pytest.mark.parametrize(("path", "value", "place", "message"), BROKEN)
def test_one_thing_that_the_server_refuses(
    path: str, value: object, place: str, message: str
) -> None:
    (problem,) = schema_problems(changed(yaml_data(DEPLOYMENT), path, value))
    assert problem.path == shown(place)
    assert problem.message.startswith(message)


def test_a_patch_keeps_what_it_leaves_out() -> None:
    patch = changed(yaml_data(DEPLOYMENT), f"{CONTAINER}.resources.claims.0.name", "of-base")
    pod = patch["spec"]["template"]["spec"]
    del pod["containers"][0]["image"], pod["initContainers"][0]["image"]
    assert schema_problems(patch) == ()


CACHE = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMCache
metadata: {name: llm}
spec:
  source: {ngc: {modelPuller: "nvcr.io/nim/meta/llama:1", pullSecret: s, authSecret: a}}
  storage: {pvc: {create: true, size: 50Gi, volumeAccessMode: ReadWriteOnce}}
"""


def test_the_volume_of_nim_needs_a_size() -> None:
    assert schema_problems(yaml_data(CACHE)) == ()
    wrong = changed(yaml_data(CACHE), "spec.storage.pvc.size", "model-size")
    (problem,) = schema_problems(wrong)
    assert problem.path == "spec.storage.pvc.size"
    assert problem.message.startswith("size is 'model-size', a quantity such as 50Gi is needed")


OTHERS = yaml_data(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
"""Objects that operators accept (`taken`), and changes that they refuse, with words of the
message. Written from the operators' code, which `refusals.jsonl` names."""


def edited(name: str, changes: dict[str, Any]) -> Any:
    """A copy of an object with values at dotted paths; null removes one."""
    document = copy.deepcopy(OTHERS["taken"][name])
    for path, value in changes.items():
        here: Any = document
        parts = (x.replace("~1", "/") for x in path.split("/"))
        steps: list[Any] = [int(x) if x.isdigit() else x for x in parts]
        for step in steps[:-1]:
            here = here[step] if isinstance(here, list) else here.setdefault(step, {})
        if value is None:
            del here[steps[-1]]
        else:
            here[steps[-1]] = value
    return document


@pytest.mark.parametrize("name", OTHERS["taken"])
def test_what_an_operator_takes(name: str) -> None:
    assert schema_problems(OTHERS["taken"][name]) == ()


@pytest.mark.parametrize("case", OTHERS["also"], ids=str)
def test_a_neighbour_that_an_operator_takes(case: tuple[str, dict[str, Any]]) -> None:
    assert schema_problems(edited(*case)) == ()


@pytest.mark.parametrize("case", OTHERS["refused"], ids=str)
def test_what_an_operator_refuses(case: tuple[str, str, dict[str, Any]]) -> None:
    says, name, changes = case
    (problem,) = schema_problems(edited(name, changes))
    assert says in problem.message


def is_json(text: str) -> bool:
    return json_problem(text) is None


def refused_with_whole_objects(document: Any) -> Iterator[str]:
    """The first words of each row about an object whose expression is false of the whole object."""
    called = {**functions(), "isJson": is_json}
    version, kind = document["apiVersion"], document["kind"]
    names = (f"{group}/{kind}" for group in (version.rpartition("/")[0], version))
    for row in (row for name in names for row in refusals().get(name, ())):
        for path in row["at"]:
            for _, value in values_at(document, path):
                needed = (
                    tuple(one.split(".") if isinstance(one, str) else one)
                    for one in row.get("has", ())
                )
                if not all(values_at(value, keys) for keys in needed):
                    continue
                context = cel().Context({"self": value, "object": document}, called)
                try:
                    if compiled(row["rule"]).execute(context) is False:
                        yield row["says"].partition("{")[0]
                except (LookupError, RuntimeError, TypeError, ValueError):
                    continue


@pytest.mark.parametrize("case", [*OTHERS["refused"], *(("", *one) for one in OTHERS["also"])])
def test_a_rule_gets_all_that_it_reads(case: tuple[str, str, dict[str, Any]]) -> None:
    document = edited(*case[1:])
    messages = sorted(one.message for one in refused_by_code(document))
    expected = sorted(refused_with_whole_objects(document))
    assert len(messages) == len(expected)
    assert all(a.startswith(b) for a, b in zip(messages, expected, strict=True))


def test_each_refusal_has_a_case_and_a_source() -> None:
    """Those of the network plugins' configurations have theirs beside the kinds of `check`."""
    found = refusals().items()
    rows = [row for kind, some in found if not kind.startswith("config/") for row in some]
    said = {one[0] for one in OTHERS["refused"]} | {one[3].partition("'")[0] for one in BROKEN}
    said |= {"size is {found}", "numNodes is {found}", "numProcPerNode is {found}"}
    assert not [row["says"] for row in rows if not any(one in row["says"] for one in said)]
    assert all(row["source"] and row["by"] for row in rows)


def test_what_only_later_releases_refuse_is_advice() -> None:
    late = edited("job", {"metadata/name": "a" * 48})
    assert [one.kind for one in schema_problems(late)] == [SchemaProblemKind.REFUSED]


def test_one_value_of_a_mapping_that_cannot_be_evaluated_hides_no_other() -> None:
    """CEL visits the keys of a mapping in any order, and ends at the first value it cannot read."""
    pod = {"nodeSelector": {"a": "not a label!", "b": 3, "c": True, "d": "ok"}, "containers": []}
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": pod}}}
    for _ in range(20):
        assert [one.path for one in refused_by_code(document)] == [
            "spec.template.spec.nodeSelector.a"
        ]


@pytest.mark.parametrize("read", [date(2026, 12, 1), b"a"])
def test_values_that_json_cannot_hold_are_read_as_text(read: object) -> None:
    """The readers of files keep dates as text; a program may pass them."""
    found, expected = (
        [one.message for one in refused_by_code(edited("job", {"metadata/name": name}))]
        for name in (read, str(read))
    )
    assert found == expected


def test_no_rule_asks_each_value_of_a_mapping_alone() -> None:
    """Its row has the path of the values (`{}`)."""
    asked = re.compile(r"self(?P<at>[\w.]*)\.all\((?P<key>\w+), (?P<body>.*)\)")
    alone = [
        row["rule"]
        for rows in refusals().values()
        for row in rows
        if (found := asked.fullmatch(row["rule"].rpartition("|| ")[2]))
        and f"self{found['at']}[{found['key']}]" in found["body"]
        and "self" not in found["body"].replace(f"self{found['at']}[{found['key']}]", "")
    ]
    assert alone == []
