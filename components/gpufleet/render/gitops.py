"""A rendered folder as steps that a GitOps tool makes one after the other.

Manifests go into one folder for each step, because Argo CD and Flux apply whole folders.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpufleet.fleet.model import NETWORK_OPERATOR, Fleet
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet.render.fleet_release import FleetRelease
from gpufleet.render.releases import releases

FOLDER = "waves"
_BEFORE, _POLICY, _REST = "before", "network", "rest"
WAVES = {_BEFORE: 0, _POLICY: 2, _REST: 5}
"""Step of manifests -> its wave; releases come between them."""
NETWORK_WAVE, OPERATOR_WAVE = 1, 3
CERTIFICATES = (
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "webhooks[]?.clientConfig"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "webhooks[]?.clientConfig"),
    ("apiextensions.k8s.io", "CustomResourceDefinition", "spec.conversion.webhook.clientConfig"),
)
"""Group, kind and place of certificates that controllers write into their own objects."""


@dataclass(frozen=True, slots=True)
class GitOpsStep:
    """One thing that is applied: a folder of manifests, or a release."""

    name: str
    wave: int
    after: tuple[str, ...]
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
    found: list[tuple[int, str, FleetRelease | None, str]] = [
        (WAVES[step], f"{prefix}-{step}", None, f"{FOLDER}/{WAVES[step]}-{step}")
        for step in folders
    ]
    for release in releases(fleet):
        first = release.chart.name == NETWORK_OPERATOR
        wave = NETWORK_WAVE if first else OPERATOR_WAVE
        found.append((wave, f"{prefix}-{release.chart.name}", release, ""))
    found.sort(key=lambda one: (one[0], one[1]))
    return tuple(
        GitOpsStep(
            name=name,
            wave=wave,
            after=tuple(other for before, other, _, _ in found if before == _last(found, wave)),
            release=release,
            folder=folder,
        )
        for wave, name, release, folder in found
    )


def _last(found: list[tuple[int, str, FleetRelease | None, str]], wave: int) -> int | None:
    """The wave before; None for the first."""
    return max((one[0] for one in found if one[0] < wave), default=None)
