"""HelmReleases and Kustomizations of Flux: order, health, and the fields that controllers own.

Formats: fluxcd/helm-controller `helm.toolkit.fluxcd.io/v2`, fluxcd/source-controller
`source.toolkit.fluxcd.io/v1`, fluxcd/kustomize-controller `kustomize.toolkit.fluxcd.io/v1`. A
HelmRelease depends on HelmReleases only and a Kustomization on Kustomizations only, so each release
is in the folder of a Kustomization of its own wave.
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.gitops import CERTIFICATES, GitOpsStep, GitPlace, gitops_steps

_file = files_in(__file__)

NAMESPACE = "flux-system"
INTERVAL = "10m"
_OCI = "oci://"
_READY = (("nvidia.com/v1", "ClusterPolicy"), ("mellanox.com/v1alpha1", "NicClusterPolicy"))


def flux_files(fleet: Fleet, place: GitPlace) -> Iterator[Artefact]:
    """The source, one Kustomization for each step, and the releases in separate folders."""
    steps, source = gitops_steps(fleet), f"{fleet.spec.cluster.name}-gpu"
    documents = [git_repository(source, place)]
    for step in steps:
        folder = step.folder or f"flux/releases/{step.name}"
        documents.append(kustomization(step, source, f"./{place.path}/{folder}"))
    yield from _file("flux/kustomizations.yaml", documents)
    for step in steps:
        if step.release is not None:
            documents = [helm_repository(step), helm_release(step)]
            names = {"step": step.name, "chart": step.release.chart.name}
            yield from _file("flux/releases/{step}/release.yaml", documents, **names)


def git_repository(name: str, place: GitPlace) -> dict[str, Any]:
    """Flux source of the rendered folder."""
    spec = {"interval": INTERVAL, "url": place.repository, "ref": {"branch": place.revision}}
    return _object("source.toolkit.fluxcd.io/v1", "GitRepository", name, spec)


def kustomization(step: GitOpsStep, source: str, path: str) -> dict[str, Any]:
    """A folder, applied when the wave before is ready."""
    spec: dict[str, Any] = {
        "interval": INTERVAL,
        "retryInterval": "1m",
        "timeout": "20m",
        "path": path,
        "prune": True,
        "wait": True,
        "sourceRef": {"kind": "GitRepository", "name": source},
    }
    if step.after:
        spec["dependsOn"] = [{"name": name} for name in step.after]
    if step.release is None:
        spec["healthCheckExprs"] = [
            {
                "apiVersion": version,
                "kind": kind,
                "current": "status.state == 'ready'",
                "failed": "status.state == 'error'",
            }
            for version, kind in _READY
        ]
    return _object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", step.name, spec)


def helm_repository(step: GitOpsStep) -> dict[str, Any]:
    """Flux source of the chart; for an OCI reference the path before the chart's name."""
    release = step.release
    assert release is not None, "a folder has no chart"
    address, spec = release.address, dict[str, Any]()
    if address.startswith(_OCI):
        spec["type"] = "oci"
        address = address.rpartition("/")[0]
    spec |= {"interval": INTERVAL, "url": address}
    return _object("source.toolkit.fluxcd.io/v1", "HelmRepository", step.name, spec)


def helm_release(step: GitOpsStep) -> dict[str, Any]:
    """The release; Flux corrects differences from the chart, except for certificates."""
    release = step.release
    assert release is not None, "a folder has no chart"
    chart = release.address.rpartition("/")[2]
    named = chart if release.address.startswith(_OCI) else release.chart.name
    spec: dict[str, Any] = {
        "interval": INTERVAL,
        "timeout": "15m",
        "releaseName": release.chart.name,
        "targetNamespace": release.namespace,
        "chart": {
            "spec": {
                "chart": named,
                "version": release.version,
                "sourceRef": {"kind": "HelmRepository", "name": step.name},
            }
        },
        "install": {
            "createNamespace": True,
            "crds": "CreateReplace",
            "remediation": {"retries": 5},
        },
        "upgrade": {"crds": "CreateReplace", "remediation": {"retries": 5}},
        "driftDetection": {
            "mode": "enabled",
            "ignore": [
                {"paths": [_pointer(path)], "target": {"group": group, "kind": kind}}
                for group, kind, path in CERTIFICATES
            ],
        },
        "values": release.values,
    }
    return _object("helm.toolkit.fluxcd.io/v2", "HelmRelease", step.name, spec)


def _pointer(path: str) -> str:
    """`/webhooks` whole, because a JSON pointer knows no `[]`."""
    head = path.split("[", 1)[0]
    return f"/{head}" if head != path else "/" + path.replace(".", "/") + "/caBundle"


def _object(version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
