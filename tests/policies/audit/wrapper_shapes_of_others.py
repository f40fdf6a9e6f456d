"""Shapes of k3s, Kustomize and other tools: see `wrapper_shapes`."""

from tests.policies.audit.wrapper_shapes import SHAPES, Shape

ALL_SHAPES = (
    *SHAPES,
    Shape(
        "k3s-chart",
        "stored file 29197362691: HelmChart of helm.cattle.io with valuesContent",
        {
            "chart.yaml": """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: gpu-operator, namespace: kube-system}
spec:
  chart: gpu-operator
  repo: https://helm.ngc.nvidia.com/nvidia
  version: v24.6.0
  valuesContent: |-
    toolkit:
      env:
        - {name: CONTAINERD_SOCKET, value: /run/k3s/containerd/containerd.sock}
    mig:
      strategy: mixd
"""
        },
        "chart.yaml",
        13,
        "spec.valuesContent.mig.strategy",
    ),
    Shape(
        "k3s-chart-set",
        "stored file 53381100483: HelmChart with spec.set",
        {
            "chart.yaml": """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: gpu-operator, namespace: gpu-operator}
spec:
  chart: gpu-operator
  version: v24.6.0
  set:
    driver.enabled: "false"
    mig.strategy: mixd
"""
        },
        "chart.yaml",
        9,
        'spec.set["mig.strategy"]',
    ),
    Shape(
        "k3s-chart-config",
        "k3s-io/helm-controller chart.go at 008dc8e: the HelmChartConfig of the same name",
        {
            "chart.yaml": """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: nvidia, namespace: kube-system}
spec: {chart: gpu-operator, version: v24.6.0}
""",
            "config.yaml": """\
apiVersion: helm.cattle.io/v1
kind: HelmChartConfig
metadata: {name: nvidia, namespace: kube-system}
spec:
  valuesContent: |
    mig:
      strategy: mixd
""",
        },
        "config.yaml",
        7,
        "spec.valuesContent.mig.strategy",
    ),
    Shape(
        "kustomize-values-inline",
        "stored file 37566935722: helmCharts with valuesInline",
        {
            "kustomization.yaml": """\
helmCharts:
  - name: gpu-operator
    repo: https://helm.ngc.nvidia.com/nvidia
    version: v25.3.0
    releaseName: gpu-operator
    valuesInline:
      mig:
        strategy: mixd
"""
        },
        "kustomization.yaml",
        8,
        "helmCharts[0].valuesInline.mig.strategy",
    ),
    Shape(
        "kustomize-values-file",
        "stored file 18040951792: helmCharts with valuesFile and valuesInline",
        {
            "kustomization.yaml": """\
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
helmCharts:
  - name: gpu-operator
    version: v25.3.0
    valuesFile: nvidia.yaml
    additionalValuesFiles: [more.yaml]
""",
            "nvidia.yaml": "driver: {enabled: false}\n",
            "more.yaml": "mig: {strategy: mixd}\n",
        },
        "more.yaml",
        1,
        "mig.strategy",
    ),
    Shape(
        "helmfile",
        "helmfile.readthedocs.io: releases with values",
        {
            "helmfile.yaml": """\
releases:
  - name: gpu-operator
    namespace: gpu-operator
    chart: nvidia/gpu-operator
    version: v25.3.0
    values:
      - mig:
          strategy: mixd
"""
        },
        "helmfile.yaml",
        8,
        "releases[0].values[0].mig.strategy",
    ),
    Shape(
        "fleet-bundle",
        "fleet.rancher.io/ref-fleet-yaml",
        {
            "fleet.yaml": """\
defaultNamespace: gpu-operator
helm:
  chart: gpu-operator
  repo: https://helm.ngc.nvidia.com/nvidia
  version: v25.3.0
  values:
    mig: {strategy: mixd}
"""
        },
        "fleet.yaml",
        7,
        "helm.values.mig.strategy",
    ),
    Shape(
        "crossplane-release",
        "crossplane-contrib/provider-helm apis/release/v1beta1/types.go at 0e533c6",
        {
            "release.yaml": """\
apiVersion: helm.crossplane.io/v1beta1
kind: Release
metadata: {name: gpu}
spec:
  forProvider:
    chart: {name: gpu-operator, version: v25.3.0}
    namespace: gpu-operator
    values: {driver: {enabled: false}}
    set:
      - name: mig.strategy
        value: mixd
"""
        },
        "release.yaml",
        11,
        "spec.forProvider.set[0].value",
    ),
    Shape(
        "k0s-extension",
        "k0sproject/k0s pkg/apis/k0s/v1beta1/extensions.go at 05e48b6",
        {
            "k0s.yaml": """\
apiVersion: k0s.k0sproject.io/v1beta1
kind: ClusterConfig
metadata: {name: k0s}
spec:
  extensions:
    helm:
      charts:
        - name: gpu
          chartname: nvidia/gpu-operator
          version: v25.3.0
          values: |
            mig:
              strategy: mixd
          namespace: gpu-operator
"""
        },
        "k0s.yaml",
        13,
        "spec.extensions.helm.charts[0].values.mig.strategy",
    ),
    Shape(
        "harvester-addon",
        "harvester/harvester pkg/apis/harvesterhci.io/v1beta1/addon.go at 3180f54",
        {
            "addon.yaml": """\
apiVersion: harvesterhci.io/v1beta1
kind: Addon
metadata: {name: gpu, namespace: gpu}
spec:
  chart: gpu-operator
  version: v25.3.0
  valuesContent: |
    mig:
      strategy: mixd
"""
        },
        "addon.yaml",
        9,
        "spec.valuesContent.mig.strategy",
    ),
)
