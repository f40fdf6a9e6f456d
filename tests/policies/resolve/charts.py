"""A chart of a server, and the objects that install it, for tests with the real helm."""

from typing import Any

import pytest

from gpufleet_policies.resolve.charts import helm

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
