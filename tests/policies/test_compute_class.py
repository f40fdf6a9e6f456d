"""GKE's ComputeClass is a pool for the pods that choose it."""

from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write

FILE = """\
apiVersion: cloud.google.com/v1
kind: ComputeClass
metadata: {name: one-l4}
spec:
  whenUnsatisfiable: WHEN
  priorities:
    - {machineType: g2-standard-8, gpu: {type: nvidia-l4, count: 1}, spot: true}
    - {machineType: g2-standard-8, gpu: {type: nvidia-l4, count: 1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shell, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: shell}}
  template:
    metadata: {labels: {app: shell}}
    spec:
      nodeSelector: {cloud.google.com/compute-class: one-l4}
      containers:
        - name: shell
          image: registry.example.com/shell:1
          command: [sleep, infinity]
          resources: {limits: {nvidia.com/gpu: 2}}
"""
EXCEEDS = "gpu-pods-exceed-declared-pools"


@pytest.mark.parametrize("when", ["DoNotScaleUp", "ScaleUpAnyway"])
def test_a_class_holds_what_its_machines_hold(tmp_path: Path, when: str) -> None:
    write(tmp_path, {"a.yaml": FILE.replace("WHEN", when)})
    found = audit(tmp_path, "--profile", "prod")
    texts = [one["text"] for one in found["findings"] if one["code"] == EXCEEDS]
    assert [("one pod requests 2 x nvidia.com/gpu" in one) for one in texts] == (
        [True] if when == "DoNotScaleUp" else []
    )
    assert found["notJudged"] == []


def test_waste_on_a_class_has_the_price_of_its_machine(tmp_path: Path) -> None:
    one = FILE.replace("WHEN", "DoNotScaleUp").replace("gpu: 2", "gpu: 1")
    write(tmp_path, {"a.yaml": one})
    findings = audit(tmp_path, "--profile", "prod")["findings"]
    assert [one["code"] for one in findings] == ["gpu-idle-command"]
    assert "g2-standard-8" in findings[0]["text"]
    assert "USD per month" in findings[0]["text"]


@pytest.mark.parametrize(
    ("other", "known"),
    [
        ("{nodepools: [big]}", False),
        ("{machineType: a3-highgpu-8g}", False),
        ("{machineFamily: g2, minCores: 48}", False),
        ("{machineFamily: n2}", True),
    ],
)
def test_a_priority_without_gpus_can_have_them(tmp_path: Path, other: str, *, known: bool) -> None:
    text = FILE.replace("WHEN", "DoNotScaleUp").replace("---", f"    - {other}\n---", 1)
    write(tmp_path, {"a.yaml": text})
    found = audit(tmp_path, "--profile", "prod")["findings"]
    assert (EXCEEDS in [one["code"] for one in found]) is known
