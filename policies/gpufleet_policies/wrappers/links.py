"""Links of a GitOps repository that show which files are one cluster.

Sources: kubernetes-sigs/kustomize api/types/kustomization.go at 0153090;
fluxcd/kustomize-controller api/v1 kustomization_types.go (without a kustomization.yaml it applies
every manifest below `path`);
argoproj/argo-cd, user guides on directories (`directory.recurse`) and on destinations.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.documents.paths import entries_at, items_at, mapping_at, text_at
from gpufleet_policies.wrappers.files import GENERATORS, generated_files, is_kustomization
from gpufleet_policies.wrappers.gitops import other_cluster

_LISTS = ("resources", "bases", "components", "patchesStrategicMerge", "crds", "transformers")
_PATHS = (("patches", "path"), ("patchesJson6902", "path"), ("helmCharts", "valuesFile"))
PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
"""Fields of a kustomization that name files of patches."""


@dataclass(frozen=True, slots=True)
class GitOpsLink:
    """A document that brings other files to its cluster, or to another one."""

    target: str
    """Path as it is written."""
    from_root: bool
    """Whether it begins at the root of the repository; else at the document's folder."""
    recursive: bool = False
    """Whether it applies the folders below, where there is no kustomization."""
    cluster: str = ""
    """The other cluster it brings them to; empty: its own."""
    is_patch: bool = False
    """Whether the file holds patches of objects that are elsewhere."""


def links_of(document: Mapping[str, Any], path: str = "") -> Iterator[GitOpsLink]:
    """The links of a document; none for most."""
    if is_kustomization(document, path):
        yield from _kustomization(document)
        return
    kind = text_at(document, "kind")
    group = text_at(document, "apiVersion").partition("/")[0]
    if (group, kind) == ("kustomize.toolkit.fluxcd.io", "Kustomization"):
        cluster = text_at(document, "spec.kubeConfig.secretRef.name")
        yield GitOpsLink(text_at(document, "spec.path") or ".", True, True, cluster)
    elif (group, kind) == ("argoproj.io", "Application"):
        spec = mapping_at(document, "spec")
        sources = [mapping_at(spec, "source"), *(one for _, one in entries_at(spec, "sources"))]
        for source in sources:
            folder = text_at(source, "path")
            if folder and not text_at(source, "chart"):
                recursive = mapping_at(source, "directory").get("recurse") is True
                yield GitOpsLink(folder, True, recursive, other_cluster(document))


def inline_patches(document: Mapping[str, Any]) -> Iterator[str]:
    """Places of the patches that a kustomization has in itself."""
    for field in PATCHES:
        for place, one in items_at(document, field):
            if isinstance(one, str) and "\n" in one:
                yield place
    for place, entry in (entry for field in PATCHES for entry in entries_at(document, field)):
        if entry.get("patch") is not None:
            yield f"{place}.patch"


_READ = re.compile(r'\b(?:file|templatefile|fileset)\(\s*"\$\{path\.module\}/([^"$]*)')


def terraform_links(text: str) -> Iterator[GitOpsLink]:
    """The files and folders of manifests that Terraform reads, from the folder of its file."""
    yield from (GitOpsLink(found, False) for found in dict.fromkeys(_READ.findall(text)))


def _kustomization(document: Mapping[str, Any]) -> Iterator[GitOpsLink]:
    for field in _LISTS:
        for _, one in items_at(document, field):
            if isinstance(one, str) and "\n" not in one and "://" not in one:
                yield GitOpsLink(one, False, is_patch=field in PATCHES)
    for field, key in _PATHS:
        for _, entry in entries_at(document, field):
            if text_at(entry, key):
                yield GitOpsLink(text_at(entry, key), False, is_patch=field in PATCHES)
    for field in GENERATORS:
        for _, entry in entries_at(document, field):
            for _, path in generated_files(entry):
                yield GitOpsLink(path, False)
