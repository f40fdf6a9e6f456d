"""GPUs of claims count like GPUs of limits: idle, too many, too large, jobs without an end."""

from pathlib import Path

import pytest

from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY

TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: gpus, namespace: ml}}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          count: {count}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: server, namespace: ml}}
spec:
  selector: {{matchLabels: {{app: a}}}}
  template:
    metadata: {{labels: {{app: a}}}}
    spec:
      resourceClaims: [{{name: gpus, resourceClaimTemplateName: gpus}}]
      containers:
      - name: main
        image: {image}
        {words}
        resources:
          claims: [{{name: gpus}}]
          limits: {{cpu: 4, memory: 32Gi}}
"""
VLLM = "vllm/vllm-openai:v0.11.0"
PROBE = "readinessProbe: {httpGet: {path: /health, port: 8000}}"


def text(words: str, count: int = 1, image: str = "python:3.12") -> str:
    return TEMPLATE.format(words=words, count=count, image=image)


@pytest.fixture
def rules(tmp_path: Path):
    def found(written: str, **settings: str) -> set[str]:
        file = tmp_path / "file.yaml"
        file.write_text(written)
        result = audit(find_inputs([str(file)]), read_settings(settings), TODAY)
        return {one.code for one in result.findings}

    return found


def test_a_sleeping_holder_of_a_claim_is_idle(rules):
    assert "gpu-idle-command" in rules(text("command: [sleep, infinity]"))
    assert "gpu-idle-command" not in rules(text("command: [python, train.py]"))
    # A claim that no container refers to has no owner.
    unused = text("command: [sleep, infinity]").replace("claims: [{name: gpus}]", "requests: {}")
    assert "gpu-idle-command" not in rules(unused)


def test_a_server_uses_as_many_gpus_as_it_claims(rules):
    words = f'args: ["--model=acme/chat", "--tensor-parallel-size=2"]\n        {PROBE}'
    assert "gpu-count-exceeds-parallelism" in rules(text(words, 4, VLLM))
    assert "gpu-count-below-parallelism" in rules(text(words, 1, VLLM))
    equal = rules(text(words, 2, VLLM))
    assert not equal & {"gpu-count-exceeds-parallelism", "gpu-count-below-parallelism"}


def test_a_server_of_claimed_gpus_needs_a_probe(rules):
    words = 'args: ["--model=acme/chat"]'
    assert "gpu-server-without-readiness" in rules(text(words, 1, VLLM))
    assert "gpu-server-without-readiness" not in rules(text(f"{words}\n        {PROBE}", 1, VLLM))


def test_a_model_that_cannot_fit_its_claim(rules):
    selected = """
          selectors:
          - cel:
              expression: device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L4'
"""
    words = f'args: ["--model=meta-llama/Llama-3.1-70B-Instruct"]\n        {PROBE}'
    written = text(words, 1, VLLM).replace("          count: 1\n", f"          count: 1{selected}")
    assert "model-exceeds-gpu-memory" in rules(written)
    small = written.replace("Llama-3.1-70B-Instruct", "Llama-3.2-3B-Instruct")
    assert "model-exceeds-gpu-memory" not in rules(small)


def test_a_job_with_claimed_gpus_has_an_end(rules):
    job = (
        text("command: [python, train.py]")
        .replace("apps/v1\nkind: Deployment", "batch/v1\nkind: Job")
        .replace("  selector: {matchLabels: {app: a}}\n", "")
        .replace("      resourceClaims", "      restartPolicy: Never\n      resourceClaims")
    )
    assert "gpu-job-without-deadline" in rules(job, profile="strict")
