"""Objects of Argo CD and Flux in users' files are validated as objects, next to the charts in them.

Fields, types and required parts are those of argoproj/argo-cd v3.6.1 `manifests/crds` and of
fluxcd/helm-controller v1.6.1 `config/crd/bases`.
"""

import pytest

from tests.policies.test_check_front import checked

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu, namespace: argocd}
spec:
  project: default
  destination: {name: lab, namespace: gpu-operator}
  source: {repoURL: https://charts.example.com, chart: gpu-operator, targetRevision: v26.7.0}
  syncPolicy: {automated: {prune: true}}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu, namespace: flux-system}
spec:
  interval: 5m
  chart: {spec: {chart: gpu-operator, sourceRef: {kind: HelmRepository, name: nvidia}}}
  values: {mig: {strategy: single}}
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "code"),
    [
        (APPLICATION, "prune: true", 'prune: "yes"', "config-wrong-type"),
        (APPLICATION, "targetRevision", "targetRevison", "config-key-misspelt"),
        (RELEASE, "interval: 5m", "interval: tomorrow", "config-value-invalid"),
        (RELEASE, "kind: HelmRepository", "kind: HelmRepo", "config-choice-unknown"),
        (RELEASE, "strategy: single", "strategy: mixd", "gpu-operator-choice-unknown"),
    ],
)
def test_what_the_definition_refuses_is_found(text: str, old: str, new: str, code: str) -> None:
    assert not [one for one in checked(text).findings if one.severity.value == "error"]
    codes = {one.code for one in checked(text.replace(old, new)).findings}
    assert code in codes
