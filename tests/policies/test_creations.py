"""Missing objects are created: a quota for a namespace."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet_policies.commands.audit import command

VLLM = """\
# the chat service
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {environment: prod}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  namespace: ml
  annotations: {gpufleet.dev/mode: inference}
spec:
  replicas: 4
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: server
          image: docker.io/vllm/vllm-openai:v0.11.0
          resources:
            requests: {cpu: "4", memory: 16Gi}
            limits: {nvidia.com/gpu: 2}
"""
QUOTA = "namespace-without-gpu-quota"
HARD = {"requests.nvidia.com/gpu": "10"}  # four pods and one more of two GPUs


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "chat.yaml"
    path.write_text(VLLM)
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["--profile", "prod", "--jobs", "1", *arguments])


def findings(path: Path) -> dict[str, dict[str, Any]]:
    said = json.loads(run("--format", "json", str(path)).stdout)["findings"]
    return {one["code"]: one for one in said}


def test_a_finding_carries_the_object_that_is_missing(file: Path):
    found = findings(file)
    (quota,) = found[QUOTA]["create"]
    assert (quota["kind"], quota["metadata"]["namespace"]) == ("ResourceQuota", "ml")
    assert quota["spec"] == {"hard": HARD}
    assert all(one["create"] == [] for rule, one in found.items() if rule != QUOTA)


def test_patches_and_sarif_and_text_carry_it_too(file: Path):
    patches = json.loads(run("--patch", str(file)).stdout)
    made = {one["object"]: [c["kind"] for c in one["create"]] for one in patches}
    assert made == {"Namespace ml": ["ResourceQuota"]}
    results = json.loads(run("--format", "sarif", str(file)).stdout)["runs"][0]["results"]
    kinds = {
        one["ruleId"]: [c["kind"] for c in one["properties"]["create"]]
        for one in results
        if "create" in one.get("properties", {})
    }
    assert kinds == {QUOTA: ["ResourceQuota"]}
    text = run(str(file)).stdout
    assert "has the ResourceQuota, `--fix` adds it to the file" in text


def test_fixing_adds_the_objects_to_the_file_and_ends_the_findings(file: Path):
    result = run("--fix", str(file))
    assert "fixed chat.yaml:2 Namespace ml" in result.stdout.replace(f"{file.parent}/", "")
    text = file.read_text()
    assert text.startswith(VLLM)
    documents = list(yaml.safe_load_all(text))
    assert [one["kind"] for one in documents[2:]] == ["ResourceQuota"]
    assert documents[2]["spec"]["hard"] == HARD
    assert QUOTA not in findings(file)
    run("--fix", str(file))
    assert file.read_text() == text


def test_what_is_not_certain_is_left_to_a_person(file: Path):
    file.write_text(VLLM.replace("  replicas: 4\n", "  replicas: ${REPLICAS}\n"))
    assert findings(file)[QUOTA]["create"] == []


def test_an_object_of_a_list_is_said_and_not_made(file: Path):
    items = [json.dumps(one) for one in yaml.safe_load_all(VLLM)]
    file.write_text("apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {i}\n" for i in items))
    before = file.read_text()
    result = run("--fix", str(file))
    assert "the object is part of a list" in result.stdout
    assert file.read_text() == before


def test_a_file_with_a_template_is_left(file: Path):
    file.write_text(VLLM + "---\nkind: {{ .Values.kind }}\n")
    before = file.read_text()
    assert "create the object by hand" in run("--fix", str(file)).stdout
    assert file.read_text() == before
