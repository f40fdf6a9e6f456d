"""Objects for the rules of kind `kubernetes-object`."""
# ruff: noqa: E501  # one case, one line

from typing import Any

CaseRow = tuple[str, str, str | None, dict[str, Any]]


def pod(container: str) -> str:
    return f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: a, image: b, {container}}}]}}}}"


def monitor(spec: str) -> str:
    return f"{{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {{name: a}}, spec: {{{spec}}}}}"


def job(spec: str) -> str:
    return f"{{apiVersion: ray.io/v1, kind: RayJob, metadata: {{name: a}}, spec: {{{spec}, rayClusterSpec: {{headGroupSpec: {{template: {{spec: {{containers: [{{name: head, image: r}}]}}}}}}}}}}}}"


def batch(restarts: str) -> str:
    return f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: a}}, spec: {{template: {{spec: {{restartPolicy: {restarts}, containers: [{{name: a, image: b}}]}}}}}}}}"


def served(sizes: str) -> str:
    return f"{{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {{name: a}}, spec: {{predictor: {{{sizes}, model: {{modelFormat: {{name: huggingface}}}}}}}}}}"


FINE_TEXT = pod("resources: {limits: {nvidia.com/gpu: 1}}")

CASES: list[CaseRow] = [
    ("object-nothing-to-judge", "{apiVersion: apps/v1beta1, kind: Deployment}", None, {}),
    ("object-version-unknown", f"{FINE_TEXT}\n---\n{{apiVersion: example.com/v1, kind: Thing}}", None, {}),
    ("config-key-misspelt", pod("resource: {limits: {nvidia.com/gpu: 1}}"), None, {}),
    ("config-key-misspelt", pod("livenessProbe: {periodSecond: 5}"), pod("livenessProbe: {periodSeconds: 5}"), {}),
    ("config-key-unknown", pod("gpu: 1"), None, {}),
    ("config-wrong-type", pod("env: [{name: A, value: 1}]"), pod("env: [{name: A, value: '1'}]"), {}),
    ("config-choice-unknown", pod("imagePullPolicy: Allways"), pod("imagePullPolicy: Always"), {}),
    ("config-out-of-bounds", pod("ports: [{containerPort: 2147483648}]"), pod("ports: [{containerPort: 80}]"), {}),
    ("object-field-too-new", pod("restartPolicyRules: []"), pod("env: []"), {"context": {"kubernetesVersion": "1.33"}}),
    ("config-value-missing", monitor("podMetricsEndpoints: []"), monitor("podMetricsEndpoints: [], selector: {}"), {}),
    ("object-operator-refuses", job("ttlSecondsAfterFinished: 60"), job("ttlSecondsAfterFinished: 60, shutdownAfterJobFinishes: true"), {}),
    ("config-value-invalid", job("suspend: true"), job("suspend: true, shutdownAfterJobFinishes: true"), {}),
    ("config-value-invalid", pod("resources: {limits: {memory: 1GiB}}"), pod("resources: {limits: {memory: 1Gi}}"), {}),
    ("config-value-invalid", batch("Always"), batch("OnFailure"), {}),
    ("config-value-invalid", served("minReplicas: 3, maxReplicas: 1"), served("minReplicas: 3, maxReplicas: 0"), {}),
]  # fmt: skip
