"""A key that an object writes twice is named: every reader drops the first value."""

from pathlib import Path

import pytest

from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY

SERVER = """apiVersion: apps/v1
kind: Deployment
metadata: {name: llm, namespace: ml}
spec:
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      containers:
      - name: server
        image: vllm/vllm-openai:v0.11.0
        resources: {limits: {nvidia.com/gpu: 1, cpu: 4, memory: 16Gi}}
        ENV
"""
ONE = "env: [{name: A, value: b}]"
INDENT = "\n        "


def _repeated(folder: Path, lines: str, name: str = "server.yaml") -> list[tuple[int, str]]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SERVER.replace("ENV", lines), encoding="utf-8")
    found = audit(find_inputs([str(folder)]), read_settings({}), TODAY).not_judged
    return [(one.line, one.object) for one in found if one.what == "repeated"]


# context-fabric-labs/sentinel-fabric-labs k8s/vllm/deployment.yaml
def test_a_second_env_is_named_in_a_folder(tmp_path: Path) -> None:
    found = _repeated(tmp_path, INDENT.join((ONE, "ports: []", "env: []")))
    assert found == [(15, "spec.template.spec.containers[0].env")]


@pytest.mark.parametrize(
    "lines",
    [
        ONE,
        INDENT.join((ONE, "envFrom: []")),
        # Branches of a template: one of them is rendered.
        INDENT.join(("{{- if .Values.a }}", ONE, "{{- else }}", "env: []", "{{- end }}")),
    ],
    ids=["once", "another key", "branches"],
)
def test_legal_objects_are_not_named(tmp_path: Path, lines: str) -> None:
    assert _repeated(tmp_path, lines, "templates/server.yaml") == []


def test_an_object_without_gpus_is_not_named(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: a\ntype: b\n"
    (tmp_path / "secret.yaml").write_text(text, encoding="utf-8")
    assert _repeated(tmp_path, ONE) == []
