"""Each way a GitOps tool writes a chart and its values, with the same fault in it.

The fault is `mig.strategy: mixd`. Every shape is the smallest form of one in a public repository;
`source` names it.
"""

from dataclasses import dataclass

FAULT = "gpu-operator-choice-unknown"


@dataclass(frozen=True, slots=True)
class Shape:
    """Files of one release, and where the fault has to be reported."""

    name: str
    source: str
    files: dict[str, str]
    file: str
    line: int
    where: str


SHAPES = (
    Shape(
        "flux-values",
        "johnzheng1975/kcd_beijing2025 flux_samples/gpu-operator_installation.yaml at 1d55ba5",
        {
            "release.yaml": """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: nvidia, namespace: infra}
spec: {url: https://helm.ngc.nvidia.com/nvidia}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: infra}
spec:
  chart: {spec: {chart: gpu-operator, version: v24.9.2}}
  values:
    mig:
      strategy: mixd
"""
        },
        "release.yaml",
        13,
        "spec.values.mig.strategy",
    ),
    Shape(
        "flux-values-from-generated-config-map",
        "stored file 67337344073: secretGenerator gpu-operator-values-base of helm-values/",
        {
            "base/release.yaml": """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu}
spec:
  chart: {spec: {chart: gpu-operator, version: v24.9.2}}
  valuesFrom:
    - {kind: ConfigMap, name: gpu-operator-values}
""",
            "base/kustomization.yaml": """\
resources: [release.yaml]
configMapGenerator:
  - name: gpu-operator-values
    files: [values.yaml=helm-values.yaml]
""",
            "base/helm-values.yaml": "# ours\nmig:\n  strategy: mixd\n",
        },
        "base/helm-values.yaml",
        3,
        "mig.strategy",
    ),
    Shape(
        "flux-values-from-config-map",
        "stored file 61055883966: ConfigMap gpu-operator-values with values.yaml",
        {
            "values.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: gpu-operator-values, namespace: gpu}
data:
  values.yaml: |
    driver: {enabled: true}
    mig:
      strategy: mixd
""",
            "release.yaml": """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu}
spec:
  chart: {spec: {chart: gpu-operator, version: v24.9.2}}
  valuesFrom:
    - {kind: ConfigMap, name: gpu-operator-values}
""",
        },
        "values.yaml",
        8,
        "data[values.yaml].mig.strategy",
    ),
    Shape(
        "flux-chart-ref",
        "stored file 57524218732: chartRef to an OCIRepository",
        {
            "release.yaml": """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: operator, namespace: gpu}
spec:
  chartRef: {kind: OCIRepository, name: nvidia, namespace: flux-system}
  values:
    mig: {strategy: mixd}
""",
            "repository.yaml": """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: nvidia, namespace: flux-system}
spec:
  url: oci://registry.example/charts/gpu-operator
  ref: {tag: v25.3.0}
""",
        },
        "release.yaml",
        7,
        "spec.values.mig.strategy",
    ),
    Shape(
        "argo-values",
        "stored file 52509983497: Application with helm.values",
        {
            "app.yaml": """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator, namespace: argocd}
spec:
  source:
    repoURL: https://helm.ngc.nvidia.com/nvidia
    chart: gpu-operator
    targetRevision: v23.9.1
    helm:
      values: |
        operator:
          defaultRuntime: containerd
        mig:
          strategy: mixd
  destination: {server: https://kubernetes.default.svc, namespace: gpu-operator}
"""
        },
        "app.yaml",
        14,
        "spec.source.helm.values.mig.strategy",
    ),
    Shape(
        "argo-sources-values-object-and-parameters",
        "argoproj/argo-cd, user guide on Helm at 027fa89: parameters over valuesObject",
        {
            "app.yaml": """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator, namespace: argocd}
spec:
  sources:
    - repoURL: https://helm.ngc.nvidia.com/nvidia
      chart: gpu-operator
      targetRevision: v25.3.0
      helm:
        values: |
          mig: {strategy: this is not read beside valuesObject}
        valuesObject:
          mig: {strategy: single}
        parameters:
          - name: driver.enabled
            value: "false"
          - name: mig.strategy
            value: mixd
  destination: {name: in-cluster, namespace: gpu-operator}
"""
        },
        "app.yaml",
        18,
        "spec.sources[0].helm.parameters[1].value",
    ),
    Shape(
        "argo-value-files",
        "argoproj/argo-cd, user guide on Helm at 027fa89: $values/helm/.../values.yaml",
        {
            "apps/gpu.yaml": """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator, namespace: argocd}
spec:
  sources:
    - repoURL: https://helm.ngc.nvidia.com/nvidia
      chart: gpu-operator
      targetRevision: v25.3.0
      helm: {valueFiles: [$values/helm/nvidia/mine.yaml]}
    - {repoURL: https://git.example/values.git, targetRevision: main, ref: values}
  destination: {name: in-cluster, namespace: gpu-operator}
""",
            "helm/nvidia/mine.yaml": "mig:\n  strategy: mixd\n",
        },
        "helm/nvidia/mine.yaml",
        2,
        "mig.strategy",
    ),
    Shape(
        "argo-set",
        "stored file 51869671288: ApplicationSet over clusters, values with a template in them",
        {
            "set.yaml": """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: gpu}
spec:
  generators: [{clusters: {}}]
  template:
    metadata: {name: 'gpu-{{name}}'}
    spec:
      source:
        repoURL: https://helm.ngc.nvidia.com/nvidia
        chart: gpu-operator
        targetRevision: v25.3.0
        helm:
          values: |
            driver:
              version: "{{values.driver}}"
            mig:
              strategy: mixd
      destination: {server: '{{server}}', namespace: gpu-operator}
"""
        },
        "set.yaml",
        18,
        "spec.template.spec.source.helm.values.mig.strategy",
    ),
)
