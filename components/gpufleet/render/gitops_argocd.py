"""Applications of Argo CD: sync waves, health, and the fields that controllers own.

Format: argoproj/argo-cd `manifests/crds/application-crd.yaml`, `argoproj.io/v1alpha1`; an OCI chart
is named without `oci://`, its path in `repoURL` and its name in `chart` (Argo CD user guide, Helm).
An Application waits for those of an earlier wave only where `argocd-cm` says when one is healthy
(Argo CD operator manual, health: `argoproj.io/Application`).
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.gitops import CERTIFICATES, GitOpsStep, GitPlace, gitops_steps

_file = files_in(__file__)

API_VERSION = "argoproj.io/v1alpha1"
NAMESPACE = "argocd"
_OCI = "oci://"
_HEALTH = """\
hs = {}
hs.status = "Progressing"
if obj.status ~= nil then
%s
end
return hs
"""
_APPLICATION = """\
  if obj.status.health ~= nil then
    hs.status = obj.status.health.status
    hs.message = obj.status.health.message
  end"""
_POLICY = """\
  if obj.status.state == "ready" then
    hs.status = "Healthy"
  elseif obj.status.state == "notReady" then
    hs.message = "operands are not ready"
  elseif obj.status.state == "error" then
    hs.status = "Degraded"
  end"""


def argocd_files(fleet: Fleet, place: GitPlace) -> Iterator[Artefact]:
    """The Applications, and the entries of `argocd-cm` that make them wait for each other."""
    documents = [application(step, place) for step in gitops_steps(fleet)]
    yield from _file("argocd/applications.yaml", documents)
    yield from _file("argocd/argocd-cm.yaml", health_config())


def application(step: GitOpsStep, place: GitPlace) -> dict[str, Any]:
    """The Application of a step."""
    release = step.release
    namespace = "default" if release is None else release.namespace
    spec: dict[str, Any] = {
        "project": "default",
        "source": _folder(step, place) if release is None else _chart(step),
        "destination": {"server": "https://kubernetes.default.svc", "namespace": namespace},
        "syncPolicy": {
            "automated": {"prune": True, "selfHeal": True},
            # Definitions of charts are too large for the annotation of client-side apply.
            "syncOptions": ["CreateNamespace=true", "ServerSideApply=true"],
            "retry": {
                "limit": 10,
                "backoff": {"duration": "30s", "factor": 2, "maxDuration": "5m"},
            },
        },
    }
    if release is not None:
        spec["ignoreDifferences"] = [
            {"group": group, "kind": kind, "jqPathExpressions": [f".{path}.caBundle"]}
            for group, kind, path in CERTIFICATES
        ]
        spec["syncPolicy"]["syncOptions"].append("RespectIgnoreDifferences=true")
    return {
        "apiVersion": API_VERSION,
        "kind": "Application",
        "metadata": {
            "name": step.name,
            "namespace": NAMESPACE,
            "annotations": {"argocd.argoproj.io/sync-wave": str(step.wave)},
            "labels": {"app.kubernetes.io/managed-by": "gpufleet"},
        },
        "spec": spec,
    }


def _folder(step: GitOpsStep, place: GitPlace) -> dict[str, Any]:
    return {
        "repoURL": place.repository,
        "path": f"{place.path}/{step.folder}",
        "targetRevision": place.revision,
        "directory": {"recurse": False},
    }


def _chart(step: GitOpsStep) -> dict[str, Any]:
    release = step.release
    assert release is not None, "a folder has no chart"
    address, chart = release.address, release.chart.name
    if address.startswith(_OCI):
        address, _, chart = address.removeprefix(_OCI).rpartition("/")
    return {
        "repoURL": address,
        "chart": chart,
        "targetRevision": release.version,
        "helm": {"releaseName": release.chart.name, "valuesObject": release.values},
    }


def health_config() -> dict[str, Any]:
    """Part of `argocd-cm`: when Applications and the policies of NVIDIA's operators are ready."""
    kinds = {
        "argoproj.io_Application": _APPLICATION,
        "nvidia.com_ClusterPolicy": _POLICY,
        "mellanox.com_NicClusterPolicy": _POLICY,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": NAMESPACE},
        "data": {
            f"resource.customizations.health.{kind}": _HEALTH % text for kind, text in kinds.items()
        },
    }
