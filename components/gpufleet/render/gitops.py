"""A rendered folder as steps that a GitOps tool makes one after the other: Argo CD or Flux.

Manifests go into one folder for each step, because Argo CD and Flux apply whole folders. Objects of
both are in `objects/argocd.yaml` and `objects/flux.yaml`. An OCI chart is named without `oci://` in
Argo CD, its path in `repoURL` and its name in `chart` (Argo CD user guide, Helm). An Application
waits for those of an earlier wave only where `argocd-cm` says when one is healthy (Argo CD operator
manual, health: `argoproj.io/Application`). A HelmRelease of Flux depends on HelmReleases only and a
Kustomization on Kustomizations only, so each release is in the folder of a Kustomization of its own
wave.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpufleet.fleet.model import NETWORK_OPERATOR, Fleet
from gpufleet.render.artefact import Artefact, ArtefactKind, files_in
from gpufleet.render.artefacts import artefacts
from gpufleet.render.data_files import data_part
from gpufleet.render.fleet_release import FleetRelease
from gpufleet.render.releases import releases

_file = files_in(__file__)

FOLDER = "waves"
_BEFORE, _POLICY, _REST = "before", "network", "rest"
WAVES = {_BEFORE: 0, _POLICY: 2, _REST: 5}
"""Step of manifests -> its wave; releases come between them."""
NETWORK_WAVE, OPERATOR_WAVE = 1, 3
_OCI = "oci://"


@dataclass(frozen=True, slots=True)
class GitOpsStep:
    """One thing that is applied: a folder of manifests, or a release."""

    name: str
    wave: int
    after: tuple[str, ...] = ()
    """Names of the steps that must be ready before."""
    release: FleetRelease | None = None
    """None: a folder."""
    folder: str = ""
    """Path of the rendered folder; empty for a release."""


@dataclass(frozen=True, slots=True)
class GitPlace:
    """Place of the rendered folder in Git."""

    repository: str
    path: str
    revision: str


def step_of(path: str) -> str:
    """The step in which a manifest is applied: objects that charts name come before the charts, and
    objects that need their definitions after them."""
    parts = path.split("/")
    if parts[-1] == "namespace.yaml" or parts[1] in ("gpu-operator", "nvidia-device-plugin"):
        return _BEFORE
    return _POLICY if parts[1] == "network-operator" else _REST


def in_waves(files: Iterable[Artefact]) -> tuple[Artefact, ...]:
    """The files with each manifest in the folder of its step."""
    moved: list[Artefact] = []
    for file in files:
        if file.kind is ArtefactKind.MANIFEST:
            step = step_of(file.path)
            name = "-".join(file.path.split("/")[1:])
            moved.append(replace(file, path=f"{FOLDER}/{WAVES[step]}-{step}/{name}"))
        else:
            moved.append(file)
    return tuple(sorted(moved, key=lambda file: file.path))


def gitops_steps(fleet: Fleet) -> tuple[GitOpsStep, ...]:
    """The steps of a fleet, in order."""
    prefix = fleet.spec.cluster.name
    folders = {
        step_of(file.path) for file in artefacts(fleet) if file.kind is ArtefactKind.MANIFEST
    }
    found = [
        GitOpsStep(f"{prefix}-{step}", WAVES[step], folder=f"{FOLDER}/{WAVES[step]}-{step}")
        for step in folders
    ]
    for release in releases(fleet):
        first = release.chart.name == NETWORK_OPERATOR
        wave = NETWORK_WAVE if first else OPERATOR_WAVE
        found.append(GitOpsStep(f"{prefix}-{release.chart.name}", wave, release=release))
    found.sort(key=lambda one: (one.wave, one.name))
    return tuple(replace(one, after=_wave_before(found, one.wave)) for one in found)


def _wave_before(found: Sequence[GitOpsStep], wave: int) -> tuple[str, ...]:
    """Names of the steps of the wave before; empty for the first."""
    last = max((one.wave for one in found if one.wave < wave), default=None)
    return tuple(one.name for one in found if one.wave == last)


def argocd_files(fleet: Fleet, place: GitPlace) -> Iterator[Artefact]:
    """The Applications, and the entries of `argocd-cm` that make them wait for each other."""
    documents = [_application(step, place) for step in gitops_steps(fleet)]
    yield from _file("argocd/applications.yaml", documents)
    yield from _file("argocd/argocd-cm.yaml", data_part("argocd", "health"))


def _application(step: GitOpsStep, place: GitPlace) -> dict[str, Any]:
    named, release = {"name": step.name, "wave": str(step.wave)}, step.release
    if release is None:
        source = data_part(
            "argocd",
            "folder",
            repository=place.repository,
            path=f"{place.path}/{step.folder}",
            revision=place.revision,
        )
        none: dict[str, Any] = {"respected": None, "ignored": None}
        return data_part(
            "argocd", "application", **named, **none, source=source, namespace="default"
        )
    address, chart = release.address, release.chart.name
    if address.startswith(_OCI):
        address, _, chart = address.removeprefix(_OCI).rpartition("/")
    return data_part(
        "argocd",
        "application",
        **named,
        namespace=release.namespace,
        source=data_part(
            "argocd",
            "chart",
            address=address,
            chart=chart,
            version=release.version,
            release=release.chart.name,
            values=release.values,
        ),
        respected="RespectIgnoreDifferences=true",
        ignored=data_part("argocd", "certificates"),
    )


def flux_files(fleet: Fleet, place: GitPlace) -> Iterator[Artefact]:
    """The source, one Kustomization for each step, and the releases in separate folders."""
    source = f"{fleet.spec.cluster.name}-gpu"
    at = {"url": place.repository, "branch": place.revision}
    documents = [data_part("flux", "repository", name=source, **at)]
    releases: list[Artefact] = []
    for step in gitops_steps(fleet):
        folder = step.folder or f"flux/releases/{step.name}"
        documents.append(
            data_part(
                "flux",
                "kustomization",
                name=step.name,
                source=source,
                path=f"./{place.path}/{folder}",
                after=[{"name": name} for name in step.after] or None,
                checks=data_part("flux", "checks") if step.release is None else None,
            )
        )
        if step.release is not None:
            names = {"step": step.name, "chart": step.release.chart.name}
            made = _flux_release(step.name, step.release)
            releases += _file("flux/releases/{step}/release.yaml", made, **names)
    yield from _file("flux/kustomizations.yaml", documents)
    yield from releases


def _flux_release(name: str, release: FleetRelease) -> list[dict[str, Any]]:
    """The source of the chart, and the release."""
    oci, (folder, _, chart) = release.address.startswith(_OCI), release.address.rpartition("/")
    return [
        data_part(
            "flux",
            "charts",
            name=name,
            type="oci" if oci else None,
            url=folder if oci else release.address,
        ),
        data_part(
            "flux",
            "release",
            name=name,
            release=release.chart.name,
            namespace=release.namespace,
            chart=chart if oci else release.chart.name,
            version=release.version,
            values=release.values,
        ),
    ]
