"""Which documents hold charts, and the releases each of them is."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from gpufleet.cluster.release_values import WrappedRelease
from gpufleet.documents.paths import text_at
from gpufleet_policies.wrappers import files, gitops
from gpufleet_policies.wrappers.others import KINDS, releases

Reader = Callable[[Mapping[str, Any]], Iterator[WrappedRelease]]

OBJECTS: dict[tuple[str, str], Reader] = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): gitops.flux,
    ("argoproj.io", "Application"): gitops.argo,
    ("argoproj.io", "ApplicationSet"): gitops.argo_set,
    ("helm.cattle.io", "HelmChart"): gitops.helm_chart,
    ("helm.cattle.io", "HelmChartConfig"): gitops.helm_chart_config,
    **{key: partial(releases, fields=fields) for key, fields in KINDS.items()},
}
"""Group and kind of objects that install charts -> their releases."""


def wrapper_of(document: Mapping[str, Any], path: str = "") -> Reader | None:
    """The reader of a document that holds charts; None for any other document.

    A kustomization, a helmfile and a `fleet.yaml` are recognised without a kind, partly by `path`.
    """
    if files.is_kustomization(document, path):
        return files.kustomization
    if "kind" in document:
        group = text_at(document, "apiVersion").partition("/")[0]
        return OBJECTS.get((group, text_at(document, "kind")))
    if files.is_helmfile(document):
        return files.helmfile
    if files.is_fleet_bundle(document, path):
        return files.fleet_bundle
    return None


def releases_of(document: Mapping[str, Any], path: str = "") -> tuple[WrappedRelease, ...]:
    """Every release of a document; empty where it holds none."""
    reader = wrapper_of(document, path)
    return () if reader is None else tuple(reader(document))
